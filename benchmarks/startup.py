"""Divide the time of one call: the interpreter, imports by group, and the steps of the work.

Import times come from `-X importtime`, the steps from a profile grouped by package. Both slow down the
call, so only their proportions are used.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections import defaultdict

from benchmarks.measure import Work, tidy

REPEATS = 7

INTERPRETER = "interpreter"
STEPS = ("reading", "counting", "cutting and wording", "storing", "writing", "reading the call")
GROUPS = ("import: libraries", "import: tokcap/tokens", "import: tokcap/store", "import: the rest of tokcap")
PARTS = (INTERPRETER, *GROUPS, *STEPS)

# Run one call in the profiler, and print the seconds that each function spent in itself. The time of a
# built-in function counts for its caller. Importing does not count as a step.
PROFILE = """
import cProfile, json, os, sys
from tokcap.__main__ import call
from tokcap.environment import Environment
say = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
profile = cProfile.Profile()
profile.runcall(call, sys.argv[1:], Environment.of_this_process())
profile.create_stats()
found = {}
def place(function):
    file, _, name = function
    return "import" if name == "<module>" or "importlib" in file else f"{file}:{name}"
for function, (_, _, own, _, callers) in profile.stats.items():
    if function[0] == "~" and callers:
        for caller, (_, _, part, _) in callers.items():
            found[place(caller)] = found.get(place(caller), 0) + part
    else:
        found[place(function)] = found.get(place(function), 0) + own
os.write(say, json.dumps(found).encode())
"""


def breakdown(
    work: Work, python: str, variables: dict[str, str], total: float, floor: float
) -> dict[str, float]:
    """Return the seconds of each part of one call that takes `total`; Python alone takes `floor`."""
    imports = import_seconds(work, python, variables)
    steps = step_seconds(work, python, variables)
    beyond = max(total - floor, 0)
    # Import times are nearly accurate. The profile divides only the rest.
    scale = min(1.0, beyond / (sum(imports.values()) or 1))
    found = {INTERPRETER: floor, **{group: taken * scale for group, taken in imports.items()}}
    left = beyond - sum(found[group] for group in imports)
    whole = sum(steps.values()) or 1
    return found | {step: left * taken / whole for step, taken in steps.items()}


def import_seconds(work: Work, python: str, variables: dict[str, str]) -> dict[str, float]:
    bare = set(imports_of([python, "-X", "importtime", "-c", "pass"], work, variables))
    runs = []
    for _ in range(REPEATS):
        found: dict[str, float] = defaultdict(float)
        command = [python, "-X", "importtime", *work.command]
        for module, taken in imports_of(command, work, variables).items():
            if module not in bare:
                found[group_of(module)] += taken
        runs.append(found)
    return {group: statistics.median(run[group] for run in runs) for group in GROUPS}


def imports_of(command: list[str], work: Work, variables: dict[str, str]) -> dict[str, float]:
    """Return the seconds that the body of each module took."""
    found = {}
    for line in output_of(command, work, variables)[1].splitlines():
        if line.startswith("import time:") and "self [us]" not in line:
            own, _, module = line.removeprefix("import time:").split("|")
            found[module.strip()] = int(own) / 1e6
    return found


def group_of(module: str) -> str:
    if not module.startswith("tokcap"):
        return "import: libraries"
    if module.startswith("tokcap.tokens"):
        return "import: tokcap/tokens"
    if module.startswith(("tokcap.store", "tokcap.steps.delivery", "tokcap.system.private_files")):
        return "import: tokcap/store"
    return "import: the rest of tokcap"


def step_seconds(work: Work, python: str, variables: dict[str, str]) -> dict[str, float]:
    runs = []
    for _ in range(REPEATS):
        found: dict[str, float] = defaultdict(float)
        said, _ = output_of([python, "-c", PROFILE, *work.command[1:]], work, variables)
        for place, taken in json.loads(said).items():
            if place != "import":
                found[step_of(place)] += taken
        runs.append(found)
    return {step: statistics.median(run[step] for run in runs) for step in STEPS}


def step_of(place: str) -> str:
    file, _, name = place.rpartition(":")
    module = file.rpartition("site-packages/tokcap/")[2]
    if name.startswith("write_"):
        return "writing"
    if module.startswith(("tokens/", "lean/patterns")) or "tiktoken" in file:
        return "counting"
    if module.startswith(("store/", "steps/recording", "steps/storing", "system/private_files", "usage/")):
        return "storing"
    if module.startswith(("source/", "steps/capture", "steps/live")):
        return "reading"
    if module.startswith(("cli/", "__main__", "environment")):
        return "reading the call"
    return "cutting and wording"


def output_of(command: list[str], work: Work, variables: dict[str, str]) -> tuple[str, str]:
    with open(work.stdin or "/dev/null", "rb") as given:
        done = subprocess.run(
            command,
            stdin=given,
            capture_output=True,
            text=True,
            env={**variables, **dict(work.variables)},
            # Not the directory of the sources: the installed package is measured.
            cwd=os.path.sep,
            check=True,
        )
    tidy(work)
    return done.stdout, done.stderr
