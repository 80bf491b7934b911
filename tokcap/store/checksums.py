"""Checksums of the blocks of one stored stream, and the file that has them.

A window checks only the blocks that it reads. A block is a leaf of the digest of the stream, and its checksum
is the beginning of the digest of that leaf.
"""

from __future__ import annotations

from tokcap.lean.digest import DIGEST_BYTES, checksum
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.tree_digest import LEAF_BYTES, TreeDigest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from tokcap.core.request import Stream

MAGIC = b"tokcap leaves 1\n"
BLOCK_BYTES = LEAF_BYTES
SUM_BYTES = 4
# Compare this many blocks at a time: compiled code hashes four at once, and a run has to be in memory.
RUN_BLOCKS = 16


def checksums_name(stream: Stream) -> str:
    """Return the name of the file with a stream's checksums."""
    return "leaves" if stream == "out" else f"leaves-{stream}"


def checksums_file(stream: Stream, tree: TreeDigest, lost_bytes: int) -> tuple[str, bytes]:
    """Return the name and the content of the file."""
    return checksums_name(stream), BlockChecksums(tree.size, sums_of(tree)).packed(lost_bytes)


class BlockChecksums:
    """One checksum for each 64 KiB; the last block may be shorter."""

    def __init__(self, size: int, sums: bytes) -> None:
        self.size = size
        self._sums = sums

    def wrong_block(self, first: int, end: int, data: bytes | memoryview) -> int | None:
        """Return the first of these blocks whose bytes in `data` are not those that were stored.

        None if all are. `data` begins with the first block, and has no others.
        """
        tree = TreeDigest(first)
        tree.update(data)
        found, known = sums_of(tree), self._sums[first * SUM_BYTES : end * SUM_BYTES]
        if found == known:
            return None
        starts = range(0, len(known), SUM_BYTES)
        differs = (n for n in starts if found[n : n + SUM_BYTES] != known[n : n + SUM_BYTES])
        return first + next(differs) // SUM_BYTES

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


def sums_of(tree: TreeDigest) -> bytes:
    """Return the checksums of all blocks, one after another."""
    leaves = tree.leaves()
    starts = range(0, len(leaves), DIGEST_BYTES)
    return b"".join([leaves[start : start + SUM_BYTES] for start in starts])


def runs_of_blocks(start: int, stop: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the blocks of a range of a stream: whole ones in runs, and one that is not whole by itself."""
    first, end = start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
    whole_first = -(-start // BLOCK_BYTES)
    # The last block of the stream may be shorter, and is whole all the same.
    whole_end = end if stop == size else stop // BLOCK_BYTES
    if first < whole_first:
        yield first, whole_first
    for block in range(whole_first, whole_end, RUN_BLOCKS):
        yield block, min(block + RUN_BLOCKS, whole_end)
    if whole_first <= whole_end < end:
        yield whole_end, end
