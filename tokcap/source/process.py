"""One child process: signalled only while it exists, and reaped once."""

from __future__ import annotations

import os
import select
import time
from _thread import allocate_lock

from tokcap.exits import OWN_FAILURE, Ending, ending_of

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
        self._lock = allocate_lock()

    def send(self, number: int) -> None:
        """Send a signal, unless it was reaped: its id may belong to another process by then."""
        with self._lock:
            if self._ending is None:
                send_signal(self.pid, number)

    def send_group(self, number: int) -> None:
        """Send a signal to the process group that it leads."""
        with self._lock:
            if self._ending is None:
                send_signal(-self.pid, number)

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
