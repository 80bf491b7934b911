"""Where the lines of a payload begin, in little memory: line ends are counted, and looked for where asked.

If lines are longer than a window can use, they are divided into pieces.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Protocol

    class Readable(Protocol):
        """Bytes that can be read at any position."""

        @property
        def size(self) -> int: ...
        def read(self, start: int, stop: int) -> bytes: ...


BLOCK_BYTES = 1 << 16


class LineMap:
    """The lines of a payload from one byte on, numbered from 0."""

    def __init__(
        self, payload: Readable, start: int, count: int = 0, begins: Mapping[int, int] | None = None
    ) -> None:
        """`begins` has the first line, and others with the bytes where they begin, in order.

        If a survey has found them, `count` is the number of lines; else the lines are counted.
        """
        self._payload = payload
        self._start = start
        # Where blocks begin, and how many lines end before each.
        if begins is None:
            counts = [block.count(b"\n") for block in blocks_of(payload, start, payload.size)]
            self._ended = list(accumulate(counts, initial=0))
            self._begins = [*range(start, payload.size, BLOCK_BYTES), payload.size]
            is_unfinished = payload.size > start and payload.read(payload.size - 1, payload.size) != b"\n"
            count = self._ended[-1] + is_unfinished
            begins = {0: start}
        else:
            self._ended, self._begins = list(begins), [*begins.values(), payload.size]
        self.count = count
        self._known = {**begins, count: payload.size}
        # The block that was used last, and where its lines end.
        self._block, self._ends = -1, [0]

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
        found, place = [self._start], self._start
        for block in blocks_of(self._payload, self._start, self._payload.size):
            found += line_ends(block, place)
            place += len(block)
        return found if found[-1] == self._payload.size else [*found, self._payload.size]

    def _find(self, line: int) -> int:
        # The first block in which this many lines have ended.
        number = bisect_left(self._ended, line) - 1
        if number != self._block:
            begin = self._begins[number]
            block = self._payload.read(begin, self._begins[number + 1])
            self._block, self._ends = number, list(line_ends(block, begin))
        return self._ends[line - self._ended[number] - 1]


class PieceMap:
    """Lines that are divided into pieces, numbered from 0."""

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


def line_ends(block: bytes, place: int) -> Iterator[int]:
    """Yield the bytes after the line ends of a block that begins at `place`."""
    # Each part has a line end after it, except for the last one.
    for part in block.split(b"\n")[:-1]:
        place += len(part) + 1
        yield place


def blocks_of(payload: Readable, start: int, stop: int) -> Iterator[bytes]:
    """Yield the bytes between two positions of a payload, block by block."""
    for place in range(start, stop, BLOCK_BYTES):
        yield payload.read(place, min(place + BLOCK_BYTES, stop))
