"""The pseudo-terminal that `--pty` gives a command, and the caller's own, lent to it meanwhile.

The caller's keyboard is connected if tokcap's stdin and stdout are a terminal in whose foreground it is;
else the command keeps the stdin that it would have had, and the terminal is for its output only.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from tty import setraw

from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.process import send
from tokcap.source.signals import in_foreground

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import Any

    from tokcap.environment import Environment
    from tokcap.source.process import Process
else:
    # See `process`.
    import _signal as signal

KEYS_BYTES = 1 << 10
DEFAULT_ROWS, DEFAULT_COLUMNS = 24, 80

# Positions in what `tcgetattr` returns.
OUTPUT_FLAGS, LOCAL_FLAGS, CHARACTERS = 1, 3, 6


class Terminal:
    """Both ends of a pseudo-terminal; the command opens the other one by its path."""

    def __init__(self, env: Environment) -> None:
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self.slave)
        self._looked_at = next((fd for fd in (env.stdout, env.stderr, env.stdin) if os.isatty(fd)), None)
        self._typed = bytearray()
        self._before: list[Any] | None = None
        interactive = os.isatty(env.stdin) and os.isatty(env.stdout)
        self.keyboard = env.stdin if interactive else None
        self._set_size(size_of(self._looked_at, env.variables))
        if self.keyboard is not None:
            termios.tcsetattr(self.slave, termios.TCSANOW, termios.tcgetattr(self.keyboard))
        else:
            # Whoever reads the output is no terminal: it gets the line ends that it would have got.
            attributes = termios.tcgetattr(self.slave)
            attributes[OUTPUT_FLAGS] &= ~termios.ONLCR
            termios.tcsetattr(self.slave, termios.TCSANOW, attributes)

    @property
    def lent(self) -> bool:
        return self._before is not None

    def lend(self) -> None:
        """Let every key reach the command's terminal, which knows what Ctrl-C means there."""
        if self.keyboard is None or self.lent or self.master < 0 or not in_foreground():
            return
        try:
            self._before = termios.tcgetattr(self.keyboard)
            setraw(self.keyboard, termios.TCSADRAIN)
        except termios.error:
            self._before = None

    def take_back(self) -> None:
        """The caller's terminal as it was."""
        if self.keyboard is None or self._before is None:
            return
        before, self._before = self._before, None
        try:
            termios.tcsetattr(self.keyboard, termios.TCSADRAIN, before)
        except termios.error:
            # It has gone.
            pass

    def lose_keyboard(self) -> None:
        """Nobody will type any more."""
        self.take_back()
        self.keyboard = None

    def let_go(self) -> None:
        """Hold the command's end no longer.

        Until it has ended we do: a command that closes its output before it exits, as many do, would
        leave nobody there. The terminal would then be gone for us, and closing ours would kill it.
        """
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def give_up(self) -> None:
        """The pseudo-terminal is about to be closed."""
        self.master = -1
        self.take_back()

    def resize(self) -> None:
        """The caller's terminal has another size; the kernel tells the command."""
        if self._looked_at is not None:
            self._set_size(size_of(self._looked_at, {}))

    def _set_size(self, size: tuple[int, int]) -> None:
        try:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        except OSError:
            # It was closed this very moment.
            pass

    def read_keys(self, process: Process) -> bool:
        """Take what was typed; False at the end of it."""
        assert self.keyboard is not None
        try:
            keys = os.read(self.keyboard, KEYS_BYTES)
        except OSError:
            keys = b""
        if keys and keys == self._suspend_key(process):
            # There is no shell behind the command's terminal that could stop it: tokcap does.
            send(os.getpid(), signal.SIGTSTP)
        else:
            self._typed += keys
        return bool(keys)

    def _suspend_key(self, process: Process) -> bytes:
        """The key that would stop the command, unless it does without such keys or has jobs of its own."""
        attributes = termios.tcgetattr(self.master)
        if not attributes[LOCAL_FLAGS] & termios.ISIG or os.tcgetpgrp(self.master) != process.pid:
            return b""
        key = attributes[CHARACTERS][termios.VSUSP]
        return key if isinstance(key, bytes) else b""

    @property
    def has_keys(self) -> bool:
        """Whether something was typed that the command has not taken yet."""
        return bool(self._typed)

    def write_keys(self) -> None:
        """Hand on as much as the command's terminal takes at once."""
        try:
            del self._typed[: os.write(self.master, self._typed)]
        except BlockingIOError:
            pass
        except OSError:
            self._typed.clear()


def size_of(terminal: int | None, variables: Mapping[str, str]) -> tuple[int, int]:
    """Rows and columns: those of a terminal, else what the variables say, else the usual ones."""
    if terminal is not None:
        try:
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
            if rows and columns:
                return rows, columns
        except OSError:
            pass
    return said(variables.get("LINES"), DEFAULT_ROWS), said(variables.get("COLUMNS"), DEFAULT_COLUMNS)


def said(number: str | None, default: int) -> int:
    fits = number and number.isascii() and number.isdigit() and len(number) < 5
    return int(number) if number and fits and int(number) else default
