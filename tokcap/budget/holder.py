"""Which process holds a reservation, and whether it is still there.

A process is known by its id and the time at which it started, since ids are used again; and by where that
id means anything: this boot of the machine, this namespace of process ids.
"""

from __future__ import annotations

import os

from tokcap.lean.record import Record
from tokcap.system.proc import boot_id, pid_namespace, start_ticks


class Holder(Record):
    """A process. Without `/proc` nothing but the id is known of it."""

    pid: int
    started: int = 0
    boot: str = ""
    namespace: str = ""


def this_process() -> Holder:
    """Ourselves, as others will look for us."""
    pid = os.getpid()
    return Holder(pid, start_ticks(pid) or 0, boot_id(), pid_namespace())


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
        return start_ticks(holder.pid) != holder.started
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    return False
