"""A progress bar on the terminal while files are counted, by this process and by those that it starts."""

from __future__ import annotations

import os

from tokcap.core.units import size_of
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.redrawn_line import RedrawnLine, can_draw

if TYPE_CHECKING:
    from tokcap.environment import Environment

LEAST_BAR, MOST_BAR = 8, 40

# Each process adds to its own number in one shared page.
NUMBER_BYTES = 8
NUMBERS = 4096 // NUMBER_BYTES


class CountingBar(RedrawnLine):
    """Bytes counted so far, of all bytes."""

    first_draw_seconds = 1.0
    redraw_seconds = 0.2

    def __init__(self, env: Environment, size_bytes: int) -> None:
        import mmap

        super().__init__(env)
        self._size_bytes = size_bytes
        self._page = mmap.mmap(-1, NUMBERS * NUMBER_BYTES)
        self._numbers = memoryview(self._page).cast("Q")
        self.start()

    def seen(self, size_bytes: int) -> None:
        """Note that this process has read some bytes."""
        self._numbers[os.getpid() % NUMBERS] += size_bytes

    def line(self, columns: int) -> str:
        """Return the bar with its numbers."""
        done = sum(self._numbers)
        if not self._size_bytes:
            return f"{self.seconds} s, {size_of(done)}"[: columns - 1]
        share = min(done / self._size_bytes, 1.0)
        numbers = f"{share:4.0%} of {size_of(self._size_bytes)}, {self.seconds} s"
        room = min(columns - 1 - len(numbers) - len("[] "), MOST_BAR)
        if room < LEAST_BAR:
            return numbers[: columns - 1]
        return f"[{'#' * int(share * room):<{room}}] {numbers}"


def counting_bar(env: Environment, size_bytes: int) -> CountingBar | None:
    """Return a bar if stderr is a terminal that can draw it, else None."""
    return CountingBar(env, size_bytes) if can_draw(env) else None
