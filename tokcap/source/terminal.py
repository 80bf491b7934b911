"""The pseudo-terminal that `--pty` gives a command, and the caller's keyboard, which is lent to it.

The keyboard is connected if tokcap's stdin and stdout are a terminal and tokcap is in its foreground.
Otherwise the command keeps the stdin that it would have without tokcap, and the terminal takes only its
output.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from tty import setraw

from tokcap.lean.record import TYPE_CHECKING
from tokcap.source.forwarding import in_foreground
from tokcap.source.process import send_signal

if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping
    from typing import Any

    from tokcap.environment import Environment
    from tokcap.source.process import Process
else:
    # See `launch`.
    import _signal as signal

KEYS_BYTES = 1 << 10
DEFAULT_ROWS, DEFAULT_COLUMNS = 24, 80

# Positions in the result of `tcgetattr`.
OUTPUT_FLAGS, LOCAL_FLAGS, CHARACTERS = 1, 3, 6


class Terminal:
    """Both ends of a pseudo-terminal. The command opens the slave by its path."""

    def __init__(self, env: Environment) -> None:
        self.master, self.slave = os.openpty()
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self.slave)
        self._size_from = next((fd for fd in (env.stdout, env.stderr, env.stdin) if os.isatty(fd)), None)
        self._typed = bytearray()
        self._attributes_before: list[Any] | None = None
        interactive = os.isatty(env.stdin) and os.isatty(env.stdout)
        self.keyboard = env.stdin if interactive else None
        self._set_size(size_of(self._size_from, env.variables))
        if self.keyboard is not None:
            termios.tcsetattr(self.slave, termios.TCSANOW, termios.tcgetattr(self.keyboard))
        else:
            # The output does not go to a terminal, so its line ends must stay newlines.
            attributes = termios.tcgetattr(self.slave)
            attributes[OUTPUT_FLAGS] &= ~termios.ONLCR
            termios.tcsetattr(self.slave, termios.TCSANOW, attributes)

    @property
    def is_lent(self) -> bool:
        """Whether keys go to the command's terminal."""
        return self._attributes_before is not None

    def lend(self) -> None:
        """Send every key to the command's terminal, which handles keys such as Ctrl-C itself."""
        if self.keyboard is None or self.is_lent or self.master < 0 or not may_read(self.keyboard):
            return
        try:
            self._attributes_before = termios.tcgetattr(self.keyboard)
            setraw(self.keyboard, termios.TCSADRAIN)
        except termios.error:
            self._attributes_before = None

    def take_back(self) -> None:
        """Restore the caller's terminal."""
        if self.keyboard is None or self._attributes_before is None:
            return
        before, self._attributes_before = self._attributes_before, None
        try:
            termios.tcsetattr(self.keyboard, termios.TCSADRAIN, before)
        except termios.error:
            # The terminal is gone.
            pass

    def lose_keyboard(self) -> None:
        """Stop reading keys: the keyboard is at its end."""
        self.take_back()
        self.keyboard = None

    def close_slave(self) -> None:
        """Close the command's end, after the command has ended.

        Many commands close their output before they exit. If the slave were not open here, the terminal would
        be at its end then, and closing the master would kill the command.
        """
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def give_up(self) -> None:
        """Restore the caller's terminal, before the master is closed."""
        self.master = -1
        self.take_back()

    def resize(self) -> None:
        """Copy the size of the caller's terminal. The kernel notifies the command."""
        if self._size_from is not None:
            self._set_size(size_of(self._size_from, {}))

    def _set_size(self, size: tuple[int, int]) -> None:
        try:
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        except (OSError, ValueError):
            # The master was closed just now; then its number may be -1.
            pass

    def read_keys(self, process: Process) -> bool:
        """Take what was typed. Return False at the end of the input."""
        assert self.keyboard is not None
        try:
            keys = os.read(self.keyboard, KEYS_BYTES)
        except OSError:
            keys = b""
        if keys and keys == self._suspend_key(process):
            # No shell controls the command's terminal, so tokcap stops the command itself.
            send_signal(os.getpid(), signal.SIGTSTP)
        else:
            self._typed += keys
        return bool(keys)

    def _suspend_key(self, process: Process) -> bytes:
        """Return the key that stops the command; none if the command handles keys or jobs itself."""
        attributes = termios.tcgetattr(self.master)
        if not attributes[LOCAL_FLAGS] & termios.ISIG or os.tcgetpgrp(self.master) != process.pid:
            return b""
        key = attributes[CHARACTERS][termios.VSUSP]
        return key if isinstance(key, bytes) else b""

    @property
    def has_keys(self) -> bool:
        """Whether there are keys that the command has not accepted yet."""
        return bool(self._typed)

    def write_keys(self) -> None:
        """Pass on as many keys as the command's terminal accepts now."""
        try:
            del self._typed[: os.write(self.master, self._typed)]
        except BlockingIOError:
            pass
        except OSError:
            self._typed.clear()


def size_of(terminal: int | None, variables: Mapping[str, str]) -> tuple[int, int]:
    """Return rows and columns: of the terminal, else from the variables, else the default."""
    if terminal is not None:
        try:
            rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
            if rows and columns:
                return rows, columns
        except OSError:
            pass
    return (
        number_or(variables.get("LINES"), DEFAULT_ROWS),
        number_or(variables.get("COLUMNS"), DEFAULT_COLUMNS),
    )


def number_or(text: str | None, default: int) -> int:
    """Return a number from 1 to 9999, or the default."""
    if text and text.isascii() and text.isdigit() and len(text) < 5:
        return int(text) or default
    return default


def may_read(keyboard: int) -> bool:
    """Return whether tokcap may read a terminal: from the foreground, or if it is not the controlling one."""
    try:
        os.tcgetpgrp(keyboard)
    except OSError:
        # Only the controlling terminal stops a background process that reads it.
        return True
    return in_foreground()
