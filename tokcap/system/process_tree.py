"""Processes and their children: from `/proc`, or from `ps` on systems without it."""

from __future__ import annotations

import os

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.proc import ENDED_STATES, PARENT, START_TICKS, STATE, has_proc, read, stat_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class ProcessIdentity(Record):
    """A process id, and the start time that distinguishes it from an earlier process with the same id."""

    pid: int
    # Only compared: clock ticks since boot from `/proc`, a date from `ps`.
    started: str


class ProcessStatus(Record):
    """One process, as it was when its status was read."""

    identity: ProcessIdentity
    parent: int
    # It has ended, and its parent has not reaped it yet.
    has_ended: bool


def status_of(pid: int) -> ProcessStatus | None:
    """Return the status of one process from `/proc`; None if there is no such process."""
    fields = stat_fields(pid)
    if not fields:
        return None
    identity = ProcessIdentity(pid, fields[START_TICKS].decode())
    return ProcessStatus(identity, int(fields[PARENT]), fields[STATE] in ENDED_STATES)


def all_processes() -> Iterator[ProcessStatus]:
    """Yield every process that can be seen."""
    if not has_proc():
        yield from listed_by_ps()
        return
    for name in os.listdir("/proc"):
        if name.isdigit() and (status := status_of(int(name))):
            yield status


def listed_by_ps() -> Iterator[ProcessStatus]:
    """Yield every process that `ps` lists."""
    import subprocess

    columns = ["-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "lstart="]
    done = subprocess.run(["ps", "-A", *columns], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        pid, parent, state, started = line.split(None, 3)
        yield ProcessStatus(ProcessIdentity(int(pid), started), int(parent), state.startswith("Z"))


def descendants(pids: Iterable[int]) -> list[ProcessIdentity]:
    """Return the children of the given processes, their children and so on, parents first.

    A process whose parent has ended was adopted by another process and is not found.
    """
    children: dict[int, list[ProcessIdentity]] = {}
    for status in all_processes():
        children.setdefault(status.parent, []).append(status.identity)
    found: list[ProcessIdentity] = []
    waiting = list(pids)
    seen = set(waiting)
    while waiting:
        for child in children.get(waiting.pop(0), ()):
            if child.pid not in seen:
                seen.add(child.pid)
                found.append(child)
                waiting.append(child.pid)
    return found


def still_running(processes: Iterable[ProcessIdentity]) -> list[ProcessIdentity]:
    """Return those of the processes that have not ended."""
    wanted = {process.pid: process for process in processes}
    statuses = map(status_of, wanted) if has_proc() else all_processes()
    return [
        status.identity
        for status in statuses
        if status and wanted.get(status.identity.pid) == status.identity and not status.has_ended
    ]


def parent_and_command_line(pid: int) -> tuple[int, list[str] | None]:
    """Return a process's parent and the words of its command line, or None if these are unknown.

    Return `(0, None)` if there is no such process.
    """
    if not has_proc():
        return parent_and_command_line_by_ps(pid)
    status = status_of(pid)
    if status is None:
        return 0, None
    return status.parent, words_of(read(f"/proc/{pid}/cmdline"))


def words_of(command_line: bytes) -> list[str] | None:
    """Split a command line of `/proc`; None if the process has overwritten it."""
    # A process that sets its own title overwrites its words, and zeros fill the rest.
    if not command_line.endswith(b"\0") or command_line.endswith(b"\0\0"):
        return None
    return [word.decode("utf-8", "replace") for word in command_line[:-1].split(b"\0")]


def parent_and_command_line_by_ps(pid: int) -> tuple[int, list[str] | None]:
    import subprocess

    done = subprocess.run(
        ["ps", "-ww", "-o", "ppid=,args=", "-p", str(pid)],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode or not words or not words[0].isdigit():
        return 0, None
    return int(words[0]), words[1:]
