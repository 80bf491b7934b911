"""A stored output that only the bucket has, open for reading.

Its entry is in memory. Damage is reported, and the undamaged parts can still be read, as in the local store.
"""

from __future__ import annotations

from tokcap.errors import StoreError, TokcapError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.checked_stream import checked_streams
from tokcap.store.record import StoredRecord
from tokcap.store.shared_outputs import RECORD, STREAMS, key_of
from tokcap.store.shared_stream import SharedStream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Stream
    from tokcap.store.base import Store
    from tokcap.store.checked_stream import CheckedStream, StoredBytes
    from tokcap.store.shared_outputs import Entry, SharedOutputs

# The least that a longer index must have more than the one in the bucket, to be worth a request: some pages.
NEWS_BYTES = 64
NEWS_SHARE = 8


class SharedOutput:
    """An output in a bucket. When it is wanted as a whole, it is fetched into the local store."""

    def __init__(self, entry: Entry, outputs: SharedOutputs, local: Store) -> None:
        self._entry = entry
        self._outputs = outputs
        self._local = local
        self._files = dict(entry.files)
        self._has_news = False
        self.handle = entry.handle
        self.damage: list[str] = []
        record = entry.record
        if record is None:
            self.damage.append(f"{self._name(RECORD)} is damaged")
        sizes = record.stored_bytes if record else self._sizes_found()
        found = {stream: self._stream(stream, size) for stream, size in sizes.items()}
        self.streams: Mapping[Stream, CheckedStream] = checked_streams(self.handle, found, record, self)
        self.record = record or StoredRecord(self.handle, stored_bytes=dict(sizes))

    def local_path(self, stream: Stream) -> str | None:
        return None

    def fetch_path(self, stream: Stream) -> str | None:
        """Fetch the whole output into the local store. Return the path of the file with this stream."""
        from tokcap.store.shared_fetch import fetch

        fetch(self._whole_record(), self._files, self._outputs.bucket, self._local)
        directory = self._local.local_path(self.handle)
        return None if directory is None else f"{directory}/{stream}"

    def is_whole(self, stream: Stream) -> bool:
        found = self.streams[stream]
        return not found.lost and found.size == found.found_size

    def read_file(self, name: str) -> bytes | None:
        return self._files.get(name)

    def write_file(self, name: str, data: bytes) -> None:
        known = len(self._files.get(name, b""))
        self._files[name] = data
        self._has_news = self._has_news or len(data) >= known + max(NEWS_BYTES, known // NEWS_SHARE)

    def write_record(self, record: StoredRecord) -> None:
        self._files[RECORD] = record.packed()
        self._has_news = True

    def note_damage(self, name: str, consequence: str) -> None:
        self.damage.append(f"{self._name(name)} is damaged: {consequence}")

    def touch(self) -> None:
        """Do nothing: in a bucket, outputs are kept by their age."""

    def close(self) -> None:
        """Share what was counted, so that the next page needs not count it again, and close all files."""
        if self._has_news and self._entry.record:
            try:
                self._outputs.share_files(self._entry, self._files)
            except TokcapError:
                # It only costs time later.
                pass
        for stream in self.streams.values():
            stream.close()

    def _sizes_found(self) -> dict[Stream, int]:
        """Return the sizes of the streams as they are now, for an output without a record."""
        found: dict[Stream, int] = {}
        for stream in STREAMS:
            if there := self._outputs.bucket.stat(key_of(self.handle, stream)):
                found[stream] = there.size
        return found

    def _stream(self, stream: Stream, size: int) -> SharedStream:
        key = key_of(self.handle, stream)
        return SharedStream(self._outputs.bucket, key, size, lambda: self._fetched(stream))

    def _name(self, name: str) -> str:
        return f"{name} of {self.handle}"

    def _fetched(self, stream: Stream) -> StoredBytes:
        from tokcap.store.shared_fetch import fetched_stream

        return fetched_stream(self._whole_record(), stream, self._files, self._outputs.bucket, self._local)

    def _whole_record(self) -> StoredRecord:
        record = self._entry.record
        if record is None:
            raise StoreError(f"{self._name(RECORD)} is damaged, so the output cannot be fetched as a whole")
        return record
