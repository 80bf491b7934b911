"""Show a report: as text, a few sentences and a table; or as a picture, with matplotlib."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tokcap.core.units import count_of, printable
from tokcap.errors import PackageMissing, StreamError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.usage.history import Report, Row

COLUMNS = ("runs", "shown", "withheld", "saved")
LONGEST_NAME = 24
LONGEST_TOKENIZER = 40

FORMATS = (".png", ".svg")
MOST_BARS = 30
# As much room as this many bars need, even for fewer.
LEAST_PLACES = 12


def report_text(report: Report) -> str:
    """Return the report as text: sentences and a table for each tokenizer."""
    lines: list[str] = []
    for total in report.totals:
        lines += ["", *sentences(total, report), ""]
        lines += table([row for row in report.rows if row.tokenizer == total.tokenizer], report.by)
    if report.broken_lines:
        lines += ["", f"skipped in the usage log: {count_of(report.broken_lines, 'damaged line')}"]
    return "".join(f"{line}\n" for line in lines[1:])


def sentences(total: Row, report: Report) -> Iterator[str]:
    """Yield the summary for one tokenizer."""
    since = f" since {report.since}" if report.since else ""
    calls = f"{count_of(total.runs, 'run')}, {count_of(total.shows, 'show call')}{since}"
    yield f"{calls}, counted with {printable(total.tokenizer, LONGEST_TOKENIZER)}"
    about = "about " if total.estimated_runs else ""
    saved = f"withheld {about}{total.withheld_tokens:,}, saved {about}{total.saved_tokens:,}"
    yield f"shown {total.shown_tokens:,}, {saved}"
    if total.estimated_runs:
        yield f"estimated: the totals of {count_of(total.estimated_runs, 'run')} with a large output"
    if total.uncounted_runs:
        yield f"not counted: {count_of(total.uncounted_runs, 'run')}; not included in any sum"


def table(rows: list[Row], by: str) -> Iterator[str]:
    """Yield a heading, and a line for each row."""
    names = [by, *(printable(row.name, LONGEST_NAME) for row in rows)]
    cells = {name: [name, *(f"{cell_of(row, name):,}" for row in rows)] for name in COLUMNS}
    widths = {name: max(map(len, column)) for name, column in cells.items()}
    name_width = max(map(len, names))
    for number, name in enumerate(names):
        numbers = "".join("  " + cells[column][number].rjust(widths[column]) for column in cells)
        line = name.ljust(name_width) + numbers
        yield line if number else line.upper()


def cell_of(row: Row, column: str) -> int:
    return row.numbers()["runs" if column == "runs" else f"{column}_tokens"]


def format_of(path: str) -> str:
    """Return the picture format that a file name asks for. Refuse others, and all without matplotlib."""
    ending = path.lower()[-4:]
    if ending not in FORMATS:
        raise UsageError(f"--plot: {path!r} must end in .png or .svg")
    try:
        import matplotlib  # noqa: F401  # only to find out whether it is installed
    except ImportError:
        from tokcap.system.installation import command_to_add

        needed = "--plot needs matplotlib, which is not installed"
        raise PackageMissing(f"{needed}; run: {command_to_add('plot')}") from None
    return ending[1:]


def draw(report: Report, path: str) -> None:
    """Draw the table of the tokenizer that was used most: tokens shown, and saved on top, or lost below 0."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    tokenizer = report.totals[0].tokenizer
    rows = [row for row in report.rows if row.tokenizer == tokenizer]
    rows = rows[-MOST_BARS:] if report.by == "day" else rows[:MOST_BARS]
    places, shown = range(len(rows)), [row.shown_tokens for row in rows]
    # Keep text in an SVG as text, and make the same picture from the same report.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tokcap"}):
        figure = Figure(figsize=(9, 3.2), layout="constrained")
        axes = figure.subplots()
        axes.bar(places, shown, color="#8a8a8a", label="shown")
        axes.bar(
            places, [max(row.saved_tokens, 0) for row in rows], bottom=shown, color="#2a7f4f", label="saved"
        )
        axes.bar(places, [min(row.saved_tokens, 0) for row in rows], color="#b03030", label="lost")
        # Few bars are not wider than many.
        axes.set_xlim(-0.6, max(len(rows), LEAST_PLACES) - 0.4)
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        # A dollar sign would start a formula.
        names = [printable(row.name, LONGEST_NAME).replace("$", r"\$") for row in rows]
        axes.set_xticks(places, names, rotation=45, ha="right", fontsize=8)
        axes.set_ylabel(f"tokens ({printable(tokenizer, LONGEST_TOKENIZER)})", fontsize=8)
        axes.set_title(f"by {report.by}", loc="left", fontsize=10)
        # Above the chart, where no bar is.
        axes.legend(fontsize=8, ncols=3, frameon=False, loc="lower right", bbox_to_anchor=(1, 1))
        picture = io.BytesIO()
        kind = format_of(path)
        figure.savefig(picture, format=kind, metadata={"Date": None} if kind == "svg" else None)
    try:
        with open(path, "wb") as file:
            file.write(picture.getvalue())
    except OSError as error:
        raise StreamError(f"--plot: cannot write {path}: {error.strerror}") from None
