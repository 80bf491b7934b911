"""One child process: started as `execvp` would, signalled while it is there, reaped once."""

from __future__ import annotations

import errno
import os
import select
import time
from _thread import allocate_lock

from tokcap.errors import CommandNotExecutable, CommandNotFound, TokcapError
from tokcap.exits import Ending, ending_of
from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping, Sequence
    from typing import Any
else:
    # `signal` dresses this module's numbers as enumerations, and importing `enum` takes a third of the
    # time in which Python itself starts. What is used of it here is the same in both.
    import _signal as signal

# Python ignores these two for itself before any line of Python runs; whether they were ignored before
# that, nobody can tell any more. A command expects to die of them.
RESTORED_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)

# Where no descriptor tells of a process's end (macOS), it is asked for this often.
ASK_SECONDS = 0.05

NOT_FOUND_ERRORS = (errno.ENOENT, errno.ENOTDIR)
OUT_OF_RESOURCES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Process:
    """A running child. Two threads look after it: whoever reaps it does so under the lock."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Becomes readable when the process ends, where the system has such.
        self.exit_descriptor = open_exit_descriptor(pid)
        self._ending: Ending | None = None
        self._lock = allocate_lock()

    def send(self, number: int) -> None:
        """Send a signal, unless it has been reaped: its number may belong to somebody else by then."""
        with self._lock:
            if self._ending is None:
                send(self.pid, number)

    def send_group(self, number: int) -> None:
        """The same for the group that it leads, if it was given a session of its own."""
        with self._lock:
            if self._ending is None:
                send(-self.pid, number)

    def ended(self) -> Ending | None:
        """How it ended; None while it runs."""
        with self._lock:
            if self._ending is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._ending = ending_of(status)
            return self._ending

    def wait(self) -> Ending:
        """Wait for its end. Nothing is reaped while waiting, so that it can be signalled meanwhile."""
        while (ending := self.ended()) is None:
            if self.exit_descriptor is None:
                time.sleep(ASK_SECONDS)
            else:
                poll = select.poll()
                poll.register(self.exit_descriptor, select.POLLIN)
                poll.poll()
        return ending

    def just_stopped(self) -> bool:
        """Whether it was stopped since this was last asked, and still is."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG) is not None
        except (AttributeError, ChildProcessError):
            # A system without `waitid`, or it has been reaped.
            return False

    def close(self) -> None:
        if self.exit_descriptor is not None:
            os.close(self.exit_descriptor)
            self.exit_descriptor = None


def send(pid: int, number: int) -> None:
    """Send a signal to whom it can be sent."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def open_exit_descriptor(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def spawn(
    argv: Sequence[str],
    variables: Mapping[str, str],
    actions: Sequence[Any],
    *,
    mask: set[int],
    own_session: bool = False,
) -> Process:
    """Start a command as `execvp` would, and say in one line why not."""
    name = argv[0]
    # A nameless variable can be inherited, but Python does not hand it on.
    named = {key: value for key, value in variables.items() if key}

    def start(file: str, words: Sequence[str]) -> Process:
        attributes: dict[str, Any] = {"setsigdef": RESTORED_SIGNALS, "setsigmask": mask}
        if own_session:
            attributes["setsid"] = True
        return Process(os.posix_spawnp(file, tuple(words), named, file_actions=actions, **attributes))

    if not name:
        raise CommandNotFound("the name of the command is empty: command not found")
    try:
        return start(name, argv)
    except OSError as error:
        number = error.errno or 0
    import shutil

    path = name if "/" in name else shutil.which(name, path=variables.get("PATH"))
    if number == errno.ENOEXEC and path:
        # A script without `#!`: every shell runs it itself.
        return start("/bin/sh", ("/bin/sh", path, *argv[1:]))
    if number in OUT_OF_RESOURCES:
        raise TokcapError(f"cannot start {name}: {os.strerror(number)}")
    if number in NOT_FOUND_ERRORS and not (path and os.path.exists(path)):
        raise CommandNotFound(f"{name}: command not found")
    if number in NOT_FOUND_ERRORS:
        raise CommandNotExecutable(f"{name}: cannot be executed: its interpreter was not found")
    hint = f"; to cap its content: tokcap < {name}" if path and os.path.isfile(path) else ""
    raise CommandNotExecutable(f"{name}: cannot be executed: {os.strerror(number)}{hint}")
