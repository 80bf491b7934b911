"""Landmarks: places in a structured payload from which reading can begin, and what is known there.

Who walks over a long payload leaves some behind, so that the next window does not have to begin at the
beginning. What a state says is the business of the shape that wrote it.
"""

from __future__ import annotations

from bisect import bisect_right

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class Landmarks:
    """Of one payload, taken as one shape: byte positions in order, each with its state."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.states: list[bytes] = []

    def before(self, byte: int) -> tuple[int, bytes] | None:
        """The last landmark at or before a byte."""
        place = bisect_right(self.bytes, byte) - 1
        return None if place < 0 else (self.bytes[place], self.states[place])

    def add(self, byte: int, state: bytes) -> None:
        """One more. One that lies before the last is known already, or is not needed."""
        if not self.bytes or byte > self.bytes[-1]:
            self.bytes.append(byte)
            self.states.append(state)

    @property
    def known_to(self) -> int:
        """How far somebody has walked."""
        return self.bytes[-1] if self.bytes else 0

    def pairs(self) -> Sequence[tuple[int, bytes]]:
        return list(zip(self.bytes, self.states, strict=True))
