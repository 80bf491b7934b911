"""Draw two pictures of a run: cost against size, and the parts of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.startup import PARTS

if TYPE_CHECKING:
    from pathlib import Path

COLOURS = {
    "tokcap -n 500": "#1b6ca8",
    "tokcap --token-count": "#6db3e0",
    "cat": "#7a7a7a",
    "ttok -t 500": "#d1495b",
    "tiktoken, counting": "#edae49",
}
PART_COLOURS = (
    *("#c9c9c9",),
    *("#1f3b57", "#2f5d8a", "#4f8ac0", "#8fbce6"),
    *("#2a7f62", "#edae49", "#f4d58d", "#d1495b", "#8d5a97", "#b8a9c9"),
)

MISSING = "matplotlib is not installed, so no pictures are drawn: pip install 'tokcap[plot]'"


def can_draw() -> bool:
    try:
        import matplotlib
    except ImportError:
        return False
    # A back end that needs no screen.
    matplotlib.use("Agg")
    return True


def draw_sizes(costs: dict[str, dict[int, float]], peaks: dict[int, float], target: Path) -> None:
    """Draw seconds against bytes on logarithmic axes, and below them the peak memory of tokcap."""
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(
        2, 1, figsize=(8, 7.5), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    for name, points in costs.items():
        colour = COLOURS.get(name, "#444444")
        above.plot(list(points), list(points.values()), marker="o", markersize=4, color=colour, label=name)
    above.set_xscale("log")
    above.set_yscale("log")
    above.set_ylabel("seconds for one call")
    above.set_title("Cost against size (medians, cl100k_base)")
    above.legend(loc="upper left", frameon=False)
    below.plot(list(peaks), list(peaks.values()), marker="o", markersize=4, color=COLOURS["tokcap -n 500"])
    below.set_ylim(0, max(50, *(value * 1.3 for value in peaks.values())))
    below.set_ylabel("peak memory, MB\n(tokcap -n 500)")
    below.set_xlabel("bytes of output")
    below.set_xticks([10**power for power in range(3, 10)])
    below.set_xticklabels(["1 KB", "10 KB", "100 KB", "1 MB", "10 MB", "100 MB", "1 GB"])
    for axes in (above, below):
        axes.grid(visible=True, which="major", alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(target, dpi=130)
    pyplot.close(figure)


def draw_startup(calls: dict[str, dict[str, float]], target: Path) -> None:
    """One bar for each call, divided into what it spends its milliseconds on."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 1.6 + 0.75 * len(calls)), layout="constrained")
    names = list(calls)[::-1]
    begins = [0.0] * len(names)
    for part, colour in zip(PARTS, PART_COLOURS, strict=True):
        widths = [calls[name].get(part, 0.0) * 1000 for name in names]
        axes.barh(names, widths, left=begins, color=colour, label=part, height=0.6)
        begins = [begin + width for begin, width in zip(begins, widths, strict=True)]
    for name, end in zip(names, begins, strict=True):
        axes.text(end + 0.01 * max(begins), name, f"{end:.1f} ms", va="center", fontsize=9)
    axes.set_xlim(0, max(begins) * 1.1)
    axes.set_xlabel("milliseconds (medians)")
    axes.set_title("What one call is made of")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    figure.savefig(target, dpi=130)
    pyplot.close(figure)
