"""`tokcap stats`: how many tokens were shown, withheld and saved, for people and for programs."""

from __future__ import annotations

from tokcap.cli.description import OUTPUT, Flag, command
from tokcap.cli.kinds import Choice, LineOfText
from tokcap.cli.reply import Reply
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.core.request import Output
    from tokcap.environment import Environment
    from tokcap.usage.book import Book
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
    reading cost more. Outputs whose tokens were not counted are in no sum; they are listed as runs.
    """
    from tokcap.usage.report import report

    reply = Reply(env, output)
    first_day = first_day_of(since or "", env.now())
    if plot:
        from tokcap.usage import plot as plots

        plots.form_of(plot)
        plots.check_that_plots_can_be_made()
    book = read_book(env)
    found = report(book.sums, (by,) if by else GROUPS, first_day, book.full)
    if plot and found.totals:
        plots.plot(found, plot)
    if reply.is_text:
        return reply.say(report_text(found, env, all_rows=by is not None))
    if reply.output == "jsonl":
        return reply.give([row.as_json(group) for group, rows in found.by.items() for row in rows])
    return reply.give(report_numbers(found))


COMMANDS = (stats,)


def read_book(env: Environment) -> Book:
    """Return the sums so far, with totals that were counted since then."""
    from tokcap.store import Shelf
    from tokcap.usage.book import Book
    from tokcap.usage.totals import total_in_store

    book = Book(env)
    fresh = book.read()
    shelf = Shelf(env)
    learnt = book.sums.ask_for_totals(lambda handle, name: total_in_store(shelf, handle, name))
    if fresh or learnt:
        book.save()
    return book


def first_day_of(since: str, now: float) -> str:
    """Return the first day that `7d`, `2w` or a day means; empty: from the beginning."""
    from tokcap.usage.book import day_before, is_day

    number, unit = since[:-1], since[-1:]
    if unit in DAYS_OF_UNITS and number.isascii() and number.isdigit() and len(number) < 6 and int(number):
        return day_before(now, int(number) * DAYS_OF_UNITS[unit] - 1)
    if since and not is_day(since):
        raise UsageError(
            f"--since: {since[:40]!r} is neither a day such as 2026-11-01 nor a period such as 7d or 2w"
        )
    return since


def report_text(found: Report, env: Environment, *, all_rows: bool) -> str:
    """Return a report for people."""
    from tokcap.system.screen import screen_of
    from tokcap.usage.chart import chart

    if not found.totals:
        when = f" since {found.since}" if found.since else " yet"
        return f"no calls were logged{when} (see --account)\n"
    screen = screen_of(env, env.stdout)
    return chart(found, screen.columns, coloured=screen.colours, all_rows=all_rows)


def report_numbers(found: Report) -> dict[str, object]:
    """Return a report for programs."""
    return {
        "since": found.since or None,
        "totals": [row.as_json() for row in found.totals],
        **{f"{group}s": [row.as_json(group) for row in rows] for group, rows in found.by.items()},
        "broken_lines": found.broken_lines,
        "full_days": list(found.full_days),
    }
