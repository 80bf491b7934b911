"""Make the table of results from the times, for the terminal and for `benchmarks/README.md`."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.work import FLOOR, Line

if TYPE_CHECKING:
    from collections.abc import Sequence

README = Path(__file__).parent / "README.md"

HEAD = ("work", "median", "ratio", "quartiles", "target", "reached")


@dataclass(frozen=True)
class Section:
    """The results of one benchmark in the README, between two comments."""

    begin: str
    end: str

    def write(self, rounds: int, *parts: str, versions: str = "") -> None:
        """Replace these results and nothing else."""
        today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        facts = [
            f"Machine: {machine()}",
            f"Versions: {versions}" if versions else "",
            f"Date: {today}, {rounds} rounds",
        ]
        about = "\n".join(f"- {fact}" for fact in facts if fact)
        before, _, rest = README.read_text().partition(self.begin)
        results = "\n\n".join([self.begin, about, *parts, self.end])
        README.write_text(before + results + rest.partition(self.end)[2])


RESULTS = Section(
    "<!-- results of a run: python -m benchmarks writes them -->", "<!-- end of the results -->"
)


@dataclass(frozen=True)
class Row:
    """One line of the table, as text."""

    work: str
    median: str
    ratio: str
    quartiles: str
    target: str
    reached: str

    @property
    def cells(self) -> tuple[str, ...]:
        return (self.work, self.median, self.ratio, self.quartiles, self.target, self.reached)


def medians_of(times: dict[str, list[float | None]]) -> dict[str, float]:
    return {
        name: statistics.median(value for value in values if value is not None)
        for name, values in times.items()
    }


def rows_of(lines: Sequence[Line], times: dict[str, list[float | None]]) -> list[Row]:
    """Return a row per line. Ratios are within a round, to the work that the target names or to the floor."""
    medians = medians_of(times)
    rows = [
        Row(FLOOR, in_words(medians[FLOOR]), "1", spread(times[FLOOR], times[FLOOR], of_itself=True), "", "")
    ]
    for line in lines:
        ratio = statistics.median(ratios(times[line.work], times[line.reference]))
        rows.append(
            Row(
                line.work,
                in_words(medians[line.work]),
                f"{ratio:.2f}",
                spread(times[line.work], times[line.reference]),
                line.target,
                verdict(line.reached(medians)),
            )
        )
    return rows


def ratios(values: Sequence[float | None], references: Sequence[float | None]) -> list[float]:
    pairs = zip(values, references, strict=True)
    return [value / reference for value, reference in pairs if value is not None and reference is not None]


def spread(
    values: Sequence[float | None], references: Sequence[float | None], *, of_itself: bool = False
) -> str:
    """Return the quartiles of the ratios; for the floor, of its times divided by their median."""
    found = ratios(values, references)
    if of_itself:
        known = [value for value in values if value is not None]
        found = [value / statistics.median(known) for value in known]
    if len(found) < 4:
        return f"{min(found):.2f} – {max(found):.2f}"
    low, _, high = statistics.quantiles(found, n=4)
    return f"{low:.2f} – {high:.2f}"


def size_rows(costs: dict[int, float], peaks: dict[int, float], count_peaks: dict[str, float]) -> list[Row]:
    """Return rows that show whether cost is linear and memory flat.

    A call on a small output ends before its memory can be read.
    """
    rows = []
    sizes = sorted(costs)
    if len(sizes) > 1 and sizes[-1] >= 10**9:
        small, large = sizes[-2:]
        growth = costs[large] / costs[small]
        allowed = 1.2 * large / small
        rows.append(
            Row(
                "cost against size: 1 GB against 100 MB",
                in_words(costs[large]),
                f"{growth:.1f}",
                "",
                f"{allowed:g}: linear",
                verdict(growth <= allowed),
            )
        )
    flat = max(peaks.values()) / peaks[10**7]
    rows.append(
        Row(
            "peak memory of tokcap -n 500, all sizes",
            f"{max(peaks.values()):.0f} MB",
            f"{flat:.2f} of that at 10 MB",
            "",
            "2: flat",
            verdict(flat <= 2),
        )
    )
    return rows + [
        Row(f"peak memory of {name}, 100 MB", f"{peak:.0f} MB", "", "", "200 MB", verdict(peak < 200))
        for name, peak in count_peaks.items()
    ]


def in_words(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def verdict(reached: bool | None) -> str:
    return "" if reached is None else ("yes" if reached else "**no**")


def as_text(rows: Sequence[Row]) -> str:
    table = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(cells[column]) for cells in table) for column in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        for cells in table
    ).replace("**", "")


def as_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows))


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    cores = os.cpu_count()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{cores} cores, {model}; {platform.system()} {platform.release()}; load at the end {load}"


def write_readme(rows: Sequence[Row], versions: str, rounds: int, pictures: Sequence[str]) -> None:
    """Replace the results of `python -m benchmarks`."""
    shown = [f"![{name.removesuffix('.png')}]({name})" for name in pictures]
    RESULTS.write(rounds, as_markdown(HEAD, [row.cells for row in rows]), *shown, versions=versions)
