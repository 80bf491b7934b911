"""Read a stored stream, and compare every byte with what was stored before the reader gets it.

A store gives the bytes as they are now and what it has recorded; all stores check in the same way. A stream
of several blocks has a file with the checksum of each, so a window reads and checks only its own blocks.
"""

from __future__ import annotations

from tokcap.core.digest import (
    BLOCK_BYTES,
    SUM_BYTES,
    Checksums,
    StreamDigest,
    checksums_file,
    checksums_name,
    digest_of_output,
)
from tokcap.core.seek_points import SeekPoints
from tokcap.errors import DamagedOutput
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.handles import is_handle_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap
    from typing import Protocol

    from tokcap.core.request import Stream
    from tokcap.store.base import StoredOutput, StoredRecord

    class StoredBytes(Protocol):
        """The bytes of one stream as they are now."""

        size: int

        def read(self, start: int, stop: int) -> bytes:
            """Return the bytes of a range; fewer if they end before `stop`."""
            ...

        def view(self, size: int) -> bytes | mmap:
            """Return the first `size` bytes, to search and slice in place; fewer if they end before."""
            ...

        def close(self) -> None: ...


class CheckedStream:
    """One stream of a stored output. It has the recorded size, whatever has become of its bytes."""

    def __init__(
        self, output: StoredOutput, name: Stream, found: StoredBytes, record: StoredRecord | None
    ) -> None:
        """`record` is None if it is damaged."""
        self._output = output
        self._name = name
        self._found = found
        self._record = record
        self.found_size = found.size
        self.size, self.lost = found.size, 0
        if record:
            self.size = record.stored_bytes.get(name, found.size)
            self.lost = record.lost_bytes.get(name, 0)
        elif known := self._stored_checksums():
            self.size, self.lost = known.size, known.lost
        self.seek_points = SeekPoints()
        # None until the first byte is wanted; then the checksums, unless the whole stream was compared.
        self._checksums: Checksums | None = None
        self._is_intact = output.is_growing
        self._intact_blocks: set[int] = set()
        self._view: bytes | mmap | None = None

    def read(self, start: int, stop: int) -> bytes:
        self._prepare()
        data = self._found.read(start, stop)
        if len(data) < stop - start:
            raise self._damage(start + len(data), stop)
        self._compare(start, stop, data)
        return data

    def view(self) -> bytes | mmap:
        """Return all bytes, unchecked (see `core.payload.Payload`)."""
        if self._view is None:
            self._view = self._found.view(self.size)
            # What was compared before may have changed since.
            self._is_intact = False
            self._intact_blocks.clear()
        if len(self._view) < self.size:
            raise self._damage(len(self._view), self.size)
        return self._view

    def check(self, start: int, stop: int) -> None:
        self._prepare()
        self._compare(start, min(stop, self.size), b"")

    def digest_now(self) -> StreamDigest:
        """Return the digest of the bytes as they are now."""
        digest = StreamDigest(self.size)
        for start in range(0, self.size, BLOCK_BYTES):
            digest.update(self._found.read(start, min(start + BLOCK_BYTES, self.size)))
        digest.update(b"", self.lost)
        return digest

    def close(self) -> None:
        self._found.close()

    def _prepare(self) -> None:
        """Find the checksums. Without them, compare the whole stream once, and store them."""
        if self._is_intact or self._checksums:
            return
        self._checksums = self._stored_checksums()
        if self._checksums:
            return
        digest = self.digest_now()
        if not self._is_right(digest):
            raise self._damage(0, self.size)
        self._is_intact = True
        if digest.has_blocks:
            self._output.write_file(*checksums_file(self._name, digest, self.lost))

    def _stored_checksums(self) -> Checksums | None:
        if self.size <= BLOCK_BYTES:
            return None
        data = self._output.read_file(checksums_name(self._name))
        known = Checksums.unpacked(data) if data else None
        return known if known and (self._record is None or known.size == self.size) else None

    def _is_right(self, digest: StreamDigest) -> bool:
        """Return whether a digest of the stream is the recorded one, or without a record fits the handle."""
        if self._record:
            return digest.digest().hex() == self._record.digests.get(self._name)
        return is_handle_of(self._output.handle, digest_now(self._output.streams))

    def _compare(self, start: int, stop: int, data: bytes) -> None:
        """Compare the blocks of a range with their checksums. `data` is what was read there, or empty."""
        if self._is_intact:
            return
        assert self._checksums
        for block in range(start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)):
            if block in self._intact_blocks:
                continue
            begin, end = block * BLOCK_BYTES, min((block + 1) * BLOCK_BYTES, self.size)
            # The range may begin and end inside a block.
            has_block = len(data) > 0 and start <= begin and end <= stop
            digest = StreamDigest(BLOCK_BYTES)
            digest.update(data[begin - start : end - start] if has_block else self._found.read(begin, end))
            if digest.checksums() != self._checksums.sums[block * SUM_BYTES : (block + 1) * SUM_BYTES]:
                raise self._damage(begin, end)
            self._intact_blocks.add(block)

    def _damage(self, start: int, stop: int) -> DamagedOutput:
        """Return the error about a range that is not as it was stored."""
        what = f"bytes {start}-{stop - 1} are not those that were stored"
        if self._found.size != self.size:
            what = f"it has {self._found.size} bytes, not {self.size}"
        return DamagedOutput(f"{self._name} of {self._output.handle}", what)


def digest_now(streams: Mapping[Stream, CheckedStream]) -> str:
    """Return the digest that stored streams have now. It differs from the recorded one if they changed."""
    order: tuple[Stream, ...] = ("out", "err")
    return digest_of_output(streams[name].digest_now().digest() for name in order if name in streams)
