"""`python -m benchmarks.structured [ROUNDS]`: JSON, JSON Lines and CSV next to `orjson.loads` of the JSON.

Prints one table of ratios and writes it to `benchmarks/README.md`. `--sizes 22` leaves out the 200 MB,
`--cache DIR` keeps the virtualenvs elsewhere. Times are processor time of all processes of a call. Peaks
include mapped pages.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.command_line import parser_of, status_of, tell
from benchmarks.environments import Environments, set_up_tokcap
from benchmarks.measure import Cost, cost_of
from benchmarks.records import SHAPES, write_records
from benchmarks.report import Section, as_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Section(
    "<!-- results of a run: python -m benchmarks.structured writes them -->",
    "<!-- end of the results of structured output -->",
)
HEAD = (f"work ({' / '.join(SHAPES)})", "time", "target", "peak memory", "target")
SIZES = (22, 200)
MEGABYTE = 1_000_000
LOADS = "import orjson; orjson.loads(open({path!r}, 'rb').read())"


@dataclass(frozen=True)
class Call:
    """One row of the table: a call, and its targets as ratios to `orjson.loads` and to the input."""

    name: str
    words: tuple[str, ...]
    time: float
    memory: float
    # Whether it reads what was stored before, and not standard input.
    stored: bool = False


def calls_of(tokens: int, last_record: int) -> list[Call]:
    """Return the rows for an input with about this many tokens and with this last record."""
    window = ("-n", "500")
    pointer = ("show", "@last", "--pointer", f"/{last_record}/name")
    return [
        Call("-n 500", window, 0.4, 1.2),
        Call("-n 500 --keep tail", (*window, "--keep", "tail"), 1.0, 1.2),
        Call("-n 500 --keep ends", (*window, "--keep", "ends"), 1.0, 1.2),
        Call("-n 500 --token-offset, deep", (*window, "--token-offset", str(tokens // 2)), 1.0, 1.2),
        Call("-n 500 --fields id,name", (*window, "--fields", "id,name"), 1.0, 1.2),
        Call("-n 500 --mode table", (*window, "--mode", "table"), 1.0, 1.2),
        Call("--mode summary", ("--mode", "summary"), 1.0, 1.2),
        Call("-o json", ("-o", "json"), 1.5, 1.5),
        Call("show --pointer /LAST/name", pointer, 0.1, 0.0, stored=True),
    ]


def measure(programs: Environments, size: int, rounds: int, place: Path) -> list[tuple[str, ...]]:
    """Return the rows of the table for one size."""
    inputs = {shape: place / f"{size}.{shape}" for shape in SHAPES}
    records = write_records(inputs, size * MEGABYTE)
    reference = [programs.python, "-c", LOADS.format(path=str(inputs["json"]))]
    variables = {**programs.variables(place), "TOKCAP_MAX_BYTES": "1GiB"}
    kept = {shape: {**variables, "TOKCAP_DATA_DIR": str(place / f"kept-{shape}")} for shape in SHAPES}
    fresh = {**variables, "TOKCAP_DATA_DIR": str(place / "fresh")}
    calls = calls_of(size * MEGABYTE // 4, records - 1)
    for shape, path in inputs.items():
        cost_of([programs.tokcap, "-n", "500"], path, kept[shape])
        cost_of([programs.tokcap, *calls[-1].words], None, kept[shape])
    loads: list[Cost] = []
    costs: dict[tuple[str, str], list[Cost]] = {(call.name, shape): [] for call in calls for shape in SHAPES}
    for number in range(rounds):
        tell(f"{size} MB, round {number + 1} of {rounds}")
        loads.append(cost_of(reference, None, variables))
        for call in calls:
            for shape, path in inputs.items():
                shutil.rmtree(place / "fresh", ignore_errors=True)
                given, own = (None, kept[shape]) if call.stored else (path, fresh)
                costs[call.name, shape].append(cost_of([programs.tokcap, *call.words], given, own))
    base = f"{statistics.median(cost.seconds for cost in loads):.2f} s"
    peak = max(cost.peak_bytes for cost in loads) / (size * MEGABYTE)
    rows = [(f"{size} MB: orjson.loads", f"{base}, {peak:.1f} × the input", "", "", "")]
    for call in calls:
        ratios = [
            statistics.median(
                cost.seconds / load.seconds for cost, load in zip(costs[call.name, shape], loads, strict=True)
            )
            for shape in SHAPES
        ]
        peaks = [
            max(cost.peak_bytes for cost in costs[call.name, shape]) / inputs[shape].stat().st_size
            for shape in SHAPES
        ]
        memory = f"{call.memory:g}" if call.memory else "100 MB"
        rows.append(
            (
                call.name,
                " / ".join(f"{ratio:.2f}" for ratio in ratios),
                f"{call.time:g}",
                " / ".join(f"{peak:.2f}" for peak in peaks),
                memory,
            )
        )
    return rows


def run(sizes: Sequence[int], rounds: int, cache: Path) -> None:
    programs = set_up_tokcap(cache)
    rows = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="tokcap-benchmarks-") as place:
            rows += measure(programs, size, rounds, Path(place))
    table = as_markdown(HEAD, rows)
    print(table)
    RESULTS.write(rounds, table)


def main() -> int:
    parser = parser_of("benchmarks.structured", __doc__, rounds=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="MB", help="default: 22 200")
    given = parser.parse_args()
    return status_of(lambda: run(given.sizes, given.rounds, given.cache))


if __name__ == "__main__":
    raise SystemExit(main())
