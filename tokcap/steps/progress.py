"""Show a progress line on the terminal during a long run, and erase it before any other output.

Nothing is drawn if stderr is not a terminal, or while the terminal does not echo: then the command is
asking for a password.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.environment import Environment

FIRST_DRAW_SECONDS = 2.0
REDRAW_SECONDS = 0.5
CLEAR_LINE = b"\r\x1b[K"
# Rough; the line says "about".
BYTES_PER_TOKEN = 4

# Position of the local flags in the result of `tcgetattr`.
LOCAL_FLAGS = 3


class ProgressLine:
    """A line that a thread redraws until `erase` is called."""

    def __init__(self, env: Environment, size_bytes: Callable[[], int]) -> None:
        from tokcap.system.threads import start_fork_safe_thread

        self._env = env
        self._size_bytes = size_bytes
        self._started = time.monotonic()
        self._drawing = allocate_lock()
        # Locked until `erase`, so that the thread can wait for it with a timeout.
        self._erased = allocate_lock()
        self._erased.acquire()
        self._is_drawn = self._is_over = False
        start_fork_safe_thread(self._draw)

    def _draw(self) -> None:
        wait = FIRST_DRAW_SECONDS
        while not self._erased.acquire(timeout=wait):
            wait = REDRAW_SECONDS
            with self._drawing:
                if self._is_over:
                    return
                if echoes(self._env.stderr):
                    self._env.write_stderr(CLEAR_LINE + self._line().encode())
                    self._is_drawn = True

    def _line(self) -> str:
        seconds, size_bytes = int(time.monotonic() - self._started), self._size_bytes()
        tokens = f", about {size_bytes // BYTES_PER_TOKEN} tokens" if size_bytes else ""
        return f"tokcap: {seconds} s, {size_bytes} bytes{tokens}"

    def erase(self) -> None:
        """Erase the line and stop drawing it."""
        if self._is_over:
            return
        with self._drawing:
            self._is_over = True
            if self._is_drawn:
                self._env.write_stderr(CLEAR_LINE)
        self._erased.release()


class TerminalProgress:
    """Writes to both streams of a call, and erases the progress line before the first write."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._line: ProgressLine | None = None

    def start(self, size_bytes: Callable[[], int]) -> None:
        """Start the progress line if there is a terminal. `size_bytes` returns the bytes so far."""
        if can_draw(self._env):
            self._line = ProgressLine(self._env, size_bytes)

    def write_stdout(self, data: bytes) -> None:
        self.close()
        self._env.write_stdout(data)

    def write_stderr(self, data: bytes) -> None:
        self.close()
        self._env.write_stderr(data)

    def close(self) -> None:
        """Erase the progress line."""
        if self._line is not None:
            self._line.erase()
            self._line = None


def can_draw(env: Environment) -> bool:
    """Return whether stderr is a terminal of this program that can erase a line."""
    return (
        env.is_program
        and env.stderr not in env.closed
        and os.isatty(env.stderr)
        and env.variables.get("TERM") != "dumb"
    )


def echoes(descriptor: int) -> bool:
    """Return whether a terminal shows what is typed. Programs turn that off to read a password."""
    import termios

    try:
        return bool(termios.tcgetattr(descriptor)[LOCAL_FLAGS] & termios.ECHO)
    except termios.error:
        return False
