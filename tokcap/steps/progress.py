"""Progress for people: a line on the terminal while a long run shows nothing, gone before anything else is.

Never where stderr is no terminal. A command that asks for a password does so on the same terminal, with
its echo off: then the line keeps quiet.
"""

from __future__ import annotations

import _thread
import os
import time

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.environment import Environment

PATIENCE_SECONDS = 2.0
TICK_SECONDS = 0.5
CLEAR_LINE = b"\r\x1b[K"
# A rough rule, and said to be one.
BYTES_PER_TOKEN = 4


def open_progress(env: Environment, size: Callable[[], int]) -> Progress | None:
    """A line that tells how much has come, if there is somebody to read it."""
    if (
        not env.is_program
        or env.stderr in env.closed
        or not os.isatty(env.stderr)
        or env.variables.get("TERM") == "dumb"
    ):
        return None
    return Progress(env, size)


class Progress:
    """Drawn by a thread of its own. `clear` takes the line away before something else is written."""

    def __init__(self, env: Environment, size: Callable[[], int]) -> None:
        self._env = env
        self._size = size
        self._started = time.monotonic()
        self._drawing = _thread.allocate_lock()
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        self._is_shown = self._is_over = False
        _thread.start_new_thread(self._draw, ())

    def _draw(self) -> None:
        wait = PATIENCE_SECONDS
        while not self._ended.acquire(timeout=wait):
            wait = TICK_SECONDS
            with self._drawing:
                if self._is_over:
                    return
                if echoes(self._env.stderr):
                    self._env.write_stderr(CLEAR_LINE + self._line().encode())
                    self._is_shown = True

    def _line(self) -> str:
        seconds, size = int(time.monotonic() - self._started), self._size()
        tokens = f", about {size // BYTES_PER_TOKEN} tokens" if size else ""
        return f"tokcap: {seconds} s, {size} bytes{tokens}"

    def clear(self) -> None:
        """Something is shown from here on: the line goes, and does not come back."""
        if self._is_over:
            return
        with self._drawing:
            self._is_over = True
            if self._is_shown:
                self._env.write_stderr(CLEAR_LINE)
        self._ended.release()


class Curtain:
    """Writes to both streams of a call; the line, once there is one, goes before anything else is shown."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._progress: Progress | None = None

    def raise_over(self, size: Callable[[], int]) -> None:
        """From here on somebody may be waiting."""
        self._progress = open_progress(self._env, size)

    def write_stdout(self, data: bytes) -> None:
        self.close()
        self._env.write_stdout(data)

    def write_stderr(self, data: bytes) -> None:
        self.close()
        self._env.write_stderr(data)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.clear()
            self._progress = None


def echoes(descriptor: int) -> bool:
    """Whether a terminal shows what is typed. Who turns that off is asking for something."""
    import termios

    try:
        return bool(termios.tcgetattr(descriptor)[3] & termios.ECHO)
    except termios.error:
        return False
