"""Read from the local store: one stored output with its record, streams and indexes.

Damage is reported, and the undamaged parts can still be read.
"""

from __future__ import annotations

import os

from tokcap.core.seek_points import SeekPoints
from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.local_layout import LARGEST_RECORD_BYTES, RECORD
from tokcap.store.record import StoredRecord
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from mmap import mmap

    from tokcap.core.request import Stream

# A larger index was not written by tokcap. An index grows with its payload.
LARGEST_INDEX_BYTES = 256 << 20


class LocalStream:
    """One stream of a stored output, open. It stays readable when the output is removed."""

    def __init__(self, path: str, lost: int) -> None:
        self._descriptor = private.open_file(path)
        self._path = path
        self.size = os.fstat(self._descriptor).st_size
        self.lost = lost
        self.seek_points = SeekPoints()

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while start < stop:
            try:
                part = os.pread(self._descriptor, stop - start, start)
            except OSError as error:
                raise private.refused(self._path, error) from None
            if not part:
                raise StoreError(f"{self._path} became shorter while it was read")
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def view(self) -> bytes | mmap:
        """Return all bytes, to search and slice in place (see `core.payload.Payload`)."""
        if not self.size:
            return b""
        from mmap import ACCESS_READ, mmap

        return mmap(self._descriptor, self.size, access=ACCESS_READ)

    def close(self) -> None:
        os.close(self._descriptor)


class LocalOutput:
    """A stored output, open for reading."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self.handle = os.path.basename(directory)
        self.damage: list[str] = []
        record = self._read_record()
        self.streams: dict[Stream, LocalStream] = {}
        for stream in ("out", "err"):
            try:
                path = os.path.join(directory, stream)
                lost = record.lost_bytes.get(stream, 0) if record else 0
                self.streams[stream] = LocalStream(path, lost)
            except FileNotFoundError:
                continue
            except StoreError as error:
                self.damage.append(f"{self._name(stream)} cannot be read: {error}")
        self.record = record or self._record_from_files()
        for stream, size in self.record.stored_bytes.items():
            found = self.streams[stream].size if stream in self.streams else 0
            if found != size:
                self.damage.append(f"{self._name(stream)} is damaged: it has {found} bytes, not {size}")

    def _read_record(self) -> StoredRecord | None:
        try:
            return StoredRecord.unpacked(self._read(RECORD, LARGEST_RECORD_BYTES))
        except FileNotFoundError:
            self.damage.append(f"{self._name(RECORD)} is missing")
        except (ValueError, RecursionError, StoreError) as error:
            self.damage.append(f"{self._name(RECORD)} is damaged: {error}")
        return None

    def _record_from_files(self) -> StoredRecord:
        sizes = {stream: found.size for stream, found in self.streams.items()}
        return StoredRecord(self.handle, stored_bytes=sizes)

    def local_path(self, stream: Stream) -> str:
        return os.path.join(self._directory, stream)

    def is_whole(self, stream: Stream) -> bool:
        found = self.streams[stream]
        return not found.lost and found.size == self.record.stored_bytes.get(stream, found.size)

    def read_file(self, name: str) -> bytes | None:
        try:
            return self._read(name, LARGEST_INDEX_BYTES)
        except (FileNotFoundError, StoreError):
            return None

    def note_damage(self, name: str, consequence: str) -> None:
        self.damage.append(f"{self._name(name)} is damaged: {consequence}")

    def write_file(self, name: str, data: bytes) -> None:
        try:
            private.replace_file(os.path.join(self._directory, name), data)
        except StoreError:
            pass

    def write_record(self, record: StoredRecord) -> None:
        self.write_file(RECORD, record.packed())

    def touch(self) -> None:
        try:
            os.utime(self._directory)
        except OSError:
            pass

    def _read(self, name: str, most_bytes: int) -> bytes:
        return private.read_file(os.path.join(self._directory, name), most_bytes)

    def _name(self, name: str) -> str:
        return f"{name} of {self.handle}"

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()
