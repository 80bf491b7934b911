"""Which process holds a reservation, and whether that process still runs.

A process id is not enough, because ids are reused. So a process is identified by its id, its start
time, the boot of the machine, and the namespace that counts process ids.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record
from tokcap.system.proc import boot_id, pid_namespace, start_ticks


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
