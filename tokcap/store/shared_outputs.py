"""Stored outputs in a bucket, which every host can read.

    lake/lake917365018/out, err     the plain bytes
    lake/lake917365018/entry        record and indexes, written last and removed first

Outputs are named by their content: hosts that upload the same output at the same time write the same bytes.
An output without an entry was never completely uploaded, and cannot be found.
"""

from __future__ import annotations

import os
import zlib

from tokcap.core.digest import SUM_BYTES, checksum
from tokcap.errors import StoreError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.store.base import RECORD, Cleaned, ListedOutput, StoredRecord
from tokcap.store.bucket import reader_of
from tokcap.store.cleaning import DAY_SECONDS
from tokcap.store.handles import LEAST_CHARACTERS, is_handle
from tokcap.system.private_files import is_temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokcap.core.request import Stream
    from tokcap.store.bucket import Bucket, StoredObject

ENTRY = "entry"
STREAMS: tuple[Stream, ...] = ("out", "err")
# Record and indexes. The index of 1 GB has some 100 KiB.
LARGEST_ENTRY_BYTES = 64 << 20
# An equal output that is older is uploaded again: a rule of the bucket may remove by the age of each object.
FRESH_SECONDS = DAY_SECONDS
# What has no entry after this time comes from an interrupted upload.
LEFT_OVER_SECONDS = DAY_SECONDS
# Objects that only a check or a look at the clock makes.
PROBES = ".check"

# How an entry begins. Each file follows: the length of its name, the name, the size, the compressed bytes and
# their checksum. So damage to one does not cost the others.
MAGIC = b"tokcap shared output 1\n"
SIZE_BYTES = 8
# A fast level: the caller waits, and numbers are hardly smaller with a higher one.
LEVEL = 1


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the entry with these files, so that one request fetches all of them."""
    parts = [MAGIC]
    for name, data in files.items():
        body = zlib.compress(data, LEVEL)
        title = name.encode()
        parts += (bytes((len(title),)), title, len(body).to_bytes(SIZE_BYTES, "little"), body, checksum(body))
    return b"".join(parts)


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the files in an entry that are not damaged."""
    files = {}
    place = len(MAGIC) if data.startswith(MAGIC) else len(data)
    while place < len(data):
        name_end = place + 1 + data[place]
        name = data[place + 1 : name_end].decode("utf-8", "replace")
        begin = name_end + SIZE_BYTES
        end = begin + int.from_bytes(data[name_end:begin], "little")
        body, seal = data[begin:end], data[end : end + SUM_BYTES]
        if seal == checksum(body) and (found := inflated(body)) is not None:
            files[name] = found
        place = end + SUM_BYTES
    return files


def inflated(body: bytes) -> bytes | None:
    """Return what was compressed; None if it is something else, or too large."""
    stream = zlib.decompressobj()
    try:
        data = stream.decompress(body, LARGEST_ENTRY_BYTES)
    except zlib.error:
        return None
    return data if stream.eof else None


class Entry(Record):
    """What describes a shared output: its files by name."""

    handle: str
    files: Mapping[str, bytes]

    @property
    def record(self) -> StoredRecord | None:
        """The record; None if it is damaged."""
        try:
            return StoredRecord.unpacked(self.files.get(RECORD, b""))
        except (ValueError, RecursionError):
            return None


