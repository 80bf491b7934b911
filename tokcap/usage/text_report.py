"""Write a report as text: a few sentences, then tables with a bar in each row, as wide as the terminal."""

from __future__ import annotations

from tokcap.core.units import count_of, printable
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcap.system.screen import Screen
    from tokcap.usage.report import Report, ReportRow
    from tokcap.usage.sums import By

    # Colours a text, or returns it unchanged.
    Paint = Callable[[str, str], str]

COLUMNS = {"runs": "runs", "shown": "shown_tokens", "withheld": "withheld_tokens", "saved": "saved_tokens"}
# These columns appear only if a row has a number in them.
OPTIONAL_COLUMNS = {"not exact": "inexact_runs", "uncounted": "uncounted_runs"}
# What a narrow terminal does without. The sentences above the tables have the sums.
LEAST_IMPORTANT_FIRST = ("uncounted", "not exact", "withheld", "runs", "shown")
LONGEST_NAME = 24
LONGEST_TOKENIZER = 40
LEAST_BAR = 8
MOST_BAR = 60
# Rows in the overview. With --by, all rows are shown.
MOST_ROWS = 10

GREEN, RED, BOLD, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


def report_text(report: Report, screen: Screen, *, all_rows: bool) -> str:
    """Return the report as text."""

    def paint(text: str, colour: str) -> str:
        return f"{colour}{text}{PLAIN}" if screen.colours and text else text

    blocks = []
    for total in report.totals:
        blocks.append("".join(f"{line}\n" for line in sentences(total, report.since, screen, paint)))
        for by in report.by:
            rows = report.rows(total.tokenizer, by)
            if by == "session" and not all_rows and len(rows) == 1 and rows[0].name.startswith("("):
                # There is only the row of calls without a session.
                continue
            hidden = 0 if all_rows else max(len(rows) - MOST_ROWS, 0)
            # The latest days are at the end; the most important commands and sessions at the start.
            shown = rows[hidden:] if by == "day" else rows[: len(rows) - hidden]
            blocks.append(table(by, shown, hidden, screen, paint))
    remarks = [f"{day} is full: later calls of that day are not included" for day in report.full_days]
    if report.broken_lines:
        lines = count_of(report.broken_lines, "damaged line", "damaged lines")
        remarks.append(f"skipped in the usage log: {lines}")
    if remarks:
        blocks.append("".join(f"{line}\n" for remark in remarks for line in screen.wrapped(remark)))
    return "\n".join(blocks)


def sentences(total: ReportRow, since: str, screen: Screen, paint: Paint) -> list[str]:
    """Return the summary for one tokenizer."""
    saved, withheld = total["saved_tokens"], total["withheld_tokens"]
    from_day = f" since {since}" if since else ""
    runs = f"{count_of(total['runs'], 'run')}, {count_of(total['shows'], 'show call')}{from_day}"
    counted = f", counted with {printable(total.tokenizer, LONGEST_TOKENIZER)}"
    # Each sentence, and the part of it that has a colour.
    lines = [
        (runs + counted, runs, BOLD),
        (
            f"shown {total['shown_tokens']:,}, withheld {withheld:,}, saved {saved:,}",
            f"saved {saved:,}",
            RED if saved < 0 else GREEN,
        ),
    ]
    if total["net_loss_outputs"]:
        loss = f"{count_of(total['net_loss_outputs'], 'output')} cost more than was saved: "
        lines.append(
            (f"{loss}{count_of(total['net_loss_tokens'], 'token')} more than without tokcap", loss, RED)
        )
    if total["inexact_runs"]:
        inexact = count_of(total["inexact_runs"], "run")
        words = f"not exact: {inexact} with an estimated total; not included in withheld and saved"
        lines.append((words, "", PLAIN))
    uncounted = [
        count_of(total[field], what)
        for field, what in (("uncounted_runs", "run"), ("uncounted_shows", "show call"))
        if total[field]
    ]
    if uncounted:
        size = count_of(total["uncounted_bytes"], "byte")
        words = f"not counted: {' and '.join(uncounted)} that passed on {size}; not included in any sum"
        lines.append((words, "", PLAIN))
    return [
        part for words, coloured, colour in lines for part in painted(words, coloured, colour, screen, paint)
    ]


def painted(words: str, coloured: str, colour: str, screen: Screen, paint: Paint) -> list[str]:
    """Return a sentence in lines that fit, with a part of it in a colour."""
    # Each line end takes the place of a blank.
    text = "\n".join(screen.wrapped(words))
    start = words.index(coloured)
    end = start + len(coloured)
    parts = "\n".join(paint(part, colour) for part in text[start:end].split("\n"))
    return (text[:start] + parts + text[end:]).split("\n")


def table(by: By, rows: Sequence[ReportRow], hidden: int, screen: Screen, paint: Paint) -> str:
    """Return rows of numbers with a bar for what each saved: `#`, or `-` for what it lost."""
    names = [printable(row.name, LONGEST_NAME) for row in rows]
    optional = {head: field for head, field in OPTIONAL_COLUMNS.items() if any(row[field] for row in rows)}
    columns = {**COLUMNS, **optional}
    name_width, gap = max(map(len, (by, *names))), "  "
    widths = widths_of(columns, rows)
    if screen.is_terminal:
        columns, gap, room = fitting(
            columns, rows, name_width, screen.columns, least=10 if by == "day" else 8
        )
        widths = widths_of(columns, rows)
        name_width = min(name_width, room)
        names = [printable(name, name_width) for name in names]
    cells = [[*columns], *([f"{row[field]:,}" for field in columns.values()] for row in rows)]
    room = screen.columns - name_width - sum(widths) - len(gap) * (len(widths) + 1)
    bar_width = min(room, MOST_BAR) if room >= LEAST_BAR else 0
    most = max((abs(row["saved_tokens"]) for row in rows), default=0)
    lines = []
    for name, row, numbers in zip((by, *names), (None, *rows), cells, strict=True):
        right = gap.join(cell.rjust(size) for cell, size in zip(numbers, widths, strict=True))
        line = f"{name.ljust(name_width)}{gap}{right}"
        if row is None:
            lines.append(paint(line.upper(), BOLD))
            continue
        saved = row["saved_tokens"]
        # Draw at least one stroke, so that a small saving is visible.
        strokes = max(round(abs(saved) / most * bar_width), 1) if saved and bar_width else 0
        bar = paint("#" * strokes, GREEN) if saved > 0 else paint("-" * strokes, RED)
        lines.append(f"{line}{gap}{bar}".rstrip())
    if hidden:
        lines += screen.wrapped(f"and {hidden} more: tokcap stats --by {by}")
    return "".join(f"{line}\n" for line in lines)


def widths_of(columns: Mapping[str, str], rows: Sequence[ReportRow]) -> list[int]:
    return [max(len(head), *(len(f"{row[field]:,}") for row in rows)) for head, field in columns.items()]


def fitting(
    columns: Mapping[str, str], rows: Sequence[ReportRow], name_width: int, width: int, least: int
) -> tuple[dict[str, str], str, int]:
    """Return the columns that fit on a terminal, the gap between them, and the room for names.

    Gaps become smaller first, then names shorter. After that, the least important columns are left out.
    """
    kept = dict(columns)
    for dropped in ("", *LEAST_IMPORTANT_FIRST):
        kept.pop(dropped, None)
        for gap in ("  ", " "):
            room = width - sum(widths_of(kept, rows)) - len(gap) * len(kept)
            if room >= min(name_width, least if gap == " " else name_width):
                return kept, gap, room
    return kept, " ", max(room, 1)
