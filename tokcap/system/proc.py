"""Read what `/proc` says about this process and others.

Only this module, `process_tree`, `waiting` and `source.launch` read `/proc`. Process ids are reused, so a
process is identified by its id and the time at which it started.
"""

from __future__ import annotations

import os

# Positions in `/proc/PID/stat`, counted from the field after the name.
STATE, PARENT, START_TICKS = 0, 1, 19
ENDED_STATES = (b"Z", b"X")
READ_BYTES = 1 << 14


def has_proc() -> bool:
    """Return whether this system has `/proc`."""
    return os.path.isdir("/proc/self")


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it has ended, reaped or not."""
    fields = stat_fields(pid)
    return int(fields[START_TICKS]) if fields and fields[STATE] not in ENDED_STATES else None


def started_at(pid: int, now: float) -> float | None:
    """Return when a process started, in seconds since 1970; None if it has ended or that is unknown."""
    ticks, uptime = start_ticks(pid), read("/proc/uptime").split()
    return now - float(uptime[0]) + ticks / os.sysconf("SC_CLK_TCK") if ticks and uptime else None


def stat_fields(pid: int) -> list[bytes]:
    """Return the fields of `/proc/PID/stat` after the name; empty if there is no such process."""
    # The name is in parentheses and may contain parentheses and spaces itself.
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


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


def boot_id() -> str:
    """Return an id that changes with every boot; empty if the system has none."""
    return read("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()


def pid_namespace() -> str:
    """Return the namespace in which process ids are counted; empty if the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def resident_bytes() -> int | None:
    """Return the memory that this process holds now; None if the system does not report it."""
    fields = read("/proc/self/statm").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else None
