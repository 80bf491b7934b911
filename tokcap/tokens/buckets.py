"""Look up the ranks of one vocabulary in a hash table on disk, mapped into memory.

The file has `FORMAT`, then the offsets of all buckets and of the end (32 bits each, little-endian), then
the buckets. The number of a token's bucket is its bytes, read as one number, modulo `BUCKETS`. The bucket
has `BEGIN`, the token's bytes, `END`, and its rank in three bytes of seven bits. `BEGIN` and `END` never
occur in UTF-8, so a match is always a token. Tokens of one byte are not in the file, because every byte is
a token.
"""

from __future__ import annotations

import os
import sys

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from mmap import mmap

FORMAT = b"tokcap buckets 1"
# A prime, so that all bytes of a token matter. A bucket has about 70 bytes in cl100k_base, 140 in o200k_base.
BUCKETS = 16_381
BEGIN, END = b"\xff", b"\xfe"
MARKED = BEGIN + b"%b" + END
RANK_BYTES = 3
OFFSET_BYTES = 4
BUCKETS_BEGIN = len(FORMAT) + OFFSET_BYTES * (BUCKETS + 1)

# The rank of bytes that are not a token. Larger than every rank.
NO_RANK = 1 << 30

number_of = int.from_bytes


class Ranks(dict[bytes, int]):
    """The rank of each byte string of two or more bytes, `NO_RANK` if it is not a token; looked up on demand.

    Ranks are returned as stored. Only their order is meaningful.
    """

    def __init__(self, path: str) -> None:
        self._file = mapped(path)
        self._offsets = memoryview(self._file)[len(FORMAT) : BUCKETS_BEGIN].cast("I")

    def __missing__(self, token: bytes) -> int:
        bucket = number_of(token) % BUCKETS
        offsets = self._offsets
        after = self._file[offsets[bucket] : offsets[bucket + 1]].partition(MARKED % token)[2]
        rank = self[token] = number_of(after[:RANK_BYTES]) if after else NO_RANK
        return rank

    def tokens_among(self, pieces: Iterable[bytes]) -> list[bytes]:
        """Return the byte strings that are tokens. This takes half the time of looking up each rank."""
        find, offsets = self._file.find, self._offsets
        found = []
        for piece in pieces:
            bucket = number_of(piece) % BUCKETS
            if find(MARKED % piece, offsets[bucket], offsets[bucket + 1]) >= 0:
                found.append(piece)
        return found


def mapped(path: str) -> mmap:
    """Map the file into memory; raise `ValueError` if this machine cannot read it."""
    import mmap

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Load all pages at once where the system can. Most are needed soon, and one by one they cost more.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        file = mmap.mmap(descriptor, 0, flags, mmap.PROT_READ)
    finally:
        os.close(descriptor)
    end = number_of(file[BUCKETS_BEGIN - OFFSET_BYTES : BUCKETS_BEGIN], "little")
    if sys.byteorder != "little" or file[: len(FORMAT)] != FORMAT or end != len(file):
        raise ValueError(f"not a complete bucket file of this version: {path}")
    return file
