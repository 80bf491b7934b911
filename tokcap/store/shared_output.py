"""A stored output that only the bucket has, open for reading: by ranges, or all of it copied to this host.

Its entry is in memory.
"""

from __future__ import annotations

from tokcap.core.digest import BLOCK_BYTES, StreamDigest
from tokcap.core.payload import STEP_BYTES, Spool, open_nameless_file
from tokcap.errors import DamagedOutput, StoreError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.base import RECORD, StoredOutput
from tokcap.store.shared_outputs import STREAMS, key_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

    from tokcap.core.request import Stream
    from tokcap.store.base import Draft
    from tokcap.store.bucket import Bucket
    from tokcap.store.record import StoredRecord
    from tokcap.store.shared_outputs import Entry

# A reader of more than this reads everything, or soon comes back: then all of it is fetched.
MOST_RANGES_BYTES = 1 << 20
# When everything is fetched, ask for this many bytes at a time. They are in memory once.
FETCHED_BYTES = 8 << 20


class SharedOutput(StoredOutput):
    """An output in a bucket. When it is wanted as a whole, it is fetched into the local store."""

    def __init__(self, entry: Entry, bucket: Bucket, directory: str, open_draft: Callable[[], Draft]) -> None:
        """`directory` is where the local store has the output once it is fetched."""
        self._bucket = bucket
        self._directory = directory
        self._open_draft = open_draft
        self._files = dict(entry.files)
        self._whole_record = record = entry.record
        self._spools: dict[Stream, Spool] = {}
        self.handle = entry.handle
        damage = [] if record else [f"{RECORD} of {entry.handle} is damaged"]
        sizes = record.stored_bytes if record else self._sizes_found()
        found = {stream: self._stream(stream, size) for stream, size in sizes.items()}
        super().__init__(entry.handle, record, found, damage)

    def fetch_path(self, stream: Stream) -> str:
        """Fetch the whole output into the local store. Return the path of the file with this stream."""
        self._fetch(is_needed_here=True)
        return f"{self._directory}/{stream}"

    def read_file(self, name: str) -> bytes | None:
        return self._files.get(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Keep a file for this call. It is stored if the output is fetched after that."""
        self._files[name] = data

    def close(self) -> None:
        for spool in self._spools.values():
            spool.close()

    def _sizes_found(self) -> dict[Stream, int]:
        """Return the sizes of the streams as they are now, for an output without a record."""
        found: dict[Stream, int] = {}
        for stream in STREAMS:
            if there := self._bucket.stat(key_of(self.handle, stream)):
                found[stream] = there.size
        return found

    def _stream(self, stream: Stream, size: int) -> SharedStream:
        key = key_of(self.handle, stream)
        return SharedStream(self._bucket, key, size, lambda: self._fetch()[stream])

    def _fetch(self, *, is_needed_here: bool = False) -> dict[Stream, Spool]:
        """Fetch all streams, and copy them to the local store. `@last` still means what was stored here.

        A local store that cannot be written is an error only if a local copy is needed.
        """
        record = self._whole_record
        if record is None:
            raise StoreError(
                f"{RECORD} of {self.handle} is damaged, so the output cannot be fetched as a whole"
            )
        draft = self._open_draft()
        try:
            if not self._spools:
                self._spools = fetched(record, self._bucket, draft)
            files = {name: data for name, data in self._files.items() if name != RECORD}
            draft.commit(record, self._spools, files)
        except DamagedOutput:
            raise
        except StoreError:
            # Perhaps the disk is full, or nothing may be written.
            if is_needed_here or not self._spools:
                raise
        finally:
            draft.close()
        return self._spools


def fetched(record: StoredRecord, bucket: Bucket, draft: Draft) -> dict[Stream, Spool]:
    """Return all streams of an output, fetched; `DamagedOutput` if one is not what was stored."""
    spools: dict[Stream, Spool] = {}
    try:
        for stream, size in record.stored_bytes.items():
            spools[stream] = spool = Spool(STEP_BYTES, open_file=opener(draft, stream))
            digest = StreamDigest(size)
            for start in range(0, size, FETCHED_BYTES):
                stop = min(start + FETCHED_BYTES, size)
                block = bucket.read_range(key_of(record.handle, stream), start, stop)
                digest.update(block)
                spool.write(block)
            spool.lost = record.lost_bytes.get(stream, 0)
            digest.update(b"", spool.lost)
            if digest.digest().hex() != record.digests.get(stream):
                what = "its bytes are not those that were stored"
                if spool.size != size:
                    what = f"it has {spool.size} bytes, not {size}"
                raise DamagedOutput(f"{stream} of {record.handle}", what)
    except BaseException:
        for spool in spools.values():
            spool.close()
        raise
    return spools


def opener(draft: Draft, stream: Stream) -> Callable[[], int]:
    """Return what opens the file of a spool: in the local store, or if that is impossible without a name."""

    def open_file() -> int:
        try:
            return draft.open_file(stream)
        except StoreError:
            return open_nameless_file()

    return open_file


class SharedStream:
    """The bytes of one stream in a bucket.

    fetch: fetches the whole output, and returns this stream of it.
    """

    def __init__(self, bucket: Bucket, key: str, size: int, fetch: Callable[[], Spool]) -> None:
        self._bucket = bucket
        self._key = key
        self._fetch = fetch
        self._fetched: Spool | None = None
        self.size = size
        # By number. Blocks are read as a whole, because they have checksums.
        self._blocks: dict[int, bytes] = {}
        self._may_fetch = True

    def read(self, start: int, stop: int) -> bytes:
        if self._fetched is None and len(self._blocks) * BLOCK_BYTES > MOST_RANGES_BYTES and self._may_fetch:
            try:
                self._take_everything()
            except StoreError:
                # Other parts of it may be damaged: go on with ranges.
                self._may_fetch = False
        if self._fetched is not None:
            return self._fetched.read(start, min(stop, self.size))
        first, end = start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
        missing = [block for block in range(first, end) if block not in self._blocks]
        if missing:
            self._read_blocks(missing[0], missing[-1] + 1)
        data = b"".join([self._blocks[block] for block in range(first, end)])
        return data[start - first * BLOCK_BYTES : stop - first * BLOCK_BYTES]

    def view(self, size: int) -> bytes | mmap:
        return self._take_everything().view()

    def close(self) -> None:
        """Do nothing: the output closes its spools."""

    def _read_blocks(self, first: int, end: int) -> None:
        data = self._bucket.read_range(self._key, first * BLOCK_BYTES, min(end * BLOCK_BYTES, self.size))
        for block in range(first, end):
            start = (block - first) * BLOCK_BYTES
            self._blocks[block] = data[start : start + BLOCK_BYTES]

    def _take_everything(self) -> Spool:
        if self._fetched is None:
            self._fetched = self._fetch()
            self._blocks.clear()
        return self._fetched
