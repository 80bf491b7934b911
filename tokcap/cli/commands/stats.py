"""`tokcap stats`: how many tokens were shown, withheld and saved, for people and for programs."""

from typing import Annotated

import typer

from tokcap.cli.application import Output, application, reading
from tokcap.cli.kinds import Choice, LineOfText
from tokcap.cli.reply import Reply
from tokcap.errors import UsageError
from tokcap.usage.report import By, day_before, draw, format_of, is_day, read_report, report_text

GROUPS: tuple[By, ...] = ("day", "command", "session")
DAYS_OF_UNITS = {"d": 1, "w": 7}


app = application()


@app.command(epilog="Example: tokcap stats --by day -o json")
def stats(
    context: typer.Context,
    by: Annotated[By, reading(Choice(GROUPS), "--by", "what the rows are")] = "command",
    since: Annotated[
        str | None,
        reading(LineOfText(), "--since", "from 2026-11-01 on, or the last 7d or 2w, including today", "DAY"),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="also draw the table as a chart, to FILE.png or FILE.svg (needs matplotlib)",
        ),
    ] = None,
    output: Output = None,
) -> int:
    """Show how many tokens were shown, withheld and saved, by day, command and session.

    Saved is what runs withheld, minus what reading it later with tokcap show has cost. It is negative if
    reading cost more. The total of an output over 64 KiB is estimated. Outputs that were not counted are
    listed as runs, but add no tokens to any sum. These are the calls of this machine. If sessions are kept on
    a server, tokcap budget history has those of all.
    """
    env = context.obj
    reply = Reply(env, output)
    first_day = first_day_of(since or "", env.now())
    if plot:
        format_of(plot)
    found = read_report(env, by, first_day)
    if plot and found.totals:
        draw(found, plot)
    if reply.is_text:
        when = f" since {found.since}" if found.since else " yet"
        text = report_text(found)
        text = text or f"no calls were logged{when} (see --account)\n"
        return reply.say(text)
    rows = [{by: row.name, "tokenizer": row.tokenizer, **row.numbers()} for row in found.rows]
    if reply.has_record_lines:
        return reply.give(rows)
    data = {
        "since": found.since or None,
        "totals": [{"tokenizer": row.tokenizer, **row.numbers()} for row in found.totals],
        f"{by}s": rows,
        "broken_lines": found.broken_lines,
    }
    return reply.give(data)


def first_day_of(since: str, now: float) -> str:
    """Return the first day that `7d`, `2w` or a day means; empty: from the beginning."""
    number, unit = since[:-1], since[-1:]
    if unit in DAYS_OF_UNITS and number.isascii() and number.isdigit() and len(number) < 6 and int(number):
        return day_before(now, int(number) * DAYS_OF_UNITS[unit] - 1)
    if since and not is_day(since):
        raise UsageError(
            f"--since: {since[:40]!r} is neither a day such as 2026-11-01 nor a period such as 7d or 2w"
        )
    return since
