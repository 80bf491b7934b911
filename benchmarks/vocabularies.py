"""What added vocabularies cost: `python -m benchmarks.vocabularies DIRECTORY [ROUNDS]`.

DIRECTORY has what `.ci/vocabularies` fetches. Each call is measured next to `python -c pass`, and next to the
package `tokenizers`, which loads the same file and encodes the same text. All figures are CPU time, because
other work disturbs it less. With `--large`, 100 MB are counted too, on one core.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.environments import default_cache, set_up_tokcap, step
from benchmarks.inputs import SIZES, make_inputs

FLOOR = "python -c pass"
# At most so many times the cost of the floor.
TARGETS = {"qwen3": 3.2, "llama3": 3.2, "deepseek_v3": 3.2, "gemma3": 4.0, "llama2": 4.0}
# Counting 100 MB takes at most this part of what the package takes, in at most so many bytes.
LARGE, LARGE_PART, LARGE_BYTES = "qwen3", 0.6, 300 << 20
PACKAGE = """
import json, sys
from tokenizers import Tokenizer
model = json.loads(open(sys.argv[1], "rb").read())
tokenizer = Tokenizer.from_str(json.dumps({**model, "added_tokens": [], "post_processor": None}))
for block in iter(lambda: sys.stdin.buffer.read(1 << 20), b""):
    tokenizer.encode(block.decode("utf-8", "replace"), add_special_tokens=False)
"""


def cpu_seconds(command: list[str], stdin: Path, variables: dict[str, str]) -> tuple[float, int]:
    """Return the CPU time of a command and its children, and the most memory that one of them held."""
    with stdin.open("rb") as given:
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.DEVNULL, env=variables, cwd=os.path.sep
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]}: exit status {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def medians_of(
    works: dict[str, tuple[list[str], Path]], rounds: int, variables: dict[str, str]
) -> dict[str, float]:
    """Return the median CPU time of each piece of work. Every round runs all of them."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, (command, stdin) in works.items():
            taken[name].append(cpu_seconds(command, stdin, variables)[0])
    return {name: statistics.median(times) for name, times in taken.items()}


def main(arguments: list[str]) -> int:
    is_large = "--large" in arguments
    words = [word for word in arguments if word != "--large"]
    if not words:
        print(__doc__, file=sys.stderr)
        return 2
    source, rounds = Path(words[0]).resolve(), int(words[1]) if len(words) > 1 else 15
    programs = set_up_tokcap(default_cache())
    step([str(programs.tokcap_bin / "pip"), "install", "-q", "tokenizers"])
    with tempfile.TemporaryDirectory(prefix="tokcap-vocabularies-") as place:
        variables = {**programs.variables(Path(place)), "TOKCAP_DATA_DIR": f"{place}/data"}
        # On one core, whatever the machine has.
        variables |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
        inputs = make_inputs(Path(place), {"35 KB": 35_000, "100 MB": SIZES["100 MB"]})
        for name in TARGETS:
            add = [programs.tokcap, "tokenizer", "add", name, str(source / f"{name}.json")]
            subprocess.run(add, env=variables, check=True, stdout=subprocess.DEVNULL)
        small_calls(source, programs.python, programs.tokcap, inputs["35 KB"], rounds, variables)
        if is_large:
            large_count(source, programs.python, programs.tokcap, inputs["100 MB"], variables)
    return 0


def small_calls(
    source: Path, python: str, tokcap: str, text: Path, rounds: int, variables: dict[str, str]
) -> None:
    """Print what `tokcap -n 500` of 35 KB costs, and what the package costs with the same file and text."""
    works = {FLOOR: ([python, "-c", "pass"], text)}
    for name in TARGETS:
        works[name] = ([tokcap, "--tokenizer", name, "-n", "500"], text)
    # The package is many times slower, and needs fewer rounds.
    slow = {name: ([python, "-c", PACKAGE, str(source / f"{name}.json")], text) for name in TARGETS}
    medians, package = medians_of(works, rounds, variables), medians_of(slow, max(rounds // 5, 1), variables)
    floor = medians[FLOOR]
    print(f"| vocabulary | tokcap -n 500, 35 KB | × {FLOOR} | target | package tokenizers | × tokcap |")
    print("|---|---|---|---|---|---|")
    for name, target in TARGETS.items():
        own = medians[name]
        print(
            f"| {name} | {1000 * own:.1f} ms | {own / floor:.2f} | {target:g} "
            f"| {1000 * package[name]:.0f} ms | {package[name] / own:.0f} |"
        )


def large_count(source: Path, python: str, tokcap: str, text: Path, variables: dict[str, str]) -> None:
    """Print what counting 100 MB costs, next to the package on the same text in blocks of 1 MiB."""
    own, held = cpu_seconds([tokcap, "--tokenizer", LARGE, "--token-count"], text, variables)
    package, _ = cpu_seconds([python, "-c", PACKAGE, str(source / f"{LARGE}.json")], text, variables)
    print(
        f"\n--token-count of 100 MB with {LARGE}: {own:.1f} s of CPU time and {held >> 20} MB; the package: "
        f"{package:.1f} s. {own / package:.2f} of it (target {LARGE_PART}, below {LARGE_BYTES >> 20} MB)."
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
