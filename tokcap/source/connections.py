"""Connect a command's standard streams to tokcap: by pipes, or by a pseudo-terminal."""

from __future__ import annotations

import os

from tokcap.environment import STDERR, STDIN, STDOUT
from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.launch import Copy, Open

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import StderrMode, Stream
    from tokcap.environment import Environment
    from tokcap.source.terminal import Terminal

PAGERS = ("PAGER", "GIT_PAGER", "MANPAGER")


class Connections:
    """The descriptors that tokcap reads, by the stream that each carries, and what the command gets."""

    def __init__(self, stderr: StderrMode, env: Environment, *, pty: bool) -> None:
        self._env = env
        self.streams: dict[int, Stream] = {}
        self.terminal: Terminal | None = None
        # The command's ends of the pipes.
        self._lent: list[int] = []
        # What is done to the command's descriptors.
        self.changes: tuple[Open | Copy, ...] = ()
        try:
            self.changes = self._on_terminal(stderr) if pty else self._on_pipes(stderr)
        except BaseException:
            self.close_lent()
            self.close()
            raise

    @property
    def variables(self) -> Mapping[str, str]:
        """The command's variables. A pager on a terminal without a keyboard would wait forever."""
        env = self._env
        variables = env.variables if env.command_variables is None else env.command_variables
        if self.terminal and self.terminal.keyboard is None:
            return {**variables, **dict.fromkeys(PAGERS, "cat")}
        return variables

    def _on_pipes(self, stderr: StderrMode) -> tuple[Open | Copy, ...]:
        changes = [] if self._env.stdin == STDIN else [Copy(self._env.stdin, STDIN)]
        changes.append(Copy(self._open_pipe("out"), STDOUT))
        if stderr == "separate":
            changes.append(Copy(self._open_pipe("err"), STDERR))
        return (*changes, *stderr_changes(stderr, self._env))

    def _open_pipe(self, stream: Stream) -> int:
        read, write = os.pipe()
        self.streams[read] = stream
        self._lent.append(write)
        return write

    def _on_terminal(self, stderr: StderrMode) -> tuple[Open | Copy, ...]:
        from tokcap.source.terminal import Terminal

        terminal = self.terminal = Terminal(self._env)
        self.streams[terminal.master] = "out"
        changes: list[Open | Copy] = []
        if terminal.keyboard is None and self._env.stdin != STDIN:
            changes.append(Copy(self._env.stdin, STDIN))
        # The first terminal that the leader of a new session opens becomes its controlling terminal.
        changes.append(Open(terminal.path, os.O_RDWR, STDOUT))
        if terminal.keyboard is not None:
            changes.append(Copy(STDOUT, STDIN))
        return (*changes, *stderr_changes("merge" if stderr == "separate" else stderr, self._env))

    def release(self) -> dict[int, Stream]:
        """Return the open streams. They belong to the caller from now on."""
        released, self.streams = self.streams, {}
        return released

    def close_lent(self) -> None:
        """Close the command's ends. While they are open here, the streams never end."""
        for descriptor in self._lent:
            os.close(descriptor)
        self._lent.clear()

    def close_stream(self, descriptor: int) -> None:
        del self.streams[descriptor]
        if self.terminal:
            self.terminal.give_up()
        os.close(descriptor)

    def close(self) -> None:
        """Close all streams that are open."""
        if self.terminal:
            self.terminal.give_up()
            self.terminal.close_slave()
        for descriptor in self.streams:
            os.close(descriptor)
        self.streams.clear()


def stderr_changes(stderr: StderrMode, env: Environment) -> tuple[Open | Copy, ...]:
    """Return where stderr goes if it has no pipe of its own."""
    if stderr == "merge":
        return (Copy(STDOUT, STDERR),)
    if stderr == "drop":
        return (Open(os.devnull, os.O_WRONLY, STDERR),)
    if stderr == "pass" and env.stderr != STDERR:
        return (Copy(env.stderr, STDERR),)
    return ()
