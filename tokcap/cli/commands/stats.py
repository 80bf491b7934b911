"""`tokcap stats`: how many tokens were shown, withheld and saved, for people and for programs."""

from __future__ import annotations

from tokcap.cli.description import OUTPUT, Flag, command
from tokcap.cli.kinds import Choice, LineOfText
from tokcap.cli.reply import Reply
from tokcap.core.notice import Notice
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.cli.ledger_usage import SessionUse
    from tokcap.core.request import Output
    from tokcap.environment import Environment
    from tokcap.usage.report import Report
    from tokcap.usage.sums import By

GROUPS: tuple[By, ...] = ("day", "command", "session")
DAYS_OF_UNITS = {"d": 1, "w": 7}


@command(
    "stats",
    flags=(
        Flag(("--by",), "show only this table, with all of its rows; default: all three", Choice(GROUPS)),
        Flag(("--since",), "from 2026-11-01 on, or the last 7d or 2w, including today", LineOfText(), "DAY"),
        Flag(
            ("--plot",),
            "also draw a chart, to FILE.png or FILE.svg (needs matplotlib)",
            LineOfText(),
            "FILE",
            names="files",
        ),
        OUTPUT,
    ),
    examples=(
        ("tokcap stats --since 7d", "what the last seven days have saved"),
        ("tokcap stats --by command -o json", "all commands, for a program"),
        ("tokcap stats --plot saved.svg", "the same as a picture"),
    ),
    quick=True,
)
def stats(
    env: Environment, *, by: By | None, since: str | None, plot: str | None, output: Output | None
) -> int:
    """Show how many tokens were shown, withheld and saved, by day, command and session.

    Saved is what runs withheld, minus what reading it later with tokcap show has cost. It is negative if
    reading cost more. Outputs that were not counted are listed as runs, but add no tokens to any sum. These
    are the calls of this machine. If sessions are kept on a server, --by session also shows what all hosts
    have used of each.
    """
    from tokcap.cli.usage_history import read_history
    from tokcap.usage.report import make_report

    reply = Reply(env, output)
    first_day = first_day_of(since or "", env.now())
    if plot:
        from tokcap.usage import plot as plots

        plots.format_of(plot)
        plots.require_matplotlib()
    history = read_history(env)
    found = make_report(history.sums, (by,) if by else GROUPS, first_day, history.full_days)
    if plot and found.totals:
        plots.plot(found, plot)
    uses: list[SessionUse] = []
    problem = ""
    if by == "session":
        from tokcap.cli.ledger_usage import sessions_of_all_hosts, uses_text

        uses, problem = sessions_of_all_hosts(env, first_day)
    notices = (Notice("LEDGER_UNREACHABLE", problem),) if problem else ()
    if reply.is_text:
        text = text_for_people(found, env, all_rows=by is not None)
        status = reply.say(f"{text}\n{uses_text(uses)}" if uses else text)
        if problem:
            env.tell(f"warning: {problem}")
        return status
    more = [use.as_json() for use in uses]
    if reply.has_record_lines:
        rows = [row.as_json(group) for group, rows in found.by.items() for row in rows]
        return reply.give([*rows, *more], notices)
    return reply.give({**report_numbers(found), **({"ledger_sessions": more} if more else {})}, notices)


COMMANDS = (stats,)


def first_day_of(since: str, now: float) -> str:
    """Return the first day that `7d`, `2w` or a day means; empty: from the beginning."""
    from tokcap.usage.history import day_before, is_day

    number, unit = since[:-1], since[-1:]
    if unit in DAYS_OF_UNITS and number.isascii() and number.isdigit() and len(number) < 6 and int(number):
        return day_before(now, int(number) * DAYS_OF_UNITS[unit] - 1)
    if since and not is_day(since):
        raise UsageError(
            f"--since: {since[:40]!r} is neither a day such as 2026-11-01 nor a period such as 7d or 2w"
        )
    return since


def text_for_people(found: Report, env: Environment, *, all_rows: bool) -> str:
    """Return a report for people."""
    from tokcap.system.screen import screen_of
    from tokcap.usage.text_report import report_text

    if not found.totals:
        when = f" since {found.since}" if found.since else " yet"
        return f"no calls were logged{when} (see --account)\n"
    return report_text(found, screen_of(env, env.stdout), all_rows=all_rows)


def report_numbers(found: Report) -> dict[str, object]:
    """Return a report for programs."""
    return {
        "since": found.since or None,
        "totals": [row.as_json() for row in found.totals],
        **{f"{group}s": [row.as_json(group) for row in rows] for group, rows in found.by.items()},
        "broken_lines": found.broken_lines,
        "full_days": list(found.full_days),
    }
