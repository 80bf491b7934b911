"""Write a report as text: a few sentences, then tables with a bar in each row, as wide as the terminal."""

from __future__ import annotations

from tokcap.core.units import count_of, printable
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.usage.report import Report, ReportRow
    from tokcap.usage.sums import By

    # Colours a text, or returns it unchanged.
    Paint = Callable[[str, str], str]

COLUMNS = {"runs": "runs", "shown": "shown_tokens", "withheld": "withheld_tokens", "saved": "saved_tokens"}
# These columns appear only if a row has a number in them.
OPTIONAL_COLUMNS = {"not exact": "inexact_runs", "uncounted": "uncounted_runs"}
LONGEST_NAME = 24
LONGEST_TOKENIZER = 40
LEAST_BAR = 8
MOST_BAR = 60
# Rows in the overview. With --by, all rows are shown.
MOST_ROWS = 10

GREEN, RED, BOLD, PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[1m", "\x1b[0m"


def report_text(report: Report, width: int, *, coloured: bool, all_rows: bool) -> str:
    """Return the report as text."""

    def paint(text: str, colour: str) -> str:
        return f"{colour}{text}{PLAIN}" if coloured and text else text

    blocks = []
    for total in report.totals:
        blocks.append("".join(f"{line}\n" for line in sentences(total, report.since, paint)))
        for by in report.by:
            rows = report.rows(total.tokenizer, by)
            if by == "session" and not all_rows and len(rows) == 1 and rows[0].name.startswith("("):
                # There is only the row of calls without a session.
                continue
            hidden = 0 if all_rows else max(len(rows) - MOST_ROWS, 0)
            # The latest days are at the end; the most important commands and sessions at the start.
            shown = rows[hidden:] if by == "day" else rows[: len(rows) - hidden]
            blocks.append(table(by, shown, hidden, width, paint))
    remarks = [f"{day} is full: later calls of that day are not included" for day in report.full_days]
    if report.broken_lines:
        lines = count_of(report.broken_lines, "damaged line", "damaged lines")
        remarks.append(f"skipped in the usage log: {lines}")
    if remarks:
        blocks.append("".join(f"{remark}\n" for remark in remarks))
    return "\n".join(blocks)


def sentences(total: ReportRow, since: str, paint: Paint) -> list[str]:
    """Return the summary for one tokenizer."""
    saved, withheld = total["saved_tokens"], total["withheld_tokens"]
    from_day = f" since {since}" if since else ""
    colour = RED if saved < 0 else GREEN
    lines = [
        paint(f"{count_of(total['runs'], 'run')}, {count_of(total['shows'], 'show call')}{from_day}", BOLD)
        + f", counted with {printable(total.tokenizer, LONGEST_TOKENIZER)}",
        f"shown {total['shown_tokens']:,}, withheld {withheld:,}, " + paint(f"saved {saved:,}", colour),
    ]
    if total["net_loss_outputs"]:
        lines.append(
            paint(f"{count_of(total['net_loss_outputs'], 'output')} cost more than was saved: ", RED)
            + f"{count_of(total['net_loss_tokens'], 'token')} more than without tokcap"
        )
    if total["inexact_runs"]:
        lines.append(
            f"not exact: {count_of(total['inexact_runs'], 'run')} with an estimated total; "
            "not included in withheld and saved"
        )
    uncounted = [
        count_of(total[field], what)
        for field, what in (("uncounted_runs", "run"), ("uncounted_shows", "show call"))
        if total[field]
    ]
    if uncounted:
        size = count_of(total["uncounted_bytes"], "byte")
        lines.append(f"not counted: {' and '.join(uncounted)} that passed on {size}; not included in any sum")
    return lines


def table(by: By, rows: Sequence[ReportRow], hidden: int, width: int, paint: Paint) -> str:
    """Return rows of numbers with a bar for what each saved: `#`, or `-` for what it lost."""
    names = [printable(row.name, LONGEST_NAME) for row in rows]
    optional = {head: field for head, field in OPTIONAL_COLUMNS.items() if any(row[field] for row in rows)}
    columns = {**COLUMNS, **optional}
    cells = [[*columns], *([f"{row[field]:,}" for field in columns.values()] for row in rows)]
    name_width = max(map(len, (by, *names)))
    widths = [max(len(row[column]) for row in cells) for column in range(len(columns))]
    room = width - name_width - sum(widths) - 2 * (len(widths) + 1)
    bar_width = min(room, MOST_BAR) if room >= LEAST_BAR else 0
    most = max((abs(row["saved_tokens"]) for row in rows), default=0)
    lines = []
    for name, row, numbers in zip((by, *names), (None, *rows), cells, strict=True):
        right = "  ".join(cell.rjust(size) for cell, size in zip(numbers, widths, strict=True))
        line = f"{name.ljust(name_width)}  {right}"
        if row is None:
            lines.append(paint(line.upper(), BOLD))
            continue
        saved = row["saved_tokens"]
        # Draw at least one stroke, so that a small saving is visible.
        strokes = max(round(abs(saved) / most * bar_width), 1) if saved and bar_width else 0
        bar = paint("#" * strokes, GREEN) if saved > 0 else paint("-" * strokes, RED)
        lines.append(f"{line}  {bar}".rstrip())
    if hidden:
        lines.append(f"and {hidden} more: tokcap stats --by {by}")
    return "".join(f"{line}\n" for line in lines)
