"""A command as a source of bytes: started with its arguments verbatim, read until it ends.

tokcap's own end of things only: what becomes of the bytes is the caller's business.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time

from tokcap.environment import STDERR, STDIN, STDOUT
from tokcap.errors import CommandNotExecutable, CommandNotFound, TokcapError
from tokcap.exits import Ending, ending_of
from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from tokcap.environment import Environment
    from tokcap.types import StderrMode, Stream

READ_BYTES = 1 << 16

# A grandchild may keep the pipe open for ever. Once the command has ended, what is in the pipe is
# read, and for no longer than this.
DRAIN_SECONDS = 0.3
# Where no descriptor tells of the command's end (macOS), it is asked for this often.
ASK_MILLISECONDS = 50

# Python ignores these two for itself; a command expects to die of them.
RESTORED_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)

NOT_FOUND_ERRORS = (errno.ENOENT, errno.ENOTDIR)
OUT_OF_RESOURCES = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Command:
    """One running command. `end` reaps it; `close` must be called in any case."""

    def __init__(self, argv: Sequence[str], stderr: StderrMode, env: Environment) -> None:
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe() if stderr == "separate" else (-1, -1)
        actions: list[Any] = []
        if env.stdin != STDIN:
            actions.append((os.POSIX_SPAWN_DUP2, env.stdin, STDIN))
        actions.append((os.POSIX_SPAWN_DUP2, out_write, STDOUT))
        if stderr == "separate":
            actions.append((os.POSIX_SPAWN_DUP2, err_write, STDERR))
        elif stderr == "merge":
            actions.append((os.POSIX_SPAWN_DUP2, out_write, STDERR))
        elif stderr == "drop":
            actions.append((os.POSIX_SPAWN_OPEN, STDERR, os.devnull, os.O_WRONLY, 0))
        elif env.stderr != STDERR:
            actions.append((os.POSIX_SPAWN_DUP2, env.stderr, STDERR))
        self._streams: dict[int, Stream] = {out_read: "out"}
        if stderr == "separate":
            self._streams[err_read] = "err"
        try:
            self._pid = spawn(argv, actions, env)
        except BaseException:
            self._close_streams()
            raise
        finally:
            os.close(out_write)
            if err_write >= 0:
                os.close(err_write)
        self._ending: Ending | None = None
        self._poll = select.poll()
        self._restore_interrupts = leave_interrupts_to_the_command()

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        """What the command writes, as it comes, until it and its output have ended."""
        exit_descriptor = open_exit_descriptor(self._pid)
        for descriptor in (*self._streams, exit_descriptor):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        wait = ASK_MILLISECONDS if exit_descriptor is None else None
        drain_seconds = DRAIN_SECONDS
        try:
            while self._streams and drain_seconds > 0:
                # Only reading counts against the time to drain: whoever takes the blocks may be slow.
                asked = time.monotonic()
                ready = {descriptor for descriptor, _ in self._poll.poll(wait)}
                blocks = [
                    (descriptor, os.read(descriptor, READ_BYTES))
                    for descriptor in ready.intersection(self._streams)
                ]
                if self._ending:
                    drain_seconds -= time.monotonic() - asked
                    if not blocks:
                        return
                elif (exit_descriptor is None or exit_descriptor in ready) and self._ended():
                    # What the command itself wrote is in the pipes by now; others may write for ever.
                    wait = 0
                for descriptor, block in blocks:
                    if not block:
                        self._close(descriptor)
                    elif descriptor in self._streams:
                        yield self._streams[descriptor], block
        finally:
            if exit_descriptor is not None:
                os.close(exit_descriptor)

    def stop(self, stream: Stream) -> None:
        """Read no more of one stream. If the command still writes to it, it meets a closed pipe."""
        for descriptor, name in [*self._streams.items()]:
            if name == stream:
                self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._streams[descriptor]
        os.close(descriptor)

    def end(self) -> Ending:
        """Stop reading and wait for the command; if it still writes, it meets a closed pipe."""
        self._close_streams()
        if self._ending is None:
            self._ending = ending_of(os.waitpid(self._pid, 0)[1])
        return self._ending

    def close(self) -> None:
        """The answer is out, or there will be none: Ctrl-C means tokcap again."""
        self._close_streams()
        self._restore_interrupts()

    def _ended(self) -> bool:
        if self._ending is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._ending = ending_of(status)
        return self._ending is not None

    def _close_streams(self) -> None:
        for descriptor in self._streams:
            os.close(descriptor)
        self._streams.clear()


def leave_interrupts_to_the_command() -> Callable[[], None]:
    """Ctrl-C reaches the whole foreground group: the command decides, and tokcap tells the rest.

    The second one is for tokcap itself. Returns what undoes it. Only the main thread can handle
    signals; elsewhere nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        return lambda: None

    def restore() -> None:
        signal.signal(signal.SIGINT, before)

    try:
        signal.signal(signal.SIGINT, lambda _number, _frame: restore())
    except ValueError:
        return lambda: None
    return restore


def open_exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has such."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def spawn(argv: Sequence[str], actions: Sequence[Any], env: Environment) -> int:
    """Start a command as `execvp` would, and say in one line why not."""
    name = argv[0]
    if not name:
        raise CommandNotFound("the name of the command is empty: command not found")
    try:
        return start(name, argv, actions, env)
    except OSError as error:
        number = error.errno or 0
    import shutil

    path = name if "/" in name else shutil.which(name, path=env.variables.get("PATH"))
    if number == errno.ENOEXEC and path:
        # A script without `#!`: every shell runs it itself.
        return start("/bin/sh", ("/bin/sh", path, *argv[1:]), actions, env)
    if number in OUT_OF_RESOURCES:
        raise TokcapError(f"cannot start {name}: {os.strerror(number)}")
    if number in NOT_FOUND_ERRORS and not (path and os.path.exists(path)):
        raise CommandNotFound(f"{name}: command not found")
    if number in NOT_FOUND_ERRORS:
        raise CommandNotExecutable(f"{name}: cannot be executed: its interpreter was not found")
    hint = f"; to cap its content: tokcap < {name}" if path and os.path.isfile(path) else ""
    raise CommandNotExecutable(f"{name}: cannot be executed: {os.strerror(number)}{hint}")


def start(file: str, argv: Sequence[str], actions: Sequence[Any], env: Environment) -> int:
    # A nameless variable can be inherited, but Python does not hand it on.
    variables = {name: value for name, value in env.variables.items() if name}
    return os.posix_spawnp(file, tuple(argv), variables, file_actions=actions, setsigdef=RESTORED_SIGNALS)
