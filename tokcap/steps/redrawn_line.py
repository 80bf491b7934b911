"""A line at the bottom of the terminal that a thread redraws until it is erased.

Nothing is drawn while the terminal does not echo: then a program is asking for a password.
"""

from __future__ import annotations

import time
from _thread import allocate_lock

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.screen import columns_of

if TYPE_CHECKING:
    from tokcap.environment import Environment

# Position of the local flags in the result of `tcgetattr`.
LOCAL_FLAGS = 3


class RedrawnLine:
    """Draws what `line` returns on stderr. A subclass calls `start` when it is ready to be drawn."""

    first_draw_seconds: float
    redraw_seconds: float

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._started = time.monotonic()
        self._drawing = allocate_lock()
        # Locked until `erase`, so that the thread can wait for it with a timeout.
        self._erased = allocate_lock()
        self._erased.acquire()
        # Number of characters that are on the screen.
        self._drawn = 0
        self._is_over = False

    def line(self, columns: int) -> str:
        """Return the line. It must leave the last column free: there the cursor would wrap."""
        raise NotImplementedError

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self._started)

    def start(self) -> None:
        """Start the thread that draws."""
        from tokcap.system.threads import start_fork_safe_thread

        try:
            start_fork_safe_thread(self._draw)
        except RuntimeError:
            # Too many processes or too little memory: the answer matters more than the line.
            pass

    def _draw(self) -> None:
        wait = self.first_draw_seconds
        while not self._erased.acquire(timeout=wait):
            wait = self.redraw_seconds
            with self._drawing:
                if self._is_over:
                    return
                if echoes(self._env.stderr):
                    columns = columns_of(self._env.stderr)
                    line = self.line(columns)
                    self._env.write_stderr(clear_line(self._drawn, columns) + line.encode())
                    self._drawn = len(line)

    def erase(self) -> None:
        """Erase the line and stop drawing it."""
        if self._is_over:
            return
        with self._drawing:
            self._is_over = True
            if self._drawn:
                self._env.write_stderr(clear_line(self._drawn, columns_of(self._env.stderr)))
        self._erased.release()


def clear_line(drawn: int, columns: int) -> bytes:
    """Return what erases a line of this many characters, even if the terminal has become narrower since."""
    # Terminals wrap a line again when they become narrower, and the cursor stays at its end.
    rows_above = max(drawn - 1, 0) // columns
    return b"\r" + (b"\x1b[%dA\x1b[J" % rows_above if rows_above else b"\x1b[K")


def can_draw(env: Environment) -> bool:
    """Return whether stderr is a terminal of this program that can erase a line."""
    return env.is_terminal(env.stderr) and env.variables.get("TERM") != "dumb"


def echoes(descriptor: int) -> bool:
    """Return whether a terminal shows what is typed. Programs turn that off to read a password."""
    import termios

    try:
        return bool(termios.tcgetattr(descriptor)[LOCAL_FLAGS] & termios.ECHO)
    except termios.error:
        return False
