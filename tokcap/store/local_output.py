"""Read from the local store: one stored output with its record, streams and indexes.

Damage is reported, and the undamaged parts can still be read. Bytes are checked in `checked_stream`.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.checked_stream import checked_streams
from tokcap.store.local_layout import LARGEST_RECORD_BYTES, RECORD
from tokcap.store.record import StoredRecord
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from mmap import mmap

    from tokcap.core.request import Stream

# A larger index was not written by tokcap. An index grows with its payload.
LARGEST_INDEX_BYTES = 256 << 20


class LocalFile:
    """One stream of a stored output as a file, open. It stays readable when the output is removed."""

    def __init__(self, path: str) -> None:
        self._descriptor = private.open_file(path)
        self._path = path
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while start < stop:
            try:
                part = os.pread(self._descriptor, stop - start, start)
            except OSError as error:
                raise private.refused(self._path, error) from None
            if not part:
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def view(self, size: int) -> bytes | mmap:
        """Return the first `size` bytes, to search and slice in place."""
        if not size:
            return b""
        from mmap import ACCESS_READ, mmap

        return mmap(self._descriptor, size, access=ACCESS_READ)

    def close(self) -> None:
        os.close(self._descriptor)


class LocalOutput:
    """A stored output, open for reading.

    writable: additional files may be written, which counts as reading the output.
    """

    def __init__(self, directory: str, *, writable: bool = True) -> None:
        self._directory = directory
        self._writable = writable
        self.handle = os.path.basename(directory)
        self.damage: list[str] = []
        record = self._read_record()
        files: dict[Stream, LocalFile] = {}
        for stream in ("out", "err"):
            try:
                files[stream] = LocalFile(os.path.join(directory, stream))
            except FileNotFoundError:
                continue
            except StoreError as error:
                self.damage.append(f"{self._name(stream)} cannot be read: {error}")
        self.streams = checked_streams(self.handle, files, record, self)
        self.record = record or self._record_from_files()
        for stream, size in self.record.stored_bytes.items():
            found = files[stream].size if stream in files else 0
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
        lost = {stream: found.lost for stream, found in self.streams.items() if found.lost}
        return StoredRecord(self.handle, stored_bytes=sizes, lost_bytes=lost)

    def local_path(self, stream: Stream) -> str:
        return os.path.join(self._directory, stream)

    fetch_path = local_path

    def is_whole(self, stream: Stream) -> bool:
        found = self.streams[stream]
        return not found.lost and found.size == found.found_size

    def read_file(self, name: str) -> bytes | None:
        try:
            return self._read(name, LARGEST_INDEX_BYTES)
        except (FileNotFoundError, StoreError):
            return None

    def note_damage(self, name: str, consequence: str) -> None:
        self.damage.append(f"{self._name(name)} is damaged: {consequence}")

    def write_file(self, name: str, data: bytes) -> None:
        try:
            if self._writable:
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
