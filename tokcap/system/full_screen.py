"""A program that fills a terminal: draw lines in place, wait for a key, and leave everything as it was.

Keys are read without Return and are not shown. Whatever ends the program, the terminal is restored.
"""

from __future__ import annotations

import os
import signal
import termios
from tty import setcbreak

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.descriptors import wait_for_any, write_all

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

# A second screen, so that what was there before is back at the end; and no cursor.
ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"
HOME, REST_OF_LINE, REST_OF_SCREEN = b"\x1b[H", b"\x1b[K", b"\x1b[J"
DEFAULT_SIZE = (24, 80)
# Signals that end the program after the terminal is restored.
ENDING = (signal.SIGTERM, signal.SIGHUP)


class FullScreen:
    """A terminal as one page. Use it in a `with` block."""

    def __init__(self, keyboard: int, terminal: int) -> None:
        self._keyboard: int | None = keyboard if os.isatty(keyboard) else None
        self._terminal = terminal
        self._attributes_before: list[object] | None = None
        self._handlers: dict[int, object] = {}
        self._caught: list[int] = []

    def __enter__(self) -> Self:
        # A signal writes a byte into this pipe, so that waiting ends.
        self._wake, self._woken_by = os.pipe()
        for descriptor in (self._wake, self._woken_by):
            os.set_blocking(descriptor, False)
        self._wakeup_before = signal.set_wakeup_fd(self._woken_by, warn_on_full_buffer=False)
        for number in (*ENDING, signal.SIGINT, signal.SIGTSTP, signal.SIGWINCH):
            self._handlers[number] = signal.signal(number, self._catch)
        self._begin()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._restore()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what `signal.signal` has returned
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._wake)
        os.close(self._woken_by)
        for number in self._caught:
            if number in ENDING:
                os.kill(os.getpid(), number)

    def size(self) -> tuple[int, int]:
        """Return rows and columns."""
        try:
            found = os.get_terminal_size(self._terminal)
        except OSError:
            return DEFAULT_SIZE
        return (found.lines or DEFAULT_SIZE[0], found.columns or DEFAULT_SIZE[1])

    def draw(self, lines: list[str]) -> None:
        """Replace what is on the screen. The lines must fit."""
        drawn = [line.encode("utf-8", "replace") + REST_OF_LINE for line in lines]
        write_all(self._terminal, HOME + b"\r\n".join(drawn) + REST_OF_SCREEN)

    def wait(self, seconds: float) -> bytes:
        """Wait for a key, at most so long. Return it; `Ctrl-C` for an interrupt or the end; else nothing."""
        watched = [self._wake, *([] if self._keyboard is None else [self._keyboard])]
        ready = wait_for_any(watched, seconds)
        if self._wake in ready:
            os.read(self._wake, 1000)
        if any(number in (*ENDING, signal.SIGINT) for number in self._caught):
            return b"\x03"
        if signal.SIGTSTP in self._caught:
            self._caught.remove(signal.SIGTSTP)
            self._stop()
        if self._keyboard in ready and self._keyboard is not None:
            try:
                keys = os.read(self._keyboard, 100)
            except OSError:
                keys = b""
            # At the end of the input there is nobody any more.
            return keys[:1] or b"\x03"
        return b""

    def _catch(self, number: int, _frame: FrameType | None) -> None:
        if number not in self._caught and number != signal.SIGWINCH:
            self._caught.append(number)

    def _begin(self) -> None:
        if self._keyboard is not None:
            self._attributes_before = termios.tcgetattr(self._keyboard)
            setcbreak(self._keyboard)
        write_all(self._terminal, ENTER)

    def _restore(self) -> None:
        try:
            write_all(self._terminal, LEAVE)
            if self._keyboard is not None and self._attributes_before is not None:
                termios.tcsetattr(self._keyboard, termios.TCSADRAIN, self._attributes_before)  # type: ignore[arg-type]  # what `tcgetattr` has returned
        except (OSError, termios.error):
            # The terminal is gone.
            pass

    def _stop(self) -> None:
        """Stop this process, as Ctrl-Z does, with the terminal restored meanwhile."""
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._begin()
