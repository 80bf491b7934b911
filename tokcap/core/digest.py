"""Digests of what is stored: BLAKE2b in blocks, so that a window can be checked without the rest."""

from __future__ import annotations

from tokcap.startup.accelerators import blake2
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.core.request import Stream

blake2b = blake2.blake2b

# The size of the digest of an output, of a stream and of each block.
DIGEST_BYTES = 20
# The checksum of a block is the beginning of its digest.
SUM_BYTES = 4
BLOCK_BYTES = 1 << 18
# How the file with the checksums of a stream begins.
MAGIC = b"tokcap blocks 1\n"


def checksum(data: bytes) -> bytes:
    """Return four bytes that detect accidental damage."""
    return blake2b(data, digest_size=SUM_BYTES).digest()


def digest_of_output(streams: Iterable[bytes]) -> str:
    """Return the digest of an output, from the digests of its streams."""
    return blake2b(b"".join(streams), digest_size=DIGEST_BYTES).hexdigest()


class StreamDigest:
    """The digest of one stream: of its first `most_bytes` bytes, which are stored, and of its total size."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._total_bytes = 0
        # How many bytes are hashed.
        self.size = 0
        # The digests of the complete blocks, one after another, and the block after them.
        self._complete = bytearray()
        self._begun: blake2b | None = None

    def update(self, data: bytes | memoryview, lost_bytes: int = 0) -> None:
        """Add bytes, and the number of bytes after them that were not kept."""
        self._total_bytes += len(data) + lost_bytes
        with memoryview(data)[: self._most_bytes - self.size] as stored:
            place = 0
            while place < len(stored):
                if self._begun is None:
                    self._begun = blake2b(digest_size=DIGEST_BYTES)
                part = stored[place : place + BLOCK_BYTES - self.size % BLOCK_BYTES]
                self._begun.update(part)
                place += len(part)
                self.size += len(part)
                if self.size % BLOCK_BYTES == 0:
                    self._complete += self._begun.digest()
                    self._begun = None

    @property
    def has_blocks(self) -> bool:
        """Whether there is more than one block, so that parts can be checked by themselves."""
        return self.size > BLOCK_BYTES

    def checksums(self) -> bytes:
        """Return the checksums of all blocks, one after another."""
        digests = self._block_digests()
        starts = range(0, len(digests), DIGEST_BYTES)
        return b"".join([digests[start : start + SUM_BYTES] for start in starts])

    def digest(self) -> bytes:
        """Return the digest of the stored bytes and the total size."""
        blocks = self._block_digests()
        if len(blocks) != DIGEST_BYTES:
            blocks = blake2b(blocks, digest_size=DIGEST_BYTES).digest()
        return blocks + self._total_bytes.to_bytes(8, "little")

    def _block_digests(self) -> bytes:
        return bytes(self._complete) + (self._begun.digest() if self._begun else b"")


class Checksums(Record):
    """The checksums of all blocks of a stream, one after another; the last block may be shorter."""

    # Of the stored bytes, and of those that followed and were not stored.
    size: int
    lost: int
    sums: bytes

    def packed(self) -> bytes:
        """Return the content of the file."""
        body = MAGIC + self.size.to_bytes(8, "little") + self.lost.to_bytes(8, "little") + self.sums
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes) -> Checksums | None:
        """Read what `packed` wrote; None if it is damaged."""
        body, seal = data[:-SUM_BYTES], data[-SUM_BYTES:]
        numbers, sums = body[len(MAGIC) : len(MAGIC) + 16], body[len(MAGIC) + 16 :]
        found = cls(int.from_bytes(numbers[:8], "little"), int.from_bytes(numbers[8:], "little"), sums)
        is_whole = len(sums) == SUM_BYTES * -(-found.size // BLOCK_BYTES)
        return found if body.startswith(MAGIC) and seal == checksum(body) and is_whole else None


def checksums_file(stream: Stream, digest: StreamDigest, lost: int) -> tuple[str, bytes]:
    """Return the name and the content of the file with the checksums of a stream of several blocks."""
    return checksums_name(stream), Checksums(digest.size, lost, digest.checksums()).packed()


def checksums_name(stream: Stream) -> str:
    return "blocks" if stream == "out" else f"blocks-{stream}"
