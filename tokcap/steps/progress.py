"""A line at the bottom of the terminal during a long run, which is erased before any other output.

Nothing is drawn while the terminal does not echo: then a program is asking for a password.
"""

from __future__ import annotations

import time

from tokcap.core.units import size_of
from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import columns_of

if TYPE_CHECKING:
    from tokcap.core.payload import Spool
    from tokcap.environment import Environment

# Position of the local flags in the result of `tcgetattr`.
LOCAL_FLAGS = 3


class ProgressLine:
    """How long the command runs, and how much it has written. A thread draws it until it is erased."""

    first_draw_seconds = 2.0
    redraw_seconds = 0.5

    def __init__(self, env: Environment, spool: Spool) -> None:
        self._env = env
        self._spool = spool
        self._started = time.monotonic()
        self._drawing = thread.allocate_lock()
        # Locked until `erase`, so that the thread can wait for it with a timeout.
        self._erased = thread.allocate_lock()
        self._erased.acquire()
        # Number of characters that are on the screen.
        self._drawn = 0
        self._is_over = False
        from tokcap.system.threads import Worker

        try:
            Worker(self._draw)
        except RuntimeError:
            # Too many processes or too little memory: the answer matters more than the line.
            pass

    def _line(self, columns: int) -> str:
        """Return the longest wording that leaves the last column free: there the cursor would wrap."""
        seconds, size_bytes = int(time.monotonic() - self._started), self._spool.size + self._spool.lost
        wordings = (
            f"tokcap: {seconds} s, {size_bytes:,} bytes",
            f"{seconds} s, {size_of(size_bytes)}",
            f"{seconds} s",
        )
        return next((words for words in wordings if len(words) < columns), "")

    def _draw(self) -> None:
        wait = self.first_draw_seconds
        while not self._erased.acquire(timeout=wait):
            wait = self.redraw_seconds
            with self._drawing:
                if self._is_over:
                    return
                if echoes(self._env.stderr):
                    columns = columns_of(self._env.stderr)
                    line = self._line(columns)
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


class TerminalProgress:
    """Writes to both streams of a call, and erases the progress line before the first write."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._line: ProgressLine | None = None
        # What was passed on to stdout before the answer.
        self._shown = bytearray()

    def start(self, spool: Spool) -> None:
        """Start the progress line if the terminal can erase one."""
        if self._env.variables.get("TERM") != "dumb":
            self._line = ProgressLine(self._env, spool)

    def write_stdout(self, data: bytes) -> None:
        if not data:
            return
        self.erase()
        self._shown += data
        self._env.write_stdout(data)

    def write_stderr(self, data: bytes) -> None:
        if not data:
            return
        self.erase()
        self._env.write_stderr(data)

    def erase(self) -> None:
        """Erase the progress line."""
        if self._line is not None:
            self._line.erase()
            self._line = None

    def end(self) -> None:
        """Erase the progress line before the answer, which undoes what it leaves open."""
        self.erase()
        self._shown.clear()

    def close(self) -> None:
        """Erase the progress line. If no answer came, undo what was left open in the terminal."""
        self.erase()
        if b"\x1b" in self._shown and self._env.is_terminal(self._env.stdout):
            from tokcap.filters.terminal_modes import resets_after

            self._env.write_stdout(b"".join(resets_after(bytes(self._shown))))


def clear_line(drawn: int, columns: int) -> bytes:
    """Return what erases a line of this many characters, even if the terminal has become narrower since."""
    # Terminals wrap a line again when they become narrower, and the cursor stays at its end.
    rows_above = max(drawn - 1, 0) // columns
    return b"\r" + (b"\x1b[%dA\x1b[J" % rows_above if rows_above else b"\x1b[K")


def echoes(descriptor: int) -> bool:
    """Return whether a terminal shows what is typed. Programs turn that off to read a password."""
    import termios

    try:
        return bool(termios.tcgetattr(descriptor)[LOCAL_FLAGS] & termios.ECHO)
    except termios.error:
        return False
