"""Fetch a whole shared output: into the local store, or if that cannot be written into a temporary file."""

from __future__ import annotations

from tokcap.core.spool import STEP_BYTES, Spool
from tokcap.errors import DamagedOutput, StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import FOR_THE_CACHE
from tokcap.store.digest import StreamDigest, is_long
from tokcap.store.shared_outputs import RECORD, key_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from mmap import mmap

    from tokcap.core.request import Stream
    from tokcap.store.base import Store, StoredOutput
    from tokcap.store.bucket import Bucket
    from tokcap.store.checked_stream import StoredBytes
    from tokcap.store.record import StoredRecord

# Ask for so much at a time. It is in memory once.
FETCHED_BYTES = 8 << 20


def fetch(record: StoredRecord, files: Mapping[str, bytes], bucket: Bucket, local: Store) -> None:
    """Copy an output into the local store. `@last` still means what was stored on this host."""
    draft = local.draft(FOR_THE_CACHE)
    spools: dict[Stream, Spool] = {}
    try:
        for stream in record.stored_bytes:

            def open_file(stream: Stream = stream) -> int:
                return draft.open_file(stream)

            spools[stream] = Spool(STEP_BYTES, open_file=open_file)
            fill(spools[stream], record, stream, bucket)
        draft.commit(record, spools, {name: data for name, data in files.items() if name != RECORD})
    finally:
        draft.close()
        for spool in spools.values():
            spool.close()


def fetched_stream(
    record: StoredRecord, stream: Stream, files: Mapping[str, bytes], bucket: Bucket, local: Store
) -> StoredBytes:
    """Fetch an output, and return one of its streams."""
    try:
        fetch(record, files, bucket, local)
        cached = local.examine(record.handle)
    except DamagedOutput:
        raise
    except StoreError:
        # Perhaps the disk is full, or nothing may be written.
        cached = None
    if cached is not None and stream in cached.streams:
        return CachedStream(cached, stream)
    spool = Spool()
    fill(spool, record, stream, bucket)
    return SpooledStream(spool)


def fill(spool: Spool, record: StoredRecord, stream: Stream, bucket: Bucket) -> None:
    """Write a stream to a spool; `DamagedOutput` if it is not what was stored."""
    size, key = record.stored_bytes[stream], key_of(record.handle, stream)
    digest = StreamDigest(size, as_tree=is_long(size))
    for start in range(0, size, FETCHED_BYTES):
        block = bucket.read_range(key, start, min(start + FETCHED_BYTES, size))
        digest.update(block)
        spool.write(block)
    spool.lost = record.lost_bytes.get(stream, 0)
    digest.update(b"", spool.lost)
    if digest.sealed().hex() != record.digests.get(stream):
        what = "its bytes are not those that were stored"
        if spool.size != size:
            what = f"it has {spool.size} bytes, not {size}"
        raise DamagedOutput(f"{stream} of {record.handle}", what)


class CachedStream:
    """A stream of an output in the local store."""

    def __init__(self, output: StoredOutput, stream: Stream) -> None:
        self._output = output
        self._payload = output.streams[stream]
        self.size = self._payload.size

    def read(self, start: int, stop: int) -> bytes:
        return self._payload.read(start, min(stop, self.size))

    def view(self, size: int) -> bytes | mmap:
        return self._payload.view()

    def close(self) -> None:
        self._output.close()


class SpooledStream:
    """A stream in memory, or in a temporary file."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self.size = spool.size

    def read(self, start: int, stop: int) -> bytes:
        return self._spool.read(start, min(stop, self.size))

    def view(self, size: int) -> bytes | mmap:
        return self._spool.view()

    def close(self) -> None:
        self._spool.close()
