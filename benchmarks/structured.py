"""`python -m benchmarks.structured [ROUNDS]`: JSON, JSON Lines and CSV next to `orjson.loads` of the JSON.

Prints one table of ratios and writes it to `benchmarks/README.md`. `--sizes 22` leaves out the 200 MB,
`--cache DIR` keeps the virtualenvs elsewhere. Times are processor time of all processes of a call. Peaks
include mapped pages.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environments import Environments, SetUpFailed, default_cache, set_up_tokcap
from benchmarks.records import SHAPES, write_records
from benchmarks.report import README, machine

BEGIN = "<!-- results of a run: python -m benchmarks.structured writes them -->"
END = "<!-- end of the results of structured output -->"
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


@dataclass(frozen=True)
class Cost:
    """What one call took."""

    seconds: float
    peak_bytes: int


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


def cost_of(command: list[str], given: Path | None, variables: dict[str, str]) -> Cost:
    """Run a command and return its processor time and its peak memory."""
    with open(given or os.devnull, "rb") as source:
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=variables,
            cwd=os.path.sep,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


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


def as_markdown(rows: list[tuple[str, ...]]) -> str:
    names = " / ".join(SHAPES)
    head = (f"work ({names})", "time", "target", "peak memory", "target")
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ("---",) * len(head), *rows))


def write_readme(rows: list[tuple[str, ...]], rounds: int) -> None:
    """Replace these results in the README and nothing else."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    text = README.read_text()
    before, _, rest = text.partition(BEGIN)
    results = (
        f"{BEGIN}\n\n- Machine: {machine()}\n- Date: {today}, {rounds} rounds\n\n{as_markdown(rows)}\n\n{END}"
    )
    README.write_text(before + results + rest.partition(END)[2])


def tell(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structured", description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=5, metavar="ROUNDS", help="default: 5")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="MB", help="default: 22 200")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="directory of the virtualenvs")
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("at least one round")
    try:
        programs = set_up_tokcap(given.cache)
    except SetUpFailed as failure:
        tell(f"benchmarks: {failure}")
        return 1
    rows = []
    for size in given.sizes:
        with tempfile.TemporaryDirectory(prefix="tokcap-benchmarks-") as place:
            rows += measure(programs, size, given.rounds, Path(place))
    print(as_markdown(rows))
    write_readme(rows, given.rounds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
