"""Which process holds a reservation, and whether it is still there.

A process is known by its id and the time at which it started, since ids are used again; and by where that
id means anything: this boot of the machine, this namespace of process ids.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record


class Holder(Record):
    """A process. Without `/proc` nothing but the id is known of it."""

    pid: int
    started: int = 0
    boot: str = ""
    namespace: str = ""


def this_process() -> Holder:
    """Ourselves, as others will look for us."""
    pid = os.getpid()
    return Holder(pid, started_at(pid) or 0, boot_id(), pid_namespace())


def is_gone(holder: Holder, here: Holder) -> bool:
    """Whether a process has ended for certain, as seen from the process `here`.

    One of another boot has. One of another container cannot be seen from this one, and is taken to run:
    what it holds is freed from within that container, or by a reset of the session.
    """
    if holder.boot != here.boot:
        return True
    if holder.namespace != here.namespace:
        return False
    if holder.started:
        return started_at(holder.pid) != holder.started
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if it has ended, reaped or not."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read(4096)
    except OSError:
        return None
    # The name before it is in brackets, and may hold brackets itself.
    fields = stat[stat.rfind(b")") + 1 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def boot_id() -> str:
    """What changes with every boot; empty where it is not told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            return file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""


def pid_namespace() -> str:
    """Where process ids are counted; empty where there is only one such place."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
