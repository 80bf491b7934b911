"""Checksums of the blocks of one stored stream, and the file that has them.

A window checks only the blocks that it reads. A block is a leaf of the digest of the stream, and its checksum
is the beginning of the digest of that leaf.
"""

from __future__ import annotations

from tokcap.lean.digest import checksum
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.tree_digest import DIGEST_BYTES, LEAF_BYTES, begin_leaf

if TYPE_CHECKING:
    from typing import Self

    from tokcap.core.request import Stream
    from tokcap.store.tree_digest import TreeDigest

# Files of earlier versions end in 1. They are made again.
MAGIC = b"tokcap checksums 2\n"
BLOCK_BYTES = LEAF_BYTES
SUM_BYTES = 8


def checksums_name(stream: Stream) -> str:
    """Return the name of the file with a stream's checksums."""
    return "checksums" if stream == "out" else f"checksums-{stream}"


class BlockChecksums:
    """One checksum for each 64 KiB; the last block may be shorter."""

    def __init__(self, size: int, sums: bytes) -> None:
        self.size = size
        self._sums = sums

    @classmethod
    def of(cls, tree: TreeDigest) -> Self:
        leaves = tree.leaves()
        starts = range(0, len(leaves), DIGEST_BYTES)
        return cls(tree.size, b"".join([leaves[start : start + SUM_BYTES] for start in starts]))

    def matches(self, block: int, data: bytes | memoryview) -> bool:
        """Return whether `data` is what this block had."""
        size = min(BLOCK_BYTES, self.size - block * BLOCK_BYTES)
        leaf = begin_leaf(block)
        leaf.update(data)
        known = self._sums[block * SUM_BYTES : (block + 1) * SUM_BYTES]
        return len(data) == size and leaf.digest()[:SUM_BYTES] == known

    def packed(self, lost: int) -> bytes:
        """Return the content of the file. `lost` bytes followed and were not stored."""
        numbers = b"".join(number.to_bytes(8, "little") for number in (self.size, lost))
        body = MAGIC + numbers + self._sums
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes) -> tuple[Self, int] | None:
        """Read what `packed` wrote: the checksums and the number of lost bytes; None if it is damaged."""
        body, seal = data[:-4], data[-4:]
        begin = len(MAGIC) + 16
        if not body.startswith(MAGIC) or seal != checksum(body) or len(body) < begin:
            return None
        size = int.from_bytes(body[begin - 16 : begin - 8], "little")
        lost = int.from_bytes(body[begin - 8 : begin], "little")
        if len(body) - begin != SUM_BYTES * -(-size // BLOCK_BYTES):
            return None
        return cls(size, body[begin:]), lost
