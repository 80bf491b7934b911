"""What other processes are doing, read from /proc, and ways to wait for it without guessing a time."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence

# Long enough for a machine that is busy with other things. Nothing depends on how long it really takes.
PATIENCE_SECONDS = 60


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, f"it did not happen within {PATIENCE_SECONDS} seconds"
        time.sleep(0.02)


def outputs_of(processes: Sequence[subprocess.Popen]) -> list[str]:
    """Let processes that have said `ready` begin together; return what each has written at its end."""
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.close()
    written = [process.stdout.read() for process in processes]
    for process in processes:
        process.stdout.close()
    assert [process.wait() for process in processes] == [0] * len(processes)
    return written


def children_of(pid: int) -> list[int]:
    """Return the children of a process, as soon as it has any."""
    found: list[int] = []

    def look() -> bool:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            found[:] = map(int, file.read().split())
        return bool(found)

    wait_for(look)
    return found


def command_line(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


def state_of(pid: int) -> str:
    """Return `R`, `S`, `T` (stopped) or `Z`; an empty string if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def send(pid: int, number: int) -> None:
    """Send a signal, and wait until it is taken: the next one would be merged with a pending one."""
    os.kill(pid, number)
    wait_until_taken(pid, number)


def wait_until_taken(pid: int, number: int) -> None:
    wait_for(lambda: not _is_pending(pid, number))


def _is_pending(pid: int, number: int) -> bool:
    bit = 1 << (signal.Signals(number) - 1)
    try:
        with open(f"/proc/{pid}/status") as file:
            masks = [line.split()[1] for line in file if line.startswith(("SigPnd:", "ShdPnd:"))]
    except OSError:
        return False
    return any(int(mask, 16) & bit for mask in masks)
