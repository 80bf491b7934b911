"""Draw a report as PNG or SVG. This needs matplotlib, from the extra `tokcap[plot]`."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tokcap.core.units import printable
from tokcap.errors import PackageMissing, StreamError, UsageError
from tokcap.usage.text_report import LONGEST_NAME, LONGEST_TOKENIZER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tokcap.usage.report import Report, ReportRow
    from tokcap.usage.sums import By

FORMATS = (".png", ".svg")
MOST_BARS = {"day": 60, "command": 15, "session": 15}
# As much room as this many bars need, even for fewer.
LEAST_PLACES = 12
SAVED, LOST, SHOWN = "#2a7f4f", "#b03030", "#8a8a8a"


def format_of(path: str) -> str:
    """Return the picture format that the file name asks for; raise `UsageError` for any other name."""
    for ending in FORMATS:
        if path.lower().endswith(ending):
            return ending[1:]
    raise UsageError(f"--plot: {path!r} must end in .png or .svg")


def require_matplotlib() -> None:
    """Raise `PackageMissing` if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  # only to find out whether it is installed
    except ImportError:
        from tokcap.system.installation import command_to_add

        raise PackageMissing(
            f"--plot needs matplotlib, which is not installed; run: {command_to_add('plot')}"
        ) from None


def plot(report: Report, path: str) -> None:
    """Draw what was shown and saved, and write the picture to a file."""
    picture_format = format_of(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    total = report.totals[0]
    charts = [(by, report.rows(total.tokenizer, by)) for by in report.by]
    # Keep text in an SVG as text, and make the same picture from the same report.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "tokcap"}):
        figure = Figure(figsize=(9, 3.2 * len(charts)), layout="constrained")
        for axes, (by, rows) in zip(figure.subplots(len(charts), squeeze=False).flat, charts, strict=True):
            newest = rows[-MOST_BARS[by] :] if by == "day" else rows[: MOST_BARS[by]]
            draw(axes, by, newest, total.tokenizer)
        picture = io.BytesIO()
        figure.savefig(
            picture, format=picture_format, metadata={"Date": None} if picture_format == "svg" else None
        )
    try:
        with open(path, "wb") as file:
            file.write(picture.getvalue())
    except OSError as error:
        raise StreamError(f"--plot: cannot write {path}: {error.strerror}") from None


def draw(axes: Axes, by: By, rows: Sequence[ReportRow], tokenizer: str) -> None:
    """Draw one chart: tokens shown, with tokens saved on top, or tokens lost below zero."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    # A dollar sign would start a formula.
    names = [printable(row.name, LONGEST_NAME).replace("$", r"\$") for row in rows]
    places = range(len(rows))
    shown = [row["shown_tokens"] for row in rows]
    saved = [max(row["saved_tokens"], 0) for row in rows]
    lost = [min(row["saved_tokens"], 0) for row in rows]
    axes.bar(places, shown, color=SHOWN, label="shown")
    axes.bar(places, saved, bottom=shown, color=SAVED, label="saved")
    if any(lost):
        axes.bar(places, lost, color=LOST, label="cost more than saved")
    # Few bars are not wider than many.
    axes.set_xlim(-0.6, max(len(rows), LEAST_PLACES) - 0.4)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xticks(places, names, rotation=45, ha="right", fontsize=8)
    axes.set_ylabel(f"tokens ({printable(tokenizer, LONGEST_TOKENIZER)})", fontsize=8)
    axes.set_title(f"by {by}", loc="left", fontsize=10)
    # Above the chart, where no bar is.
    axes.legend(
        fontsize=8, ncols=3, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2
    )
