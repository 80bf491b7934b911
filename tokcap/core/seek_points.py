"""Landmarks: places in a structured payload from which reading can begin, and what is known there.

Who walks over a long payload leaves some behind, so that the next window does not have to begin at the
beginning. What a state says is the business of the shape that wrote it; here it is only sealed, so that
one that is damaged, or was written for another shape or payload, is never taken for true.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from mmap import mmap
    from typing import Self

MAGIC = b"tokcap landmarks 1\n"
# How far they are apart.
STRIDE_BYTES = 1 << 18
# Changes whenever an older state would be misunderstood.
FORM = 1
# So much of the payload on both sides of a landmark is sealed with it.
SURROUNDINGS = 64


class Landmarks:
    """Of one payload, taken as one shape: byte positions in order, each with its state."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.states: list[bytes] = []
        # Whether there are others by now than those that are stored.
        self.changed = False

    def before(self, byte: int) -> tuple[int, bytes] | None:
        """The last landmark at or before a byte."""
        place = bisect_right(self.bytes, byte) - 1
        return None if place < 0 else (self.bytes[place], self.states[place])

    def add(self, byte: int, state: bytes) -> None:
        """One more. Of two at the same place the first stays: they say the same."""
        place = bisect_left(self.bytes, byte)
        if self.bytes[place : place + 1] != [byte]:
            self.bytes.insert(place, byte)
            self.states.insert(place, state)
            self.changed = True

    def forget(self) -> None:
        """They are not those of this payload, or not of the shape that it is taken as now."""
        self.bytes.clear()
        self.states.clear()
        self.changed = True

    @property
    def known_to(self) -> int:
        """How far somebody has walked."""
        return self.bytes[-1] if self.bytes else 0

    def pairs(self) -> Sequence[tuple[int, bytes]]:
        return list(zip(self.bytes, self.states, strict=True))

    def packed(self) -> bytes:
        """As the content of a file: a line for each, its place and its state."""
        return MAGIC + b"".join(b"%d %s\n" % pair for pair in self.pairs())

    @classmethod
    def unpacked(cls, data: bytes) -> Self | None:
        """What `packed` wrote; None if it is something else. Seals are looked at when a state is used."""
        found = cls()
        try:
            head, *lines = data.split(b"\n")
            places = [line.split(b" ", 1) for line in lines[:-1]]
            found.bytes, found.states = [int(place) for place, _ in places], [state for _, state in places]
        except ValueError:
            return None
        in_order = all(one < other for one, other in zip(found.bytes, found.bytes[1:], strict=False))
        return found if head + b"\n" == MAGIC and in_order and lines[-1:] == [b""] else None


class Trail:
    """The landmarks of a payload as one shape sees them: a state is a row of numbers."""

    def __init__(self, landmarks: Landmarks, shape: str, data: bytes | mmap) -> None:
        self._landmarks = landmarks
        self._shape = shape
        self._data = data

    def leave(self, byte: int, numbers: Sequence[int]) -> None:
        """A landmark at `byte`, which is the beginning of a record or value."""
        body = " ".join(map(str, numbers)).encode()
        self._landmarks.add(byte, self._seal(byte, body) + b" " + body)

    def nearest(self, byte: int) -> tuple[int, Sequence[int]] | None:
        """The last landmark at or before `byte`. If it is not to be trusted, no other is either."""
        found = self._landmarks.before(byte)
        if found is None:
            return None
        place, state = found
        seal, _, body = state.partition(b" ")
        if seal == self._seal(place, body):
            return place, [int(number) for number in body.split()]
        self._landmarks.forget()
        return None

    def _seal(self, byte: int, body: bytes) -> bytes:
        from zlib import crc32

        around = self._data[max(byte - SURROUNDINGS, 0) : max(byte, 0) + SURROUNDINGS]
        bound = f"{FORM} {self._shape} {byte} {len(self._data)} ".encode()
        return b"%08x" % crc32(body, crc32(around, crc32(bound)))
