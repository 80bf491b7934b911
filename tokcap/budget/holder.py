"""Which process holds a reservation, and whether that process still runs.

A process id is not enough, because ids are reused. So a process is identified by its id, its start
time, the boot of the machine, and the namespace that counts process ids. Another machine or container cannot
see it that way: there the byte that it has locked tells (see `presence`).
"""

from __future__ import annotations

import os

from tokcap.budget.presence import is_present
from tokcap.lean.record import Record
from tokcap.system.proc import boot_id, pid_namespace, start_ticks


class Holder(Record):
    """A process. Where `/proc` is missing, only its id is known."""

    pid: int
    started: int = 0
    boot: str = ""
    namespace: str = ""
    # The byte that it has locked in the file of holders, if it holds a reservation.
    place: int = 0


# A forked process has another id. It inherits the entry of its parent.
_known: dict[int, Holder] = {}


def this_process() -> Holder:
    pid = os.getpid()
    if pid not in _known:
        _known[pid] = Holder(
            pid=pid, started=start_ticks(pid) or 0, boot=boot_id(), namespace=pid_namespace()
        )
    return _known[pid]


def is_gone(holder: Holder, here: Holder, holders_path: str) -> bool:
    """Return whether a process has certainly ended, as seen from the process `here`.

    Another boot may be an earlier one of this machine, or the present one of another machine that shares the
    directory.
    """
    if holder.boot != here.boot or holder.namespace != here.namespace:
        return not is_present(holders_path, holder.place)
    if (holder.pid, holder.started) == (here.pid, here.started):
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
