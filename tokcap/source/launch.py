"""Start a command as `execvp` would: connect its streams to tokcap, fork, and execute it."""

from __future__ import annotations

import errno
import os

from tokcap.environment import STDERR, STDIN, STDOUT
from tokcap.errors import CommandNotExecutable, CommandNotFound, TokcapError
from tokcap.exits import OWN_FAILURE
from tokcap.source.process import Process
from tokcap.startup.accelerators import signal
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.shortage import is_shortage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from tokcap.core.request import StderrMode, Stream
    from tokcap.environment import Environment


# Python ignores these two before any Python code runs, so it is unknown whether they were ignored before.
# Commands expect the default: to be ended by them.
RESTORED_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)
# What a shell ignores (`trap '' PIPE`), its commands ignore too. The tools in this list ignore a signal
# only if their caller does. Other programs that ignore SIGPIPE, such as Python and Node, do not pass that on.
PASS_ON = (
    *("sh", "bash", "dash", "ash", "zsh", "zsh5", "ksh", "ksh93", "mksh", "yash", "busybox"),
    *("find", "flock", "make", "time", "timeout", "xargs"),
)
STATUS_BYTES = 1 << 12


class Copy(Record):
    """Make `descriptor` a copy of `source`."""

    source: int
    descriptor: int


class Launch(Record):
    """A command and what it inherits."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    # Applied to its descriptors in this order.
    changes: tuple[Copy, ...]
    # Signals that are blocked in the command.
    mask: AbstractSet[int]
    # For each signal whose handling tokcap has changed: the handling that the command starts with.
    dispositions: Mapping[int, signal.Handlers]
    # Signals that Python ignores and the command does not.
    restored: tuple[int, ...] = RESTORED_SIGNALS
    directory: str | None = None
    # The file to execute; empty: it is searched for by the first word.
    path: str = ""
    # Whether the command is killed when this process is.
    dies_with_parent: bool = False


def spawn(launch: Launch) -> Process:
    """Start a command; raise a `TokcapError` that says why it cannot be started."""
    try:
        if launch.argv[0]:
            return start(launch)
        number = errno.ENOENT
    except OSError as error:
        number = error.errno or 0

    # Shells run a script without `#!` themselves.
    if number == errno.ENOEXEC and (script := path_of(launch)):
        return start(launch.replace(argv=("/bin/sh", script, *launch.argv[1:])))
    raise error_of(launch, number)


def start(launch: Launch) -> Process:
    """Fork, and execute the command in the child; raise the `OSError` with which that failed.

    `posix_spawn` would save less than a millisecond. But with glibc, the command would then start with two
    signals ignored that were not ignored before.
    """
    # A variable without a name can be inherited, but Python refuses to pass it on.
    variables = {name: value for name, value in launch.variables.items() if name}
    read, write = os.pipe()
    parent = os.getpid()
    pid = 0
    try:
        pid = os.fork()
        if not pid:
            try:
                if launch.dies_with_parent:
                    from tokcap.system.proc import die_with_parent

                    die_with_parent(parent)
                execute(launch, variables)
            except BaseException as error:
                number = error.errno if isinstance(error, OSError) else None
                os.write(write, b"%d" % (number or errno.EINVAL))
            finally:
                os._exit(OWN_FAILURE)
        os.close(write)
        write = -1
        # The pipe is closed without a byte when the command is executed.
        failed = os.read(read, 16)
    except BaseException:
        # An interrupt, for example. Nobody would know of the process, and end it.
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        raise
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)
    if failed:
        os.waitpid(pid, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return Process(pid)


def execute(launch: Launch, variables: Mapping[str, str]) -> None:
    """Turn this process into the command. It returns only by raising `OSError`."""
    if launch.directory is not None:
        os.chdir(launch.directory)
    for change in launch.changes:
        os.dup2(change.source, change.descriptor)
    for restored in launch.restored:
        signal.signal(restored, signal.SIG_DFL)
    for number, disposition in launch.dispositions.items():
        signal.signal(number, disposition)
    signal.pthread_sigmask(signal.SIG_SETMASK, launch.mask)
    is_forbidden = False
    for path in candidate_paths(launch.path or launch.argv[0], variables):
        try:
            os.execve(path, launch.argv, variables)  # noqa: S606  # running a command is the purpose
        except PermissionError:
            # A later directory may have one that is executable.
            is_forbidden = True
        except (FileNotFoundError, NotADirectoryError):
            # The file exists: it is a script without its interpreter.
            pass
    failure = errno.EACCES if is_forbidden else errno.ENOENT
    raise OSError(failure, os.strerror(failure))


def restored_signals() -> tuple[int, ...]:
    """Return what Python ignores and this process did not ignore when it started, as far as that is known."""
    parent = os.getppid()
    ignored = signals_in(parent, b"SigIgn")
    inherited = {number for number in RESTORED_SIGNALS if ignored >> (number - 1) & 1}
    if not inherited or not passes_on(parent):
        return RESTORED_SIGNALS
    return tuple(number for number in RESTORED_SIGNALS if number not in inherited)


def signals_in(pid: int, name: bytes) -> int:
    """Return the signals in a line of `/proc/PID/status`, as bits; none if that is unknown."""
    try:
        status = os.open(f"/proc/{pid}/status", os.O_RDONLY)
    except OSError:
        return 0
    try:
        lines = os.read(status, STATUS_BYTES)
    finally:
        os.close(status)
    return int(lines.partition(b"\n%b:\t" % name)[2].partition(b"\n")[0] or b"0", 16)


def passes_on(pid: int) -> bool:
    """Return whether a process lets its children ignore what it ignores."""
    # Its own name is not enough: a shell that runs a script has the name of the script.
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) in PASS_ON
    except OSError:
        return False


def candidate_paths(name: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths at which a command may be."""
    if "/" in name:
        yield name
        return
    for directory in variables.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(directory, name)
        # Trying to execute a missing file takes ten times as long.
        if os.access(path, os.F_OK):
            yield path