class SharedOutputs:
    """All outputs in one bucket. Every method may raise `StoreError`."""

    def __init__(self, title: str, open_bucket: Callable[[], Bucket]) -> None:
        # For messages.
        self.title = title
        self._open_bucket = open_bucket
        self._opened: Bucket | None = None

    @property
    def bucket(self) -> Bucket:
        if self._opened is None:
            self._opened = self._open_bucket()
        return self._opened

    def entry(self, handle: str) -> Entry | None:
        """Return what describes an output; None if there is no such output."""
        found = self.bucket.read(key_of(handle, ENTRY), LARGEST_ENTRY_BYTES)
        return None if found is None else Entry(handle, unpacked(found))

    def upload(
        self,
        record: StoredRecord,
        read: Mapping[Stream, Callable[[int, int], bytes]],
        files: Mapping[str, bytes],
        known: Entry | None,
        now: float,
    ) -> None:
        """Make an output readable for all hosts. `known` is its entry, if it has been there before."""
        if known and known.record and now - known.record.stored_at < FRESH_SECONDS:
            return
        for stream, size in record.stored_bytes.items():
            key = key_of(record.handle, stream)
            if known or not self.bucket.create(key, size, read[stream]):
                there = None if known else self.bucket.stat(key)
                # Another host uploads the same now, or was interrupted. What is too old has to be renewed.
                if there is None or there.size != size:
                    self.bucket.replace(key, size, read[stream])
        key, data = key_of(record.handle, ENTRY), packed({**files, RECORD: record.packed()})
        if known:
            self.bucket.replace(key, len(data), reader_of(data))
        elif not self.bucket.create(key, len(data), reader_of(data)):
            # Another host was faster.
            there_now = self.entry(record.handle)
            if there_now and there_now.record and there_now.record.digest != record.digest:
                raise StoreError(f"{self.title} has another output with the handle {record.handle}")

    def handles(self, beginning: str) -> Iterator[str]:
        """Yield the handles that start with four or more characters, without listing all others."""
        group = beginning[:LEAST_CHARACTERS]
        for found in self.bucket.objects(group, f"{group}/{beginning}"):
            handle = handle_of(found.key)
            if handle.startswith(beginning):
                if found.key.endswith(f"/{ENTRY}"):
                    yield handle
            elif handle > beginning:
                return

    def outputs(self) -> Iterator[ListedOutput]:
        """Yield every output. Only the list of objects is read, so records are not known."""
        for handle, objects in self._groups():
            entry = entry_among(objects)
            if handle and entry:
                yield listed(handle, objects, entry)

    def remove(self, handle: str) -> None:
        """Remove an output for all hosts."""
        self.bucket.delete([key_of(handle, ENTRY)])
        self.bucket.delete([key_of(handle, stream) for stream in STREAMS])

    def clean(self, days: int) -> Cleaned:
        """Remove outputs that are older, and leftovers of interrupted uploads, by the clock of the bucket."""
        now = self.clock()
        removed: list[ListedOutput] = []
        kept: list[ListedOutput] = []
        left_overs = 0
        for handle, objects in self._groups():
            old = [found for found in objects if now - found.modified > LEFT_OVER_SECONDS]
            if not handle:
                probes = [
                    # What else belongs to no output was not made by tokcap.
                    found.key
                    for found in old
                    if found.key.startswith(f"{PROBES}/") or is_temporary(found.key)
                ]
                left_overs += len(probes)
                self.bucket.delete(probes)
                continue
            entry = entry_among(objects)
            if entry is None:
                if len(old) == len(objects) and not self.bucket.stat(key_of(handle, ENTRY)):
                    left_overs += 1
                    self.bucket.delete([found.key for found in objects])
            elif now - entry.modified <= days * DAY_SECONDS or self._is_renewed(entry):
                kept.append(listed(handle, objects, entry))
            else:
                self.remove(handle)
                removed.append(listed(handle, objects, entry))
        return Cleaned(tuple(removed), len(kept), sum(one.size_bytes for one in kept), left_overs)

    def clock(self) -> float:
        """Return the time of the bucket: a host whose clock is wrong must not remove what is new."""
        key = probe_key()
        self.bucket.create(key, 0, reader_of(b""))
        try:
            found = self.bucket.stat(key)
        finally:
            self.bucket.delete([key])
        if found is None:
            raise StoreError(f"{self.title} does not return what was stored in it")
        return found.modified

    def missing_ability(self) -> str:
        """Store and remove something. Return what the bucket cannot do; empty if it can do everything."""
        key, data = probe_key(), b"tokcap check"
        try:
            self.bucket.create(key, len(data), reader_of(data))
            is_refused = not self.bucket.create(key, 1, reader_of(b"x"))
            part = self.bucket.read_range(key, 3, 6)
        finally:
            self.bucket.delete([key])
        if not is_refused:
            return "it replaces an object that exists although it was told not to (If-None-Match)"
        return "" if part == data[3:6] else "it does not return ranges of objects"

    def _is_renewed(self, entry: StoredObject) -> bool:
        """Return whether an output was uploaded again since it was listed."""
        found = self.bucket.stat(entry.key)
        return found is not None and found.modified > entry.modified

    def _groups(self) -> Iterator[tuple[str, Sequence[StoredObject]]]:
        """Yield all objects, those of each output together. What belongs to no output has an empty handle."""
        from itertools import groupby

        for handle, objects in groupby(self.bucket.objects(""), lambda found: handle_of(found.key)):
            yield handle, [*objects]


def entry_among(objects: Sequence[StoredObject]) -> StoredObject | None:
    return next((found for found in objects if found.key.endswith(f"/{ENTRY}")), None)


def listed(handle: str, objects: Sequence[StoredObject], entry: StoredObject) -> ListedOutput:
    size = sum(found.size for found in objects)
    return ListedOutput(handle, None, size, entry.modified, entry.modified)


def key_of(handle: str, name: str) -> str:
    """Return the key of an object of an output. It has only the handle, which is made from a digest."""
    return f"{handle[:LEAST_CHARACTERS]}/{handle}/{name}"


def handle_of(key: str) -> str:
    """Return the handle in a key; empty if it is not the key of an output."""
    group, _, rest = key.partition("/")
    handle, _, name = rest.partition("/")
    is_own = is_handle(handle) and handle[:LEAST_CHARACTERS] == group and name in (ENTRY, *STREAMS)
    return handle if is_own else ""


def probe_key() -> str:
    return f"{PROBES}/{os.urandom(8).hex()}"
