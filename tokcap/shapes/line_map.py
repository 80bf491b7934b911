"""Where the lines of a payload begin, in little memory: line ends are counted, and looked for where asked.

If lines are longer than a window can use, they are divided into pieces.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    class Readable(Protocol):
        """Bytes that can be read at any position."""

        @property
        def size(self) -> int: ...
        def read(self, start: int, stop: int) -> bytes: ...


BLOCK_BYTES = 1 << 20
# Line ends are counted for stretches of this size.
STRETCH_BYTES = 1 << 16


class LineMap:
    """The lines of a payload from one byte on, numbered from 0."""

    # Every unit is a line.
    are_lines = True

    def __init__(self, payload: Readable, start: int) -> None:
        self._payload = payload
        self._start = start
        # How many lines end before each stretch.
        counts: list[int] = []
        counted = counter_of(payload.size - start)
        for place in range(start, payload.size, BLOCK_BYTES):
            counts += counted(payload.read(place, min(place + BLOCK_BYTES, payload.size)), STRETCH_BYTES)
        self._ended = list(accumulate(counts, initial=0))
        is_unfinished = payload.size > start and payload.read(payload.size - 1, payload.size) != b"\n"
        self.count = self._ended[-1] + is_unfinished
        # The stretch that was used last, and where its lines end.
        self._stretch, self._ends = -1, [0]
        self._known: dict[int, int] = {0: start, self.count: payload.size}

    def byte_of(self, line: int) -> int:
        """Return where a line begins; the end of the payload for the line after the last one."""
        byte = self._known.get(line)
        if byte is None:
            byte = self._known[line] = self._find(line)
        return byte

    def line_of(self, unit: int) -> tuple[int, bool]:
        """Return the line of a unit, and whether the unit begins there: each is a line here."""
        return unit, True

    def starts(self) -> Sequence[int]:
        """Return where every line begins, and the end of the payload. For few lines only."""
        found = [self._start]
        for place in range(self._start, self._payload.size, BLOCK_BYTES):
            block = self._payload.read(place, min(place + BLOCK_BYTES, self._payload.size))
            ends = accumulate((len(part) + 1 for part in block.split(b"\n")[:-1]), initial=place)
            next(ends)
            found += ends
        if found[-1] != self._payload.size:
            found.append(self._payload.size)
        return found

    def _find(self, line: int) -> int:
        # The first stretch in which this many lines have ended.
        low, high = 0, len(self._ended) - 1
        while low + 1 < high:
            middle = (low + high) // 2
            if self._ended[middle] < line:
                low = middle
            else:
                high = middle
        if low != self._stretch:
            begin = self._start + low * STRETCH_BYTES
            data = self._payload.read(begin, min(begin + STRETCH_BYTES, self._payload.size))
            # Each part and the line end after it; the last part has none.
            lengths = [len(part) + 1 for part in data.split(b"\n")[:-1]]
            self._stretch, self._ends = low, list(accumulate(lengths, initial=begin))
        return self._ends[line - self._ended[low]]


class PieceMap:
    """Lines that are divided into pieces, numbered from 0."""

    are_lines = False

    def __init__(self, lines: LineMap, piece_bytes: int, cut_at: Callable[[int], int]) -> None:
        """`cut_at` returns a position at or before a byte where the text can be cut."""
        self._starts: list[int] = []
        self._lines: list[tuple[int, bool]] = []
        for line, (begin, end) in enumerate(pairwise(lines.starts())):
            self._add(begin, line, is_start=True)
            while end - self._starts[-1] > 2 * piece_bytes:
                place = cut_at(self._starts[-1] + piece_bytes)
                if place <= self._starts[-1]:
                    break
                self._add(place, line, is_start=False)
        self.count = len(self._starts)
        self._add(lines.byte_of(lines.count), lines.count, is_start=True)

    def _add(self, byte: int, line: int, *, is_start: bool) -> None:
        self._starts.append(byte)
        self._lines.append((line, is_start))

    def byte_of(self, unit: int) -> int:
        return self._starts[unit]

    def line_of(self, unit: int) -> tuple[int, bool]:
        return self._lines[unit]

    def starts(self) -> Sequence[int]:
        return self._starts


def counter_of(size: int) -> Callable[[bytes, int], list[int]]:
    """Return a function that counts the line ends in each stretch of a block: compiled for a large text."""
    if size > BLOCK_BYTES:
        from tokcap.findings.compiled import compiled_code

        code = compiled_code()
        if code:
            compiled: Callable[[bytes, int], list[int]] = code.line_ends
            return compiled
    return stretch_counts


def stretch_counts(block: bytes, stretch_bytes: int) -> list[int]:
    """Return how many lines end in each stretch of a block."""
    return [
        block.count(b"\n", inside, inside + stretch_bytes) for inside in range(0, len(block), stretch_bytes)
    ]


def line_ends(payload: Readable, start: int, stop: int) -> int:
    """Return how many lines end between two bytes of a payload."""
    return sum(
        payload.read(place, min(place + BLOCK_BYTES, stop)).count(b"\n")
        for place in range(start, stop, BLOCK_BYTES)
    )
