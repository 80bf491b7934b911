"""`python -m benchmarks.pairs [ROUNDS]`: calls whose cost is limited by that of another call.

`--keep focus` next to `--keep ends`, and next to reading lines in Python; a call in a session next to the
same call without one. Prints one table of ratios and writes it to `benchmarks/README.md`. `--no-large` leaves
out the 100 MB, `--cache DIR` keeps the virtualenv elsewhere. Times are processor time of all processes of a
call.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command_line import parser_of, status_of, tell
from benchmarks.environments import ROOT, Environments, set_up_tokcap
from benchmarks.inputs import library_text
from benchmarks.measure import Cost, cost_of
from benchmarks.report import Section, as_markdown

RESULTS = Section(
    "<!-- results of a run: python -m benchmarks.pairs writes them -->",
    "<!-- end of the results of pairs -->",
)
HEAD = ("work", "processor time", "ratio", "target", "peak memory, at most")
OUTPUTS = ROOT / "benchmarks" / "useful" / "outputs" / "raw"
# The outputs that are shown with `focus`: their first 35 KB.
LOGS = {
    "build log": "make-parallel.err",
    "test log": "pytest-captured-log.out",
    "log full of failures": "nginx-error-log.out",
}
SMALL_BYTES = 35_000
LARGE_BYTES = 100_000_000
READ_LINES = "import sys\nfor line in sys.stdin: pass"
SESSION = "benchmark"
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Pair:
    """One row: `words` may cost `at_most` times as much as the reference, on the same input."""

    name: str
    given: Path
    words: tuple[str, ...]
    # Words for tokcap, or a program in Python.
    reference: tuple[str, ...] | str
    at_most: float


def pairs_of(place: Path, *, large: bool) -> list[Pair]:
    """Write the inputs and return the rows."""
    window = ("-n", "500")
    focus, ends = (*window, "--keep", "focus"), (*window, "--keep", "ends")
    pairs = []
    for name, file in LOGS.items():
        given = place / file
        given.write_bytes((OUTPUTS / file).read_bytes()[:SMALL_BYTES])
        pairs.append(Pair(f"focus against ends, 35 KB, {name}", given, focus, ends, 1.35))
    source = place / "source.txt"
    source.write_bytes(library_text()[:SMALL_BYTES])
    pairs.append(Pair("in a session against without", source, (*window, "--session", SESSION), window, 1.2))
    if large:
        log = place / "large.log"
        write_log(log, LARGE_BYTES)
        pairs.append(Pair("focus against reading lines, 100 MB of log", log, focus, READ_LINES, 1.5))
        pairs.append(Pair("ends against reading lines, 100 MB of log", log, ends, READ_LINES, 0))
    return pairs


def write_log(path: Path, size: int) -> None:
    """Write the log of a service: requests, and now and then a warning or an error."""
    dice = random.Random(5)  # noqa: S311  # the same log in every run
    written = number = 0
    with open(path, "w", encoding="ascii") as file:
        while written < size:
            number += 1
            time = f"2026-11-17T{number // 3_600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
            worker, kind = dice.randrange(16), dice.random()
            if kind < 0.93:
                said = f"INFO  [worker-{worker}] id={dice.getrandbits(64):016x} GET /orders/{number} 200"
            elif kind < 0.99:
                said = f"DEBUG [worker-{worker}] cache miss key=user:{dice.randrange(1 << 24)}:profile"
            elif kind < 0.9995:
                said = f"WARN  [worker-{worker}] slow query {dice.randrange(9_000)}ms for table orders"
            else:
                said = f"ERROR [worker-{worker}] connect failed: 10.0.0.{dice.randrange(255)}:8080 refused"
            written += file.write(f"{time} {said}\n")


def measure(programs: Environments, rounds: int, place: Path, *, large: bool) -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    data = place / "data"
    variables = {**programs.variables(place), "TOKCAP_DATA_DIR": str(data)}
    pairs = pairs_of(place, large=large)
    start = [programs.tokcap, "budget", "start", SESSION]
    subprocess.run(start, env=variables, stdout=subprocess.DEVNULL, check=True)
    costs: list[list[tuple[Cost, Cost]]] = [[] for _ in pairs]
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}")
        for pair, found in zip(pairs, costs, strict=True):
            reference = pair.reference
            other = (
                [programs.python, "-c", reference]
                if isinstance(reference, str)
                else [programs.tokcap, *reference]
            )
            both = []
            for command in ([programs.tokcap, *pair.words], other):
                # The store does not yet contain the output of the call.
                shutil.rmtree(data / "spill", ignore_errors=True)
                both.append(cost_of(command, pair.given, variables))
            found.append((both[0], both[1]))
    return [row_of(pair, found) for pair, found in zip(pairs, costs, strict=True)]


def row_of(pair: Pair, found: list[tuple[Cost, Cost]]) -> tuple[str, ...]:
    ratio = statistics.median(cost.seconds / other.seconds for cost, other in found)
    seconds = statistics.median(cost.seconds for cost, _ in found)
    peak = max(cost.peak_bytes for cost, _ in found) / MEGABYTE
    target = f"{pair.at_most:g}" if pair.at_most else ""
    return (pair.name, f"{seconds * 1000:.0f} ms", f"{ratio:.2f}", target, f"{peak:.0f} MB")


def run(rounds: int, cache: Path, *, large: bool) -> None:
    programs = set_up_tokcap(cache)
    with tempfile.TemporaryDirectory(prefix="tokcap-benchmarks-") as place:
        table = as_markdown(HEAD, measure(programs, rounds, Path(place), large=large))
    print(table)
    RESULTS.write(rounds, table)


def main() -> int:
    parser = parser_of("benchmarks.pairs", __doc__, rounds=15)
    parser.add_argument("--no-large", action="store_true", help="skip the input of 100 MB")
    given = parser.parse_args()
    return status_of(lambda: run(given.rounds, given.cache, large=not given.no_large))


if __name__ == "__main__":
    raise SystemExit(main())
