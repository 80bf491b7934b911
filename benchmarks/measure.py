"""Measure time and peak memory of commands. Every round runs all of them, so that noise hits all alike."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# How often to read the memory of a running process.
LOOK_SECONDS = 0.002
# Slow work runs only once in this many rounds.
SLOW_EVERY = 5


@dataclass(frozen=True)
class Work:
    """One thing to measure."""

    name: str
    command: tuple[str, ...]
    stdin: Path | None = None
    # Where standard output goes; None: /dev/null.
    stdout: Path | None = None
    variables: tuple[tuple[str, str], ...] = ()
    slow: bool = False
    # Whether the command prints its own time, because it has to prepare something first.
    times_itself: bool = False
    # Stored outputs to remove after each call, so that the next one finds a store without its output.
    store: Path | None = None


def start(work: Work, variables: dict[str, str]) -> subprocess.Popen[bytes]:
    with open(work.stdin or os.devnull, "rb") as given, open(work.stdout or os.devnull, "wb") as taken:
        return subprocess.Popen(
            work.command,
            stdin=given,
            stdout=subprocess.PIPE if work.times_itself else taken,
            stderr=subprocess.DEVNULL,
            env={**variables, **dict(work.variables)},
            # Not the directory of the sources: the installed package is measured.
            cwd=os.path.sep,
        )


def seconds(work: Work, variables: dict[str, str]) -> float:
    """Return the seconds from before the process starts until it has ended."""
    started = time.perf_counter()
    process = start(work, variables)
    said, _ = process.communicate()
    taken = time.perf_counter() - started
    tidy(work)
    if process.returncode:
        raise RuntimeError(f"{work.name}: exit status {process.returncode}")
    return float(said) if work.times_itself else taken


def tidy(work: Work) -> None:
    if work.store and work.store.is_dir():
        for entry in work.store.iterdir():
            shutil.rmtree(entry, ignore_errors=True)
    if work.stdout:
        work.stdout.unlink(missing_ok=True)


def interleaved(
    works: Sequence[Work], rounds: int, variables: dict[str, str], tell: Callable[[str], None]
) -> dict[str, list[float | None]]:
    """Return the seconds of each piece of work in each round; None in a round that skipped it."""
    for work in works:
        if not work.slow:
            seconds(work, variables)
    times: dict[str, list[float | None]] = {work.name: [] for work in works}
    for number in range(rounds):
        tell(f"round {number + 1} of {rounds}")
        for work in works:
            skipped = work.slow and number % SLOW_EVERY
            times[work.name].append(None if skipped else seconds(work, variables))
    return times


@dataclass(frozen=True)
class Cost:
    """What one call took."""

    # Processor time of all its processes.
    seconds: float
    # At most this much memory: mapped pages count, and so does what this program has when it starts the call.
    peak_bytes: int


def cost_of(command: Sequence[str], given: Path | None, variables: dict[str, str]) -> Cost:
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


def peak_bytes(work: Work, variables: dict[str, str]) -> int:
    """Return the most memory that the process and its children held at one time. Shared pages count once."""
    process = start(work, variables)
    if not os.path.exists(f"/proc/{process.pid}/smaps_rollup"):
        # Without /proc, only the peak of the largest child so far is known.
        process.communicate()
        tidy(work)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(resident_bytes, family(process.pid))))
        time.sleep(LOOK_SECONDS)
    tidy(work)
    return peak


def family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in family(int(child)))]


def resident_bytes(pid: int) -> int:
    """Return the proportional set size of a process; 0 once it has ended."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
