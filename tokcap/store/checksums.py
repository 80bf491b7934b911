"""Checksums of the blocks of one stored stream, and the file that has them.

A window checks only the blocks that it reads. CRC-32 is fast enough to cost nothing next to the digest of the
whole stream, and finds every change of up to 32 bits in a row.
"""

from __future__ import annotations

import sys
from zlib import crc32

from tokcap.lean.digest import checksum
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from tokcap.core.request import Stream

MAGIC = b"tokcap checksums 1\n"
BLOCK_BYTES = 1 << 16
SUM_BYTES = 4


def checksums_name(stream: Stream) -> str:
    """Return the name of the file with a stream's checksums."""
    return "checksums" if stream == "out" else f"checksums-{stream}"


class BlockChecksums:
    """One checksum for each 64 KiB; the last block may be shorter."""

    def __init__(self) -> None:
        self.sums: list[int] = []
        self.size = 0

    def update(self, data: bytes | memoryview) -> None:
        """Add the bytes that follow."""
        with memoryview(data) as view:
            place = 0
            while place < len(view):
                begun = self.size % BLOCK_BYTES
                part = view[place : place + BLOCK_BYTES - begun]
                if begun:
                    self.sums[-1] = crc32(part, self.sums[-1])
                else:
                    self.sums.append(crc32(part))
                place += len(part)
                self.size += len(part)

    def matches(self, block: int, data: bytes | memoryview) -> bool:
        """Return whether `data` is what this block had."""
        size = min(BLOCK_BYTES, self.size - block * BLOCK_BYTES)
        return len(data) == size and crc32(data) == self.sums[block]

    def packed(self, lost: int) -> bytes:
        """Return the content of the file. `lost` bytes followed and were not stored."""
        numbers = b"".join(number.to_bytes(8, "little") for number in (self.size, lost))
        sums = b"".join(found.to_bytes(SUM_BYTES, "little") for found in self.sums)
        body = MAGIC + numbers + sums
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes) -> tuple[Self, int] | None:
        """Read what `packed` wrote: the checksums and the number of lost bytes; None if it is damaged."""
        body, seal = data[:-4], data[-4:]
        begin = len(MAGIC) + 16
        if not body.startswith(MAGIC) or seal != checksum(body) or len(body) < begin:
            return None
        found = cls()
        found.size = int.from_bytes(body[begin - 16 : begin - 8], "little")
        lost = int.from_bytes(body[begin - 8 : begin], "little")
        if len(body) - begin != SUM_BYTES * -(-found.size // BLOCK_BYTES):
            return None
        found.sums = from_little_endian(body[begin:])
        return found, lost


def from_little_endian(data: bytes) -> list[int]:
    if sys.byteorder == "little":
        return memoryview(data).cast("I").tolist()
    return [
        int.from_bytes(data[place : place + SUM_BYTES], "little") for place in range(0, len(data), SUM_BYTES)
    ]
