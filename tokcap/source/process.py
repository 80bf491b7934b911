"""One child process: signalled only while it exists, reaped once, and ended with all of its descendants.

The process group is not signalled: the command shares it with tokcap and with the rest of the caller's
pipeline. A process whose parent has ended is not found.
"""

from __future__ import annotations

import os
import select
import time

from tokcap.exits import OWN_FAILURE, Ending, ending_of
from tokcap.startup.accelerators import signal, thread
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.exits import StoppedFor
    from tokcap.system.proc import ProcessIdentity


# How often a process is checked on systems without a descriptor for its end (macOS).
POLL_SECONDS = 0.05


# SIGKILL, which has this number everywhere. See `launch` for why `signal` is not imported.
KILL = 9


class Process:
    """A child process that two threads use. The lock prevents a signal after it was reaped."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Becomes readable when the process ends; None where the system has no such descriptor.
        self.exit_descriptor = open_exit_descriptor(pid)
        self._ending: Ending | None = None
        # Another part of the program has reaped it, so its exit status is unknown.
        self.is_lost = False
        self._lock = thread.allocate_lock()

    def send(self, number: int) -> None:
        """Send a signal, unless it was reaped: its id may belong to another process by then."""
        with self._lock:
            if self._ending is None:
                send_signal(self.pid, number)

    def ended(self) -> Ending | None:
        """Return how it ended; None while it runs."""
        with self._lock:
            if self._ending is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self.is_lost = True
                    self._ending = Ending(OWN_FAILURE)
                else:
                    self._ending = ending_of(status) if pid else None
            return self._ending

    def wait(self) -> Ending:
        """Wait for its end. It is not reaped while waiting, so other threads can still signal it."""
        while (ending := self.ended()) is None:
            if self.exit_descriptor is None:
                time.sleep(POLL_SECONDS)
            else:
                poll = select.poll()
                poll.register(self.exit_descriptor, select.POLLIN)
                poll.poll()
        return ending

    def kill(self) -> None:
        """End it at once, and reap it."""
        self.send(KILL)
        self.wait()

    def just_stopped(self) -> bool:
        """Return whether it was stopped since the last call, and still is."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None
        except (AttributeError, ChildProcessError):
            # The system has no `waitid`, or the process was reaped.
            return False

    def close(self) -> None:
        if self.exit_descriptor is not None:
            os.close(self.exit_descriptor)
            self.exit_descriptor = None


def send_signal(pid: int, number: int) -> None:
    """Send a signal; do nothing if the process is gone or belongs to another user."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def open_exit_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


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
        self._lock = thread.RLock()
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
            from tokcap.system.proc import descendants

            self.reason = reason
            self._kill_at = time.monotonic() + self._kill_after_seconds
            self._descendants = descendants([self._process.pid])
            # The command first: a shell whose child ends would go on with its next line.
            self._send(signal.SIGTERM)
            # A stopped process does not receive SIGTERM until it continues.
            self._send(signal.SIGCONT)

    def kill(self) -> None:
        """Send SIGKILL to all processes that are left."""
        from tokcap.system.proc import descendants, still_running

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
        from tokcap.system.proc import still_running

        self._process.send(number)
        for process in still_running(self._descendants):
            send_signal(process.pid, number)

    def wait_for_descendants(self) -> None:
        """Wait, after the command has ended, for the descendants that were signalled; kill them when due."""
        if not self._descendants:
            return
        from tokcap.system.proc import still_running

        while still_running(self._descendants) and not self._killed:
            self.act()
            time.sleep(SETTLE_SECONDS)
