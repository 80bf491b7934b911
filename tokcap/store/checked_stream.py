"""Read a stored stream, and compare every byte with what was stored before anybody gets it.

A store gives the bytes as they are now and what it has recorded; all stores check in the same way.
"""

from __future__ import annotations

from tokcap.core.seek_points import SeekPoints
from tokcap.errors import DamagedOutput
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.store.digest import digest_of_stored, digest_of_stream, is_long
from tokcap.store.handles import is_handle_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap
    from typing import Protocol

    from tokcap.core.request import Stream
    from tokcap.store.checksums import BlockChecksums
    from tokcap.store.digest import StreamDigest
    from tokcap.store.record import StoredRecord

    class StoredBytes(Protocol):
        """The bytes of one stream as they are now."""

        size: int

        def read(self, start: int, stop: int) -> bytes:
            """Return the bytes of a range; fewer if they end before `stop`."""
            ...

        def view(self, size: int) -> bytes | mmap:
            """Return the first `size` bytes, to search and slice in place. There are at least as many."""
            ...

        def close(self) -> None: ...

    class StoredFiles(Protocol):
        """The additional files of a stored output."""

        def read_file(self, name: str) -> bytes | None: ...
        def write_file(self, name: str, data: bytes) -> None: ...


def checked_streams(
    handle: str, found: Mapping[Stream, StoredBytes], record: StoredRecord | None, files: StoredFiles
) -> dict[Stream, CheckedStream]:
    """Return the streams of an output. `record` is None if it is damaged."""
    streams: dict[Stream, CheckedStream] = {}
    for name, data in found.items():
        streams[name] = CheckedStream(handle, name, data, record, files, streams)
    return streams


class CheckedStream:
    """One stream of a stored output. It has the recorded size, whatever has become of its bytes."""

    def __init__(
        self,
        handle: str,
        name: Stream,
        found: StoredBytes,
        record: StoredRecord | None,
        files: StoredFiles,
        all_streams: Mapping[Stream, CheckedStream],
    ) -> None:
        self._handle = handle
        self._name = name
        self._found = found
        self._record = record
        self._files = files
        self._all_streams = all_streams
        self.found_size = found.size
        self.size, self.lost = found.size, 0
        if record:
            self.size = record.stored_bytes.get(name, found.size)
            self.lost = record.lost_bytes.get(name, 0)
        elif known := self._stored_checksums():
            self.size, self.lost = known[0].size, known[1]
        self.seek_points = SeekPoints()
        # None until the first byte is wanted; then the checksums, unless the whole stream was compared.
        self._checksums: BlockChecksums | None = None
        self._is_intact = False
        self._intact_blocks: set[int] = set()

    def read(self, start: int, stop: int) -> bytes:
        self._prepare()
        data = self._found.read(start, stop)
        if len(data) < stop - start:
            raise self._damage(start + len(data), stop)
        if not self._is_intact:
            self._compare(start, stop, data)
        return data

    def view(self) -> bytes | mmap:
        """Return all bytes, unchecked (see `core.payload.Payload`)."""
        if self._found.size < self.size:
            # What is missing could not be mapped.
            raise self._damage(self._found.size, self.size)
        return self._found.view(self.size)

    def check(self, start: int, stop: int) -> None:
        self._prepare()
        if not self._is_intact:
            self._compare(start, min(stop, self.size), b"")

    def unchecked(self) -> UncheckedStream:
        """Return the bytes as they are now, to compute their digest."""
        return UncheckedStream(self._found, self.size, self.lost)

    def close(self) -> None:
        self._found.close()

    def _compare(self, start: int, stop: int, data: bytes) -> None:
        """Compare the blocks of a range with their checksums. `data` is what was read there, or empty."""
        from tokcap.store.checksums import BLOCK_BYTES, runs_of_blocks

        assert self._checksums
        with memoryview(data) as view:
            for first, end_block in runs_of_blocks(start, stop, self.size):
                blocks = range(first, end_block)
                if self._intact_blocks.issuperset(blocks):
                    continue
                begin, end = first * BLOCK_BYTES, min(end_block * BLOCK_BYTES, self.size)
                # The range may begin and end inside a block.
                has_whole = len(data) > 0 and start <= begin and end <= stop
                found = view[begin - start : end - start] if has_whole else self._found.read(begin, end)
                wrong = self._checksums.wrong_block(first, end_block, found)
                if wrong is not None:
                    raise self._damage(wrong * BLOCK_BYTES, min((wrong + 1) * BLOCK_BYTES, self.size))
                self._intact_blocks.update(blocks)

    def _damage(self, start: int, stop: int) -> DamagedOutput:
        """Return the error about a range that is not as it was stored."""
        what = f"bytes {start}-{stop - 1} are not those that were stored"
        if self._found.size != self.size:
            what = f"it has {self._found.size} bytes, not {self.size}"
        return DamagedOutput(f"{self._name} of {self._handle}", what)

    def _prepare(self) -> None:
        """Find the checksums. Without them, compare the whole stream once, and store them."""
        if self._is_intact or self._checksums:
            return
        if known := self._stored_checksums():
            self._checksums = known[0]
            return
        self._compare_whole()
        self._is_intact = True

    def _stored_checksums(self) -> tuple[BlockChecksums, int] | None:
        if not is_long(self.size):
            return None
        from tokcap.store.checksums import BlockChecksums, checksums_name

        data = self._files.read_file(checksums_name(self._name))
        known = BlockChecksums.unpacked(data) if data else None
        return known if known and (self._record is None or known[0].size == self.size) else None

    def _compare_whole(self) -> None:
        digest = digest_of_stream(self.unchecked())
        if not self._has_digest(digest):
            raise self._damage(0, self.size)
        if digest.tree:
            from tokcap.store.checksums import checksums_file

            self._files.write_file(*checksums_file(self._name, digest.tree, self.lost))

    def _has_digest(self, digest: StreamDigest) -> bool:
        """Return whether a digest of the stream is the recorded one, or without a record fits the handle."""
        if self._record:
            return digest.sealed().hex() == self._record.digests.get(self._name)
        streams = {name: one.unchecked() for name, one in self._all_streams.items()}
        return is_handle_of(self._handle, digest_of_stored(streams))


class UncheckedStream(Record):
    """A stream as it is now."""

    found: StoredBytes
    size: int
    lost: int

    def read(self, start: int, stop: int) -> bytes:
        return self.found.read(start, stop)