NOT_FOUND_ERRORS = (errno.ENOENT, errno.ENOTDIR)


def error_of(launch: Launch, number: int) -> TokcapError:
    """Return the error for a command that failed to start with this `errno`."""
    name = launch.argv[0]
    if not name:
        return CommandNotFound("the name of the command is empty: command not found")
    if is_shortage(number):
        return TokcapError(f"cannot start {name}: {os.strerror(number)}")
    path = path_of(launch)
    if number in NOT_FOUND_ERRORS and not (path and os.path.exists(path)):
        return CommandNotFound(f"{name}: command not found")
    if number in NOT_FOUND_ERRORS:
        return CommandNotExecutable(f"{name}: cannot be executed: its interpreter was not found")
    why = "it is a directory" if os.path.isdir(path) else os.strerror(number)
    return CommandNotExecutable(f"{name}: cannot be executed: {why}")


def path_of(launch: Launch) -> str:
    """Return the path of the command; empty if it is not found."""
    name = launch.path or launch.argv[0]
    if "/" in name:
        return name
    paths = candidate_paths(name, launch.variables)
    return next((path for path in paths if os.access(path, os.X_OK) and not os.path.isdir(path)), "")


class Connections:
    """The descriptors that tokcap reads, by the stream that each carries, and what the command gets."""

    def __init__(self, stderr: StderrMode, env: Environment) -> None:
        self.streams: dict[int, Stream] = {}
        # What is opened here for the command.
        self._lent: list[int] = []
        # What is done to the command's descriptors, in this order.
        self.changes: list[Copy] = [] if env.stdin == STDIN else [Copy(env.stdin, STDIN)]
        try:
            self.changes.append(Copy(self._open_pipe("out"), STDOUT))
            if stderr == "separate":
                self.changes.append(Copy(self._open_pipe("err"), STDERR))
            elif stderr == "merge":
                self.changes.append(Copy(STDOUT, STDERR))
            elif stderr == "drop":
                self._lent.append(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
                self.changes.append(Copy(self._lent[-1], STDERR))
            elif env.stderr != STDERR:
                self.changes.append(Copy(env.stderr, STDERR))
        except BaseException:
            self.close_lent()
            self.close()
            raise

    def _open_pipe(self, stream: Stream) -> int:
        read, write = os.pipe()
        self.streams[read] = stream
        self._lent.append(write)
        return write

    def release(self) -> dict[int, Stream]:
        """Return the open streams. They belong to the caller from now on."""
        released, self.streams = self.streams, {}
        return released

    def close_lent(self) -> None:
        """Close what only the command uses. While its ends are open here, the streams never end."""
        for descriptor in self._lent:
            os.close(descriptor)
        self._lent.clear()

    def close_stream(self, descriptor: int) -> None:
        del self.streams[descriptor]
        os.close(descriptor)

    def close(self) -> None:
        """Close all streams that are open."""
        for descriptor in self.streams:
            os.close(descriptor)
        self.streams.clear()
