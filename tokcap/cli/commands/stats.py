"""`tokcap stats`: what was run, shown, withheld and saved, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from tokcap.cli.described import Lists, about
from tokcap.cli.responses import Output, Reply
from tokcap.cli.usage_history import read_history
from tokcap.errors import UsageError
from tokcap.system.screen import screen_of
from tokcap.usage import plot as plots
from tokcap.usage.history import day_before, is_day
from tokcap.usage.report import make_report
from tokcap.usage.sums import By
from tokcap.usage.text_report import report_text

if TYPE_CHECKING:
    from tokcap.environment import Environment
    from tokcap.usage.report import Report

GROUPS: tuple[By, ...] = get_args(By)
UNITS = {"d": 1, "w": 7}


@about(
    ("tokcap stats --since 7d", "what the last seven days have saved"),
    ("tokcap stats --by command -o json", "all commands, for a program"),
    ("tokcap stats --plot saved.svg", "the same as a picture"),
)
def stats(
    context: typer.Context,
    by: Annotated[
        By | None,
        typer.Option(help="one table only, with all of its rows; all three if not given"),
    ] = None,
    since: Annotated[
        str, typer.Option(metavar="DAY", help="from 2026-11-01 on, or the last 7d or 2w, today included")
    ] = "",
    plot: Annotated[
        str,
        typer.Option(metavar="FILE", help="also draw it, to FILE.png or FILE.svg (needs matplotlib)"),
        Lists("files"),
    ] = "",
    output: Output = None,
) -> int:
    """What was run, shown, withheld and saved, in exact tokens, by day, command and session.

    Saved is what runs withheld at first, less what reading it later by tokcap show has cost. It is below zero
    where that was more. What nobody has counted is in no sum: it is counted as runs.
    """
    reply = Reply(context, output)
    env = reply.env
    first_day = first_day_of(since, env.now())
    if plot:
        plots.format_of(plot)
        plots.require_matplotlib()
    history = read_history(env)
    found = make_report(history.sums, (by,) if by else GROUPS, first_day, history.full_days)
    if plot and found.totals:
        plots.plot(found, plot)
    if reply.is_text:
        return reply.say(described(found, env, all_rows=by is not None))
    if reply.output == "jsonl":
        return reply.give([row.as_json(group) for group, rows in found.by.items() for row in rows])
    return reply.give(numbers(found))


def first_day_of(since: str, now: float) -> str:
    """`7d`, `2w` or a day -> the first day that is meant; empty: from the beginning."""
    number, unit = since[:-1], since[-1:]
    if unit in UNITS and number.isascii() and number.isdigit() and len(number) < 6 and int(number):
        return day_before(now, int(number) * UNITS[unit] - 1)
    if since and not is_day(since):
        raise UsageError(
            f"--since: {since[:40]!r} is neither a day such as 2026-11-01 nor a time such as 7d or 2w"
        )
    return since


def described(found: Report, env: Environment, *, all_rows: bool) -> str:
    """A report for people."""
    if not found.totals:
        when = f" since {found.since}" if found.since else " yet"
        return f"nothing was run{when}, as far as the account knows (--account writes it)\n"
    screen = screen_of(env, env.stdout)
    return report_text(found, screen.columns, coloured=screen.colours, all_rows=all_rows)


def numbers(found: Report) -> dict[str, object]:
    """A report for programs."""
    return {
        "since": found.since or None,
        "totals": [row.as_json() for row in found.totals],
        **{f"{group}s": [row.as_json(group) for row in rows] for group, rows in found.by.items()},
        "broken_lines": found.broken_lines,
        "full_days": list(found.full_days),
    }
