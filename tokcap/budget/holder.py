"""Which process holds a reservation, and whether that process still runs.

A process id alone is not enough, because ids are used again. So a process is known by its id, its start
time, the boot of the machine, and the namespace that counts process ids.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record


class Holder(Record):
    """A process. Where `/proc` is missing, only its id is known."""

    pid: int
    started: int = 0
    boot: str = ""
    namespace: str = ""


def this_process() -> Holder:
    pid = os.getpid()
    return Holder(pid=pid, started=start_ticks(pid) or 0, boot=boot_id(), namespace=pid_namespace())


def is_gone(holder: Holder, here: Holder) -> bool:
    """Return whether a process has certainly ended, as seen from the process `here`.

    A process of an earlier boot has ended. A process of another container cannot be seen, so it counts as
    running: its reservation is freed from inside that container, or when the session is reset.
    """
    if holder.boot != here.boot:
        return True
    if holder.namespace != here.namespace:
        return False
    if holder.started:
        return start_ticks(holder.pid) != holder.started
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False


# Only the following functions read `/proc`.


def start_ticks(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None if it has ended, even as a zombie."""
    stat = read_proc(f"/proc/{pid}/stat")
    if not stat:
        return None
    # The second field is the program's name in parentheses, which may hold spaces and parentheses.
    fields = stat[stat.rfind(b")") + 1 :].split()
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def boot_id() -> str:
    """Return the id of this boot of the machine; empty if the system has none."""
    return read_proc("/proc/sys/kernel/random/boot_id").decode("ascii", "replace").strip()


def pid_namespace() -> str:
    """Return the namespace of this process's id; empty if the system has none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def read_proc(path: str) -> bytes:
    """Return the content of a small file; empty if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(4096)
    except OSError:
        return b""
