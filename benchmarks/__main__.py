"""`python -m benchmarks [ROUNDS]`: measure tokcap, its floors and its peers in one interleaved run.

Prints one table of medians, ratios and targets, draws two pictures, and writes both to
`benchmarks/README.md`. `--no-large` skips the input of 1 GB, `--cache DIR` keeps the virtualenvs elsewhere.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks import plots, report, startup
from benchmarks.command_line import parser_of, status_of, tell
from benchmarks.environments import Environments, set_up
from benchmarks.inputs import LARGE, OTHER_SIZES, SIZES, make_inputs
from benchmarks.measure import Work, interleaved, peak_bytes
from benchmarks.subcommands import subcommand_works
from benchmarks.work import FLOOR, sizes_of, works_of

PICTURES = ("cost-against-size.png", "start-up.png")
# A few rounds are enough for the plot of sizes, which spans six powers of ten.
SIZE_ROUNDS = 5
BARS = (
    "tokcap -n 50, 3 bytes",
    "tokcap -- true",
    "tokcap -n 500, 35 KB, cl100k_base",
    "tokcap --token-count, 35 KB, cl100k_base",
    "tokcap -n 500, 35 KB, o200k_base",
    "tokcap -n 500 -o json, 35 KB JSON",
    "tokcap -n 500, 5 MB",
)


def run(rounds: int, cache: Path, *, large: bool) -> None:
    tell("setting up the virtualenvs")
    programs = set_up(cache)
    drawing = plots.can_draw()
    if not drawing:
        tell(plots.MISSING)
    with tempfile.TemporaryDirectory(prefix="tokcap-benchmarks-") as directory:
        place = Path(directory)
        (place / "home").mkdir()
        variables = programs.variables(place / "home")
        sizes = {**SIZES, **OTHER_SIZES}
        inputs = make_inputs(
            place, {name: size for name, size in sizes.items() if large or name not in LARGE}
        )
        works, lines = works_of(programs, inputs, place)
        subcommands, targets = subcommand_works(programs, place)
        works, lines = [*works, *subcommands], [*lines, *targets]
        times = interleaved(works, rounds, variables, tell)
        rows = report.rows_of(lines, times)
        rows += against_size(programs, inputs, place, variables, drawing=drawing)
        if drawing:
            by_name = {work.name: work for work in works}
            medians = report.medians_of(times)
            draw_bars([by_name[name] for name in BARS], programs, variables, medians)
    print(report.as_text(rows))
    report.write_readme(rows, programs.versions(), rounds, PICTURES if drawing else ())


def against_size(
    programs: Environments,
    inputs: dict[str, Path],
    place: Path,
    variables: dict[str, str],
    *,
    drawing: bool,
) -> list[report.Row]:
    tell("cost against size")
    series = sizes_of(programs, inputs, place)
    every = [work for points in series.values() for work in points.values()]
    medians = report.medians_of(interleaved(every, SIZE_ROUNDS, variables, tell))
    costs = {
        name: {size: medians[work.name] for size, work in points.items()} for name, points in series.items()
    }
    tell("peak memory")
    peaks = {size: peak_bytes(work, variables) / 1e6 for size, work in series["tokcap -n 500"].items()}
    count_peaks = {
        name: peak_bytes(points[10**8], variables) / 1e6
        for name, points in series.items()
        if name.endswith("--token-count") and 10**8 in points
    }
    if drawing:
        plots.draw_sizes(costs, peaks, report.README.parent / PICTURES[0])
    return report.size_rows(costs["tokcap -n 500"], peaks, count_peaks)


def draw_bars(
    works: list[Work], programs: Environments, variables: dict[str, str], medians: dict[str, float]
) -> None:
    tell("what a call is made of")
    floor = medians[FLOOR]
    calls = {FLOOR: {startup.INTERPRETER: floor}}
    for work in works:
        calls[work.name] = startup.breakdown(work, programs.python, variables, medians[work.name], floor)
    plots.draw_startup(calls, report.README.parent / PICTURES[1])


def main() -> int:
    parser = parser_of("benchmarks", __doc__, rounds=15)
    parser.add_argument("--no-large", action="store_true", help="skip the input of 1 GB")
    given = parser.parse_args()
    return status_of(lambda: run(given.rounds, given.cache, large=not given.no_large))


if __name__ == "__main__":
    raise SystemExit(main())
