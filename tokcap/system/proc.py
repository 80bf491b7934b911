"""Processes: what `/proc` says about this one and others, and who descends from whom.

Systems without `/proc` have `ps`. Process ids are reused, so a process is identified by its id and the time
at which it started. Besides this module, only `source` reads `/proc`.
"""

from __future__ import annotations

import os
import sys

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Positions in `/proc/PID/stat`, counted from the field after the name.
STATE, PARENT, START_TICKS = 0, 1, 19
ENDED_STATES = (b"Z", b"X")
READ_BYTES = 1 << 14
# PR_SET_PDEATHSIG, and SIGKILL, which have these numbers everywhere.
SET_PARENT_DEATH_SIGNAL = 1
KILL = 9
LOAD_NOW = 2


def has_proc() -> bool:
    """Return whether this system has `/proc`."""
    return os.path.isdir("/proc/self")


def read(path: str) -> bytes:
    """Return the content of a file in `/proc`; empty if it cannot be read."""
    # `open` would ask for more than is needed here, and every call of a session reads two of these files.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    data = b""
    try:
        while block := os.read(descriptor, READ_BYTES):
            data += block
    except OSError:
        return b""
    finally:
        os.close(descriptor)
    return data


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of `/proc/PID/stat` after the name; empty if there is no such process."""
    # The name is in parentheses and may contain parentheses and spaces itself.
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it has ended, reaped or not."""
    fields = stat_fields(pid)
    return int(fields[START_TICKS]) if fields and fields[STATE] not in ENDED_STATES else None


def started_at(pid: int, now: float) -> float | None:
    """Return when a process started, in seconds since 1970; None if it has ended or that is unknown."""
    ticks, uptime = start_ticks(pid), read("/proc/uptime").split()
    return now - float(uptime[0]) + ticks / os.sysconf("SC_CLK_TCK") if ticks and uptime else None


class ProcessIdentity(Record):
    """A process id, and the start time that distinguishes it from an earlier process with the same id."""

    pid: int
    # Only compared: clock ticks since boot from `/proc`, a date from `ps`.
    started: str


class ProcessStatus(Record):
    """One process, as it was when its status was read."""

    identity: ProcessIdentity
    parent: int
    # The process has ended, and its parent has not reaped it yet.
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
    if has_proc():
        for name in os.listdir("/proc"):
            if name.isdigit() and (status := status_of(int(name))):
                yield status
        return
    for line in by_ps("-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=", "-o", "lstart="):
        pid, parent, state, started = line.split(None, 3)
        yield ProcessStatus(ProcessIdentity(int(pid), started), int(parent), state.startswith("Z"))


def by_ps(*options: str) -> list[str]:
    """Return the lines that `ps` prints."""
    import subprocess

    done = subprocess.run(["ps", *options], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace").splitlines()


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
    if has_proc():
        status = status_of(pid)
        return (status.parent, words_of(read(f"/proc/{pid}/cmdline"))) if status else (0, None)
    words = " ".join(by_ps("-ww", "-o", "ppid=,args=", "-p", str(pid))).split()
    return (int(words[0]), words[1:]) if words and words[0].isdigit() else (0, None)


def ancestors() -> set[int]:
    """Return the parent of this process, its parent, and so on."""
    found: set[int] = set()
    pid = os.getppid()
    while pid > 1 and pid not in found:
        found.add(pid)
        pid = parent_and_command_line(pid)[0]
    return found


def words_of(command_line: bytes) -> list[str] | None:
    """Split a command line of `/proc`; None if the process has overwritten it."""
    # A process that sets its own title overwrites its words, and zeros fill the rest.
    if not command_line.endswith(b"\0") or command_line.endswith(b"\0\0"):
        return None
    return [word.decode("utf-8", "replace") for word in command_line[:-1].split(b"\0")]


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent` dies. It stays so after `execve`.

    A parent that is killed cannot pass the signal on. Only Linux can do this.
    """
    if sys.platform != "linux":
        return
    try:
        from tokcap.startup.accelerators import ctypes

        program = ctypes.dlopen(None, LOAD_NOW)  # type: ignore[arg-type]  # None is this program
        function = ctypes.dlsym(program, "prctl")
        ctypes.call_function(function, (SET_PARENT_DEATH_SIGNAL, KILL))
    except (ImportError, AttributeError, OSError):
        # Another C library, or a Python without it: the command ends when it writes next.
        return
    if os.getppid() != parent:
        # The parent died before the call.
        os._exit(KILL)
