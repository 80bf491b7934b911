"""Landmarks: places in a structured payload from which reading can begin, and what is known there.

Who walks over a long payload leaves some behind, so that the next window does not have to begin at the
beginning. What a state says is the business of the shape that wrote it.
"""

from __future__ import annotations

from bisect import bisect_right

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

MAGIC = b"tokcap landmarks 1\n"


class Landmarks:
    """Of one payload, taken as one shape: byte positions in order, each with its state."""

    def __init__(self) -> None:
        self.bytes: list[int] = []
        self.states: list[bytes] = []
        self._stored = 0

    @property
    def has_grown(self) -> bool:
        """Whether somebody has left some that are not stored yet."""
        return len(self.bytes) > self._stored

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

    def packed(self, size: int) -> bytes:
        """As the content of a file, for a payload of this size."""
        import marshal

        body = MAGIC + marshal.dumps((size, self.bytes, self.states))
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes, size: int) -> Self | None:
        """What `packed` wrote; None if it is something else, or of another payload."""
        import marshal

        body, seal = data[:-4], data[-4:]
        # `marshal` is for data that we wrote ourselves: the checksum says that it is undamaged, and that
        # nobody else wrote it is what private files are for.
        if not body.startswith(MAGIC) or seal != checksum(body):
            return None
        try:
            found_size, places, states = marshal.loads(body[len(MAGIC) :])  # noqa: S302  # see above
        except (ValueError, TypeError, EOFError):
            return None
        if found_size != size or len(places) != len(states):
            return None
        found = cls()
        found.bytes, found.states = places, states
        found._stored = len(places)
        return found


def checksum(data: bytes) -> bytes:
    import binascii

    return binascii.crc32(data).to_bytes(4, "little")
