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
        raise PackageMissing(
            "--plot needs matplotlib, which is not installed: pip install 'tokcap[plot]'"
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
    # A dollar sign would start a formula.
    names = [printable(row.name, LONGEST_NAME).replace("$", r"\$") for row in rows]
    places = range(len(rows))
    shown = [row["shown_tokens"] for row in rows]
    saved = [max(row["saved_tokens"], 0) for row in rows]
    lost = [min(row["saved_tokens"], 0) for row in rows]
    axes.bar(places, shown, color=SHOWN, label="shown")
    axes.bar(places, saved, bottom=shown, color=SAVED, label="saved")
    axes.bar(places, lost, color=LOST, label="cost more than saved")
    axes.set_xticks(places, names, rotation=45, ha="right", fontsize=8)
    axes.set_ylabel(f"tokens ({printable(tokenizer, LONGEST_TOKENIZER)})", fontsize=8)
    axes.set_title(f"by {by}", loc="left", fontsize=10)
    axes.legend(fontsize=8)
