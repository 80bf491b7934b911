"""End a command and all of its descendants: SIGTERM first, SIGKILL later for those that are left.

The process group is not signalled: the command shares it with tokcap and with the rest of the caller's
pipeline. A process whose parent has ended is not found.
"""

from __future__ import annotations

import time
from _thread import RLock

from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.process import send_signal

if TYPE_CHECKING:
    import signal

    from tokcap.exits import StoppedFor
    from tokcap.source.process import Process
    from tokcap.system.process_tree import ProcessIdentity
else:
    # See `launch`.
    import _signal as signal

# A process may start another one before it is killed, so the search is repeated.
KILL_ROUNDS = 5
SETTLE_SECONDS = 0.02


class Termination:
    """When and why a command is ended. Used by two threads."""

    def __init__(self, process: Process, timeout_seconds: float | None, kill_after_seconds: float) -> None:
        self._process = process
        self._kill_after_seconds = kill_after_seconds
        self._term_at = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        self._kill_at: float | None = None
        self._killed = False
        self._descendants: list[ProcessIdentity] = []
        self._lock = RLock()
        # Why the command was ended; empty: it was not.
        self.reason: StoppedFor = ""

    def due_seconds(self) -> float | None:
        """Return the seconds until `act` has something to do; None if nothing is due."""
        due = self._term_at if self._kill_at is None else self._kill_at
        return None if due is None or self._killed else max(due - time.monotonic(), 0)

    def act(self) -> None:
        """Send the signal that is due, if there is one."""
        if self.due_seconds() != 0:
            return
        if self._kill_at is None:
            self.request("timeout")
        else:
            self.kill()

    def request(self, reason: StoppedFor) -> None:
        """Send SIGTERM to all processes, unless that was done or the command has ended by itself."""
        with self._lock:
            self._term_at = None
            if self._kill_at is not None or self._process.ended():
                return
            from tokcap.system.process_tree import descendants

            self.reason = reason
            self._kill_at = time.monotonic() + self._kill_after_seconds
            self._descendants = descendants([self._process.pid])
            # The command first: a shell whose child ends would go on with its next line.
            self._send(signal.SIGTERM)
            # A stopped process does not receive SIGTERM until it continues.
            self._send(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to all processes that are left."""
        from tokcap.system.process_tree import descendants, still_running

        with self._lock:
            self._killed = True
            for _ in range(KILL_ROUNDS):
                parents = [process.pid for process in still_running(self._descendants)]
                if not self._process.ended():
                    parents.append(self._process.pid)
                found = [process for process in descendants(parents) if process not in self._descendants]
                self._descendants += found
                self._send(signal.SIGKILL)
                if not found:
                    break

    def _send(self, number: int) -> None:
        from tokcap.system.process_tree import still_running

        self._process.send(number)
        for process in still_running(self._descendants):
            send_signal(process.pid, number)

    def wait_for_descendants(self) -> None:
        """Wait, after the command has ended, for the descendants that were signalled; kill them when due."""
        if not self._descendants:
            return
        from tokcap.system.process_tree import still_running

        while still_running(self._descendants) and not self._killed:
            self.act()
            time.sleep(SETTLE_SECONDS)
