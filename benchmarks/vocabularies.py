"""What added vocabularies cost: `python -m benchmarks.vocabularies DIRECTORY [ROUNDS]`.

DIRECTORY has what `.ci/vocabularies` fetches. Each call is measured next to `python -c pass`, in one run, by
CPU time, because other work disturbs it less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.environments import default_cache, set_up
from benchmarks.inputs import make_inputs

FLOOR = "python -c pass"
# At most this many times the cost of the floor.
TARGETS = {"qwen3": 9, "llama3": 9, "deepseek_v3": 9, "llama2": 9, "gemma3": 14}


def cpu_seconds(command: list[str], stdin: Path, variables: dict[str, str]) -> float:
    """Return the CPU time of a command and its children."""
    with stdin.open("rb") as given:
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.DEVNULL, env=variables, cwd=os.path.sep
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]}: exit status {process.returncode}")
    return used.ru_utime + used.ru_stime


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    source, rounds = Path(arguments[0]).resolve(), int(arguments[1]) if arguments[1:] else 15
    # The environment that has the extras.
    programs = set_up(default_cache())
    tokcap = programs.tokcap_extras
    with tempfile.TemporaryDirectory(prefix="tokcap-vocabularies-") as place:
        variables = {**programs.variables(Path(place)), "TOKCAP_DATA_DIR": f"{place}/data"}
        text = make_inputs(Path(place), {"35 KB": 35_000})["35 KB"]
        works = {FLOOR: [programs.python, "-c", "pass"]}
        for name in TARGETS:
            add = [tokcap, "tokenizer", "add", name, str(source / f"{name}.json")]
            subprocess.run(add, env=variables, check=True, stdout=subprocess.DEVNULL)
            works[name] = [tokcap, "--tokenizer", name, "-n", "500"]
        taken: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(rounds):
            for name, command in works.items():
                taken[name].append(cpu_seconds(command, text, variables))
    floor = statistics.median(taken[FLOOR])
    print(f"| vocabulary | tokcap -n 500, 35 KB | × {FLOOR} | target |\n|---|---|---|---|")
    for name, target in TARGETS.items():
        own = statistics.median(taken[name])
        print(f"| {name} | {1000 * own:.1f} ms | {own / floor:.2f} | {target} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
