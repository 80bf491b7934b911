"""The ranks of one vocabulary, from a file that is mapped into memory and read only where it is looked at.

The file: `FORMAT`; the offsets of all buckets and of the end, 32 bits each, little-endian; the buckets. A
token is in the bucket that its bytes, taken for one number, name by their remainder. It stands there as
`BEGIN`, its bytes, `END`, its rank in three bytes of seven bits. Neither sign occurs in UTF-8, so whatever
matches is a token. Tokens of one byte are not in the file: every byte is one.
"""

from __future__ import annotations

import os
import sys

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from mmap import mmap

FORMAT = b"tokcap buckets 1"
# A prime, so that all bytes of a token have a say. A bucket has some 70 bytes, or twice that.
BUCKETS = 16_381
BEGIN, END = b"\xff", b"\xfe"
RANK_BYTES = 3
OFFSET_BYTES = 4
BUCKETS_BEGIN = len(FORMAT) + OFFSET_BYTES * (BUCKETS + 1)

# Of what is no token. Larger than every rank.
NO_RANK = 1 << 30

number_of = int.from_bytes


class Ranks(dict[bytes, int]):
    """Rank of each byte string of two bytes and more, `NO_RANK` if it is no token; looked up when asked for.

    Ranks are told as they are stored: only their order means something.
    """

    def __init__(self, path: str) -> None:
        self._file = mapped(path)
        self._find = self._file.find
        self._offsets = memoryview(self._file)[len(FORMAT) : BUCKETS_BEGIN].cast("I")

    def __missing__(self, token: bytes) -> int:
        bucket = number_of(token) % BUCKETS
        offsets = self._offsets
        place = self._find(BEGIN + token + END, offsets[bucket], offsets[bucket + 1])
        if place < 0:
            self[token] = NO_RANK
            return NO_RANK
        place += len(token) + 2
        rank = self[token] = number_of(self._file[place : place + RANK_BYTES])
        return rank

    def tokens_among(self, pieces: Iterable[bytes]) -> list[bytes]:
        """Those of many byte strings that are tokens; in half the time that asking for each rank takes."""
        find, offsets = self._find, self._offsets
        found = []
        for piece in pieces:
            bucket = number_of(piece) % BUCKETS
            if find(BEGIN + piece + END, offsets[bucket], offsets[bucket + 1]) >= 0:
                found.append(piece)
        return found


def mapped(path: str) -> mmap:
    """The file in memory; a `ValueError` if it is not what this machine can read."""
    import mmap

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # All pages at once, where the system can: one by one, most of them are needed soon, and cost more.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        file = mmap.mmap(descriptor, 0, flags, mmap.PROT_READ)
    finally:
        os.close(descriptor)
    end = number_of(file[BUCKETS_BEGIN - OFFSET_BYTES : BUCKETS_BEGIN], "little")
    if sys.byteorder != "little" or file[: len(FORMAT)] != FORMAT or end != len(file):
        raise ValueError(f"no buckets of this version, or not all of them: {path}")
    return file
