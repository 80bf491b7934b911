"""Ends a command and all that it has started: TERM first, KILL for what is left of them later.

Its process group is not what is signalled: the command shares it with tokcap and with whatever else
stands in the caller's pipeline. A process that was left behind by its own parent is not found.
"""

from __future__ import annotations

import time
from _thread import RLock

from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.process import send

if TYPE_CHECKING:
    import signal

    from tokcap.exits import StoppedFor
    from tokcap.source.process import Process
    from tokcap.system.proc import ProcessIdentity
else:
    import _signal as signal

# Whoever has to be killed may start another process before it happens; then it is looked again.
KILL_ROUNDS = 5
SETTLE_SECONDS = 0.02


class Stopping:
    """When and why a command is ended. Called from both threads."""

    def __init__(self, process: Process, timeout_seconds: float | None, kill_after_seconds: float) -> None:
        self._process = process
        self._kill_after_seconds = kill_after_seconds
        self._term_at = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        self._kill_at: float | None = None
        self._killed = False
        self._family: list[ProcessIdentity] = []
        self._lock = RLock()
        # Why it was stopped; empty: it was not.
        self.reason: StoppedFor = ""

    def due_seconds(self) -> float | None:
        """How long until `act` has something to do; None: for ever."""
        due = self._term_at if self._kill_at is None else self._kill_at
        return None if due is None or self._killed else max(due - time.monotonic(), 0)

    def act(self) -> None:
        """Do what is due."""
        if self.due_seconds() != 0:
            return
        if self._kill_at is None:
            self.ask("timeout")
        else:
            self.force()

    def ask(self, reason: StoppedFor) -> None:
        """Tell all of them to end. A command that has ended by itself was not stopped."""
        with self._lock:
            self._term_at = None
            if self._kill_at is not None or self._process.ended():
                return
            from tokcap.system.proc import descendants

            self.reason = reason
            self._kill_at = time.monotonic() + self._kill_after_seconds
            self._family = descendants([self._process.pid])
            # The command first: a shell that lost its child would go on with its next line.
            self._send(signal.SIGTERM)
            # One that is stopped hears nothing else.
            self._send(signal.SIGCONT)

    def force(self) -> None:
        """Kill all that is left."""
        from tokcap.system.proc import descendants, still_running

        with self._lock:
            self._killed = True
            for _ in range(KILL_ROUNDS):
                parents = [member.pid for member in still_running(self._family)]
                if not self._process.ended():
                    parents.append(self._process.pid)
                found = [member for member in descendants(parents) if member not in self._family]
                self._family += found
                self._send(signal.SIGKILL)
                if not found:
                    break

    def _send(self, number: int) -> None:
        from tokcap.system.proc import still_running

        self._process.send(number)
        for member in still_running(self._family):
            send(member.pid, number)

    def settle(self) -> None:
        """After the command's own end: wait for those that were told to end with it, but not for ever."""
        if not self._family:
            return
        from tokcap.system.proc import still_running

        while still_running(self._family) and not self._killed:
            self.act()
            time.sleep(SETTLE_SECONDS)
