"""One child process: started as `execvp` would, signalled while it is there, reaped once."""

from __future__ import annotations

import errno
import os
import select
import time
from _thread import allocate_lock

from tokcap.core.request import SUBCOMMANDS
from tokcap.errors import CommandNotExecutable, CommandNotFound, TokcapError
from tokcap.exits import OWN_FAILURE, Ending, ending_of
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.shortage import SHORTAGES

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet
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


class Process:
    """A running child. Two threads look after it: whoever reaps it does so under the lock."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        # Becomes readable when the process ends, where the system has such.
        self.exit_descriptor = open_exit_descriptor(pid)
        self._ending: Ending | None = None
        # Whether somebody else has reaped it, and how it ended is not known.
        self.is_lost = False
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
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    self.is_lost = True
                    self._ending = Ending(OWN_FAILURE)
                else:
                    self._ending = ending_of(status) if pid else None
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


class Launch(Record):
    """A command, and the world in which it starts."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    # Done to its descriptors in this order; `Open` and `Copy` are all it takes.
    changes: tuple[Open | Copy, ...]
    # Signals that it finds blocked, and those that tokcap treats otherwise than it found them itself.
    mask: AbstractSet[int]
    dispositions: Mapping[int, signal.Handlers]
    own_session: bool = False
    directory: str | None = None


class Copy(Record):
    """`descriptor` becomes what `source` is."""

    source: int
    descriptor: int


class Open(Record):
    """`descriptor` becomes a file, or a terminal."""

    path: str
    flags: int
    descriptor: int


def spawn(launch: Launch) -> Process:
    """Start a command as `execvp` would, and say in one line why not."""
    name = launch.argv[0]
    if not name:
        raise CommandNotFound("the name of the command is empty: command not found")
    try:
        return start(launch)
    except OSError as error:
        number = error.errno or 0
    if number in SHORTAGES:
        raise TokcapError(f"cannot start {name}: {os.strerror(number)}")
    import shutil

    path = name if "/" in name else shutil.which(name, path=launch.variables.get("PATH"))
    if number == errno.ENOEXEC and path:
        # A script without `#!`: every shell runs it itself.
        return start(launch.but(argv=("/bin/sh", path, *launch.argv[1:])))
    if number in NOT_FOUND_ERRORS and not (path and os.path.exists(path)):
        raise CommandNotFound(f"{name}: command not found{perhaps(name)}")
    if number in NOT_FOUND_ERRORS:
        raise CommandNotExecutable(f"{name}: cannot be executed: its interpreter was not found")
    hint = f"; to cap its content: tokcap < {name}" if path and os.path.isfile(path) else ""
    raise CommandNotExecutable(f"{name}: cannot be executed: {os.strerror(number)}{hint}")


def start(launch: Launch) -> Process:
    """Fork, and become the command; raises the error for which that failed.

    `posix_spawn` would be faster by less than a millisecond, but with the GNU library the command then
    finds two signals ignored which were not.
    """
    # A nameless variable can be inherited, but Python does not hand it on.
    variables = {name: value for name, value in launch.variables.items() if name}
    told, tell = os.pipe()
    try:
        pid = os.fork()
        if not pid:
            try:
                become(launch, variables)
            except BaseException as error:
                number = error.errno if isinstance(error, OSError) else None
                os.write(tell, b"%d" % (number or errno.EINVAL))
            finally:
                os._exit(OWN_FAILURE)
        os.close(tell)
        tell = -1
        # Nothing comes, and the pipe is closed, when the command takes over.
        failed = os.read(told, 16)
    finally:
        os.close(told)
        if tell >= 0:
            os.close(tell)
    if failed:
        os.waitpid(pid, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return Process(pid)


def become(launch: Launch, variables: Mapping[str, str]) -> None:
    """Turn this process into the command. Returns only by an error."""
    if launch.directory is not None:
        os.chdir(launch.directory)
    if launch.own_session:
        os.setsid()
    for change in launch.changes:
        if isinstance(change, Copy):
            os.dup2(change.source, change.descriptor)
        else:
            opened = os.open(change.path, change.flags)
            os.dup2(opened, change.descriptor)
            # It stays closed in the command: Python opens nothing that is inherited.
    for restored in RESTORED_SIGNALS:
        signal.signal(restored, signal.SIG_DFL)
    for number, disposition in launch.dispositions.items():
        signal.signal(number, disposition)
    signal.pthread_sigmask(signal.SIG_SETMASK, launch.mask)
    failure = errno.ENOENT
    for path in places(launch.argv[0], variables):
        try:
            os.execve(path, launch.argv, variables)  # noqa: S606  # that is the purpose
        except PermissionError:
            # There may be another one further on.
            failure = errno.EACCES
        except (FileNotFoundError, NotADirectoryError):
            # Or it is a script, and its interpreter is missing.
            pass
    raise OSError(failure, os.strerror(failure))


def places(name: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Where a command may be found."""
    if "/" in name:
        yield name
        return
    for directory in variables.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, name)
        # Trying to execute it would take ten times as long.
        if os.access(path, os.F_OK):
            yield path


def perhaps(name: str) -> str:
    """What somebody may have meant by a word that is no command: a subcommand, or `--help`."""
    from tokcap.core.spelling import nearest

    near = nearest(name, (*SUBCOMMANDS, "--help", "--version"))
    return f"; did you mean tokcap {near}?" if near else ""
