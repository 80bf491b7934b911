"""A command as a source of bytes: started with its arguments verbatim, read until it ends.

tokcap's own end of things only: what becomes of the bytes is the caller's business.
"""

from __future__ import annotations

import errno
import os
import select
import time

from tokcap.environment import STDERR, STDIN, STDOUT
from tokcap.errors import StreamError
from tokcap.exits import TIMED_OUT, Ending
from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.process import ASK_SECONDS, Copy, Launch, Open, spawn
from tokcap.source.signals import Signals
from tokcap.source.stopping import Stopping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.core.request import StderrMode, Stream
    from tokcap.environment import Environment
    from tokcap.source.terminal import Terminal

PAGERS = ("PAGER", "GIT_PAGER", "MANPAGER")

READ_BYTES = 1 << 16

# A grandchild may keep the pipe open for ever. Once the command has ended, what is in the pipe is
# read, and for no longer than this.
DRAIN_SECONDS = 0.3

# How long a terminal may take to hand on what was written to it before its command ended.
TERMINAL_MILLISECONDS = 50
# How often it is asked whether the keyboard is back, after the command was sent to the background.
KEYBOARD_MILLISECONDS = 200

KILL_AFTER_SECONDS = 5.0


class Command:
    """One running command. `end` reaps it; `close` must be called in any case."""

    def __init__(
        self,
        argv: Sequence[str],
        stderr: StderrMode,
        env: Environment,
        *,
        timeout_seconds: float | None = None,
        kill_after_seconds: float = KILL_AFTER_SECONDS,
        pty: bool = False,
        reader: int | None = None,
    ) -> None:
        """`reader`: a descriptor to which the command's stdout is passed on as it comes. When nobody
        reads it any more, the command meets a closed pipe, as it would have."""
        self._reader = reader
        self._streams: dict[int, Stream] = {}
        self._terminal: Terminal | None = None
        self._poll = select.poll()
        self._signals = Signals(hold=env.is_program)
        lent: list[int] = []
        try:
            launch = Launch(
                argv=tuple(argv),
                changes=self._on_terminal(stderr, env, lent) if pty else self._on_pipes(stderr, env, lent),
                variables=self._variables(env),
                mask=self._signals.inherited_mask,
                dispositions=self._signals.dispositions,
                own_session=pty,
                directory=env.directory,
            )
            self._process = spawn(launch)
        except BaseException:
            self._close_streams()
            self._signals.close()
            raise
        finally:
            # The command has them; open here too, they would never come to an end.
            for descriptor in lent:
                os.close(descriptor)
        self._stopping = Stopping(self._process, timeout_seconds, kill_after_seconds)
        if self._terminal:
            self._terminal.lend()
        self._signals.begin(self._process, self._stopping, self._terminal)

    def _variables(self, env: Environment) -> Mapping[str, str]:
        """Its environment. A pager on a terminal without a keyboard would wait for ever."""
        variables = env.variables if env.command_variables is None else env.command_variables
        if self._terminal and self._terminal.keyboard is None:
            return {**variables, **dict.fromkeys(PAGERS, "cat")}
        return variables

    def _on_pipes(self, stderr: StderrMode, env: Environment, lent: list[int]) -> tuple[Open | Copy, ...]:
        changes = [] if env.stdin == STDIN else [Copy(env.stdin, STDIN)]
        changes.append(Copy(self._pipe("out", lent), STDOUT))
        if stderr == "separate":
            changes.append(Copy(self._pipe("err", lent), STDERR))
        return (*changes, *changes_of_stderr(stderr, env))

    def _pipe(self, stream: Stream, lent: list[int]) -> int:
        read, write = os.pipe()
        self._streams[read] = stream
        lent.append(write)
        return write

    def _on_terminal(self, stderr: StderrMode, env: Environment, lent: list[int]) -> tuple[Open | Copy, ...]:
        from tokcap.source.terminal import Terminal

        terminal = self._terminal = Terminal(env)
        self._streams[terminal.master] = "out"
        changes: list[Open | Copy] = []
        if terminal.keyboard is None and env.stdin != STDIN:
            changes.append(Copy(env.stdin, STDIN))
        # Opened by the leader of a session that has none, it becomes the terminal of that session.
        changes.append(Open(terminal.path, os.O_RDWR, STDOUT))
        if terminal.keyboard is not None:
            changes.append(Copy(STDOUT, STDIN))
        return (*changes, *changes_of_stderr("merge" if stderr == "separate" else stderr, env))

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        """What the command writes, as it comes, until it and its output have ended."""
        exit_descriptor = self._process.exit_descriptor
        for descriptor in (*self._streams, exit_descriptor):
            if descriptor is not None:
                self._poll.register(descriptor, select.POLLIN)
        if self._reader is not None:
            self._poll.register(self._reader, 0)
        drain_seconds = DRAIN_SECONDS
        ended = False
        while self._streams and drain_seconds > 0:
            if self._signals.is_alone:
                self._stopping.act()
            if self._terminal:
                self._listen(self._terminal, ended)
            # Only reading counts against the time to drain: whoever takes the blocks may be slow.
            asked = time.monotonic()
            events = self._poll.poll(self._wait_milliseconds(ended))
            # A terminal that only takes keys again has nothing to be read.
            ready = {descriptor for descriptor, event in events if event != select.POLLOUT}
            blocks = [
                (descriptor, read_block(descriptor)) for descriptor in ready.intersection(self._streams)
            ]
            if ended:
                drain_seconds -= time.monotonic() - asked
                if not blocks:
                    return
            elif exit_descriptor is None or exit_descriptor in ready:
                # What the command itself wrote is in the pipes by now; others may write for ever.
                ended = self._process.ended() is not None
                if ended and self._terminal:
                    self._terminal.let_go()
                if ended and exit_descriptor is not None:
                    # It would be ready for ever.
                    self._poll.unregister(exit_descriptor)
            for descriptor, block in blocks:
                if not block:
                    self._close(descriptor)
                elif descriptor in self._streams:
                    yield self._streams[descriptor], block
            if self._reader in ready:
                self._poll.unregister(self._reader)
                self.stop("out")
            if self._terminal:
                self._type(self._terminal, ready)

    def _listen(self, terminal: Terminal, ended: bool) -> None:
        """Keys are read while the keyboard is lent, and no faster than the command takes them."""
        self._poll.register(terminal.master, select.POLLIN | (select.POLLOUT if terminal.has_keys else 0))
        if terminal.keyboard is None:
            return
        self._poll.register(terminal.keyboard, select.POLLIN)
        if terminal.has_keys or ended or not terminal.lent:
            self._poll.unregister(terminal.keyboard)

    def _type(self, terminal: Terminal, ready: set[int]) -> None:
        if terminal.keyboard in ready and terminal.lent and not terminal.read_keys(self._process):
            self._poll.unregister(terminal.keyboard)
            terminal.lose_keyboard()
        if terminal.has_keys and terminal.master in self._streams:
            terminal.write_keys()

    def _wait_milliseconds(self, ended: bool) -> int | None:
        if ended:
            # A terminal hands its bytes on a little later than a pipe.
            return TERMINAL_MILLISECONDS if self._terminal else 0
        if self._process.exit_descriptor is None or self._signals.is_alone:
            return round(ASK_SECONDS * 1000)
        if self._terminal and self._terminal.keyboard is not None and not self._terminal.lent:
            return KEYBOARD_MILLISECONDS
        return None

    def stop(self, stream: Stream) -> None:
        """Read no more of one stream. If the command still writes to it, it meets a closed pipe."""
        for descriptor, name in [*self._streams.items()]:
            if name == stream:
                self._close(descriptor)

    def limit_reached(self) -> None:
        """Nobody wants more: end the command and all that it started. What it still writes is read."""
        self._stopping.ask("limit")
        self._signals.wake()

    def interrupt(self) -> None:
        """Nobody waits for it any more: end it and all that it started. Called from any thread."""
        self._stopping.ask("interrupt")
        self._signals.wake()

    def end(self) -> Ending:
        """Stop reading and wait for the command; if it still writes, it meets a closed pipe."""
        ending = self._wait()
        if self._process.is_lost:
            raise StreamError(
                "the command's exit status is lost: this program ignores SIGCHLD, or waits for every child"
            )
        return ending

    def _wait(self) -> Ending:
        self._close_streams()
        while self._signals.is_alone and self._process.ended() is None:
            self._stopping.act()
            time.sleep(ASK_SECONDS)
        ending = self._process.wait()
        self._stopping.settle()
        self._signals.finish()
        reason = self._stopping.reason
        return ending.but(status=TIMED_OUT if reason == "timeout" else ending.status, stopped_for=reason)

    def close(self) -> None:
        """The answer is out, or there will be none: then the command has to end as well."""
        if self._process.ended() is None:
            self._stopping.ask("failure")
            self._signals.wake()
            self._wait()
        self._close_streams()
        self._signals.close()
        self._process.close()

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._streams[descriptor]
        if self._terminal:
            self._terminal.give_up()
        os.close(descriptor)

    def _close_streams(self) -> None:
        if self._terminal:
            self._terminal.give_up()
            self._terminal.let_go()
        for descriptor in self._streams:
            os.close(descriptor)
        self._streams.clear()


def changes_of_stderr(stderr: StderrMode, env: Environment) -> tuple[Open | Copy, ...]:
    """Where stderr goes unless it has a pipe of its own."""
    if stderr == "merge":
        return (Copy(STDOUT, STDERR),)
    if stderr == "drop":
        return (Open(os.devnull, os.O_WRONLY, STDERR),)
    if stderr == "pass" and env.stderr != STDERR:
        return (Copy(env.stderr, STDERR),)
    return ()


def read_block(descriptor: int) -> bytes:
    """Some bytes; none at the end. A terminal tells of its end as of an error."""
    try:
        return os.read(descriptor, READ_BYTES)
    except OSError as error:
        if error.errno == errno.EIO:
            return b""
        raise
