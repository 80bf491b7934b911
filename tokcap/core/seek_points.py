"""Seek points: byte positions in a structured payload where reading can start, with the state to start from.

Code that walks over a long payload records them, so that a later window need not start at the beginning. Only
the shape that wrote a state understands it. Here each state gets a checksum: a damaged state, or one of
another shape or payload, is never used.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, Self

    class Sliced(Protocol):
        """Bytes that are read by slicing."""

        def __len__(self) -> int: ...
        def __getitem__(self, part: slice, /) -> bytes: ...


MAGIC = b"tokcap seek-points 1\n"
# Distance between two seek points.
STRIDE_BYTES = 1 << 18
# Increase it when older states would be misread.
STATE_VERSION = 1
# The checksum covers this many payload bytes on each side of a seek point.
CHECKED_BYTES = 64


class SeekPoints:
    """The seek points of one payload read as one shape: byte positions in order, each with its state."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.states: list[bytes] = []
        # Whether they differ from those in the store.
        self.changed = False

    def before(self, byte: int) -> tuple[int, bytes] | None:
        """Return the last seek point at or before a byte."""
        place = bisect_right(self.bytes, byte) - 1
        return None if place < 0 else (self.bytes[place], self.states[place])

    def add(self, byte: int, state: bytes) -> None:
        """Add a seek point. If there is one at this byte already, keep it: both are equal."""
        place = bisect_left(self.bytes, byte)
        if self.bytes[place : place + 1] != [byte]:
            self.bytes.insert(place, byte)
            self.states.insert(place, state)
            self.changed = True

    def clear(self) -> None:
        """Remove all: they belong to another payload or shape."""
        self.bytes.clear()
        self.states.clear()
        self.changed = True

    @property
    def last_byte(self) -> int:
        """The position of the last seek point; 0 if there is none."""
        return self.bytes[-1] if self.bytes else 0

    def packed(self) -> bytes:
        """Return the content of their file: one line for each, with position and state."""
        return MAGIC + b"".join(b"%d %s\n" % pair for pair in zip(self.bytes, self.states, strict=True))

    def restore(self, stored: SeekPoints) -> None:
        """Take over what was read from the store."""
        self.bytes, self.states, self.changed = stored.bytes, stored.states, False

    @classmethod
    def unpacked(cls, data: bytes) -> Self | None:
        """Read what `packed` wrote; None if it is something else. `ShapeSeekPoints` checks the states."""
        found = cls()
        try:
            head, *lines = data.split(b"\n")
            places = [line.split(b" ", 1) for line in lines[:-1]]
            found.bytes, found.states = [int(place) for place, _ in places], [state for _, state in places]
        except ValueError:
            return None
        in_order = all(one < other for one, other in zip(found.bytes, found.bytes[1:], strict=False))
        return found if head + b"\n" == MAGIC and in_order and lines[-1:] == [b""] else None


class ShapeSeekPoints:
    """The seek points of a payload for one shape, which writes a state as a list of numbers."""

    def __init__(self, points: SeekPoints, shape: str, data: Sliced) -> None:
        """`data` has the bytes of the payload, as its view does."""
        self._points = points
        self._shape = shape
        self._data = data

    def add(self, byte: int, numbers: Sequence[int]) -> None:
        """Add a seek point at `byte`, where a record or value begins."""
        body = " ".join(map(str, numbers)).encode()
        self._points.add(byte, self._checksum(byte, body) + b" " + body)

    def before(self, byte: int) -> tuple[int, Sequence[int]] | None:
        """Return the last seek point at or before `byte`. If its checksum is wrong, drop all of them."""
        found = self._points.before(byte)
        if found is None:
            return None
        place, state = found
        checksum, _, body = state.partition(b" ")
        if checksum == self._checksum(place, body):
            return place, [int(number) for number in body.split()]
        self._points.clear()
        return None

    def last(self, is_reached: Callable[[int, Sequence[int]], bool]) -> tuple[int, Sequence[int]] | None:
        """Return the last seek point of those at the beginning for which `is_reached` is true."""
        low, high = 0, len(self._points.bytes)
        found = None
        while low < high:
            middle = (low + high) // 2
            point = self.before(self._points.bytes[middle])
            if point is None:
                return None
            if is_reached(*point):
                low, found = middle + 1, point
            else:
                high = middle
        return found

    def _checksum(self, byte: int, body: bytes) -> bytes:
        from zlib import crc32

        around = self._data[max(byte - CHECKED_BYTES, 0) : max(byte, 0) + CHECKED_BYTES]
        scope = f"{STATE_VERSION} {self._shape} {byte} {len(self._data)} ".encode()
        return b"%08x" % crc32(body, crc32(around, crc32(scope)))
