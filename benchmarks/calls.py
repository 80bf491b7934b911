"""`python -m benchmarks.calls [ROUNDS]`: what short calls cost, as a multiple of `python -c pass`.

The package is installed from this directory as the README does it, in a virtualenv of its own (`--cache DIR`
keeps it elsewhere). `--beside BIN` measures another installed tokcap in the same rounds: BIN is the directory
of its programs. Costs are processor time of all processes of a call. A ratio is the median over all rounds of
a call against the interpreter alone in the same round.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.command_line import parser_of, status_of, tell
from benchmarks.environments import set_up_tokcap
from benchmarks.inputs import make_inputs
from benchmarks.measure import cost_of

SESSION = "benchmark"
SMALL = ("-n", "500")

# Name, arguments, input (a size, or empty), and at most how many times the cost of `python -c pass`.
CALLS: tuple[tuple[str, tuple[str, ...], str, float], ...] = (
    ("-- true", ("--", "true"), "", 1.9),
    ("3 bytes", ("-n", "50"), "3 B", 1.7),
    ("-n 500, 35 KB", SMALL, "35 KB", 2.5),
    ("--token-count, 35 KB", ("--token-count",), "35 KB", 2.3),
    ("in a session, 35 KB", (*SMALL, "--session", SESSION), "35 KB", 2.9),
    ("show", ("show", "@last", *SMALL), "", 2.4),
    ("--keep focus, 35 KB", (*SMALL, "--keep", "focus"), "35 KB", 3.6),
    ("budget check", ("budget", "check", SESSION), "", 2.0),
    ("budget record", ("budget", "record", SESSION, "--input", "1"), "", 2.0),
    ("budget status", ("budget", "status", SESSION), "", 2.0),
    ("hook run", ("hook", "run", "claude-code"), "", 2.0),
    ("budget list", ("budget", "list"), "", 10),
    ("hook list", ("hook", "list"), "", 10),
    ("doctor", ("doctor",), "", 25),
)


def measure(programs: list[Path], rounds: int, wanted: str) -> None:
    """Run all calls of all programs in every round, and print the ratios."""
    with tempfile.TemporaryDirectory(prefix="tokcap-calls-") as directory:
        place = Path(directory)
        inputs = make_inputs(place, {"3 B": 3, "35 KB": 35_000})
        calls = [call for call in CALLS if wanted in call[0]]
        ratios: dict[tuple[str, Path], list[float]] = defaultdict(list)
        floors: list[float] = []
        homes = {bin_: prepared(bin_, place / str(number)) for number, bin_ in enumerate(programs)}
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            for name, words, given, _ in calls:
                for bin_, variables in homes.items():
                    floor = cost_of((str(bin_ / "python"), "-c", "pass"), None, variables).seconds
                    command = (str(bin_ / "tokcap"), *words)
                    try:
                        cost = cost_of(command, inputs.get(given), variables).seconds
                    except RuntimeError:
                        continue
                    ratios[name, bin_].append(cost / floor)
                    floors.append(floor)
        print(f"python -c pass: {statistics.median(floors) * 1000:.1f} ms of processor time")
        print(f"{'call':24}{'at most':>8}", *(f"{str(bin_)[-28:]:>30}" for bin_ in programs), sep="")
        for name, _, _, at_most in calls:
            found = [ratios[name, bin_] for bin_ in programs]
            told = (
                f"{statistics.median(one):.2f} (least {min(one):.2f})" if one else "failed" for one in found
            )
            print(f"{name:24}{at_most:>8}", *(f"{one:>30}" for one in told), sep="")


def prepared(programs: Path, home: Path) -> dict[str, str]:
    """Return the variables of a program's calls, which find a session and a stored output."""
    home.mkdir()
    variables = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TOKCAP_DATA_DIR": str(home / "data"),
    }
    for words in (("budget", "start", SESSION), ("--spill", "always", "--", "seq", "20000")):
        subprocess.run([programs / "tokcap", *words], capture_output=True, env=variables, check=True)
    return variables


if __name__ == "__main__":
    parser = parser_of("benchmarks.calls", __doc__, rounds=15)
    parser.add_argument("--beside", action="append", type=Path, default=[], metavar="BIN")
    parser.add_argument("--only", default="", metavar="TEXT", help="only calls with this text in their name")
    asked = parser.parse_args()

    def run() -> None:
        own = set_up_tokcap(asked.cache).tokcap_bin
        measure([own, *asked.beside], asked.rounds, asked.only)

    raise SystemExit(status_of(run))
