"""Checkpoints: where some tokens of a payload begin, in a form that can be stored and gone on from."""

from __future__ import annotations

import sys
from array import array

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

MAGIC = b"tokcap index 1\n"
COMPLETE, VALID_UTF8 = 1, 2


class Checkpoints:
    """Parallel: token `tokens[i]` begins at byte `bytes[i]`, and the payload can be cut there for certain."""

    def __init__(self) -> None:
        self.tokens = array("q", [0])
        self.bytes = array("q", [0])
        # Whether the last one is the payload's end, and whether all up to it is UTF-8.
        self.complete = False
        self.valid_utf8 = True

    def add(self, tokens: int, size: int) -> None:
        """One chunk more, of so many tokens and bytes."""
        self.tokens.append(self.tokens[-1] + tokens)
        self.bytes.append(self.bytes[-1] + size)

    def __len__(self) -> int:
        return len(self.tokens)

    def packed(self, size: int) -> bytes:
        """As the content of a file, for a payload of this size."""
        flags = COMPLETE * self.complete | VALID_UTF8 * self.valid_utf8
        head = MAGIC + little_endian(array("q", [size, flags, len(self)]))
        body = head + little_endian(self.tokens) + little_endian(self.bytes)
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes, size: int) -> Self | None:
        """What `packed` wrote; None if it is something else, or of another payload."""
        body, seal = data[:-4], data[-4:]
        if not body.startswith(MAGIC) or seal != checksum(body) or len(body) < len(MAGIC) + 24:
            return None
        head_end = len(MAGIC) + 24
        found_size, flags, number = from_little_endian(body[len(MAGIC) : head_end])
        if found_size != size or len(body) != head_end + 16 * number or not number:
            return None
        found = cls()
        found.tokens = from_little_endian(body[head_end : head_end + 8 * number])
        found.bytes = from_little_endian(body[head_end + 8 * number :])
        found.complete, found.valid_utf8 = bool(flags & COMPLETE), bool(flags & VALID_UTF8)
        return found


def checksum(data: bytes) -> bytes:
    import binascii

    return binascii.crc32(data).to_bytes(4, "little")


def little_endian(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers = array("q", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def from_little_endian(data: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers
