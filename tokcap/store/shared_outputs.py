"""Stored outputs in a bucket, which every host can read.

    lake/lake917365018/out, err     the plain bytes
    lake/lake917365018/entry        record and indexes (see `shared_entry`), written last and removed first

Outputs are named by their content: hosts that upload the same output at the same time write the same bytes.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.store.base import Cleaned, ListedOutput
from tokcap.store.bucket import reader_of
from tokcap.store.handles import LEAST_CHARACTERS, is_handle
from tokcap.store.record import StoredRecord
from tokcap.store.retention import DAY_SECONDS
from tokcap.store.shared_entry import packed, unpacked
from tokcap.system.private_files import is_temporary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokcap.core.request import Stream
    from tokcap.store.bucket import Bucket, StoredObject

RECORD, ENTRY = "record.json", "entry"
STREAMS: tuple[Stream, ...] = ("out", "err")
# Record and indexes. The index of 1 GB has some 100 KiB.
LARGEST_ENTRY_BYTES = 64 << 20
# An equal output that is older is uploaded again: a rule of the bucket may remove by the age of each object.
FRESH_SECONDS = DAY_SECONDS
# What has no entry after this time comes from an interrupted upload.
LEFT_OVER_SECONDS = DAY_SECONDS
# Objects that only a check or a look at the clock makes.
PROBES = ".check"


class Entry(Record):
    """What describes a shared output: files by name, and which version of the object they come from."""

    handle: str
    files: Mapping[str, bytes]
    modified: float
    version: str

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
        if found is None:
            return None
        try:
            return Entry(handle, unpacked(found.data), found.modified, found.version)
        except StoreError as error:
            raise StoreError(f"{handle} in {self.title}: {error}") from None

    def upload(
        self,
        record: StoredRecord,
        read: Mapping[Stream, Callable[[int, int], bytes]],
        files: Mapping[str, bytes],
        known: Entry | None,
        now: float,
    ) -> None:
        """Make an output readable for all hosts. `known` is its entry, if it has been there before."""
        # Not by the age of the entry, which is written more often than the bytes.
        if known and known.record and now - known.record.stored_at < FRESH_SECONDS:
            self.share_files(known, {**files, RECORD: record.packed()})
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

    def share_files(self, known: Entry, files: Mapping[str, bytes]) -> None:
        """Add files to the entry of an output, if they have more than those there."""
        merged = {**known.files}
        for name, data in files.items():
            # The longer index covers more.
            if name != RECORD and len(data) > len(merged.get(name, b"")):
                merged[name] = data
        before = known.record
        if before and RECORD in files:
            # What the last run took is no news.
            newer = StoredRecord.unpacked(files[RECORD]).but(
                stored_at=before.stored_at, duration_ms=before.duration_ms
            )
            merged[RECORD] = before.updated(newer).packed()
        if merged != known.files:
            self.bucket.update(key_of(known.handle, ENTRY), packed(merged), known.version)

    def handles(self, beginning: str) -> Iterator[str]:
        """Yield the handles that start with four or more characters, without listing all others."""
        group = beginning[:LEAST_CHARACTERS]
        previous = ""
        for found in self.bucket.objects(group, f"{group}/{beginning}"):
            handle = handle_of(found.key)
            if not handle.startswith(beginning):
                if handle > beginning:
                    return
            elif handle != previous and found.key.endswith(f"/{ENTRY}"):
                previous = handle
                yield handle

    def outputs(self) -> Iterator[ListedOutput]:
        """Yield every output. Only the list of objects is read, so records are not known."""
        for handle, objects in self._groups():
            entry = next((found for found in objects if found.key.endswith(f"/{ENTRY}")), None)
            if handle and entry:
                size = sum(found.size for found in objects)
                yield ListedOutput(handle, None, size, entry.modified, entry.modified)

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
                probes = [found.key for found in old if is_own_left_over(found.key)]
                left_overs += len(probes)
                self.bucket.delete(probes)
                continue
            entry = next((found for found in objects if found.key.endswith(f"/{ENTRY}")), None)
            if entry is None:
                if len(old) == len(objects) and not self.bucket.stat(key_of(handle, ENTRY)):
                    left_overs += 1
                    self.bucket.delete([found.key for found in objects])
                continue
            listed = ListedOutput(
                handle, None, sum(found.size for found in objects), entry.modified, entry.modified
            )
            if now - entry.modified <= days * DAY_SECONDS or self._is_renewed(entry):
                kept.append(listed)
            else:
                self.remove(handle)
                removed.append(listed)
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
        objects: list[StoredObject] = []
        current = ""
        for found in self.bucket.objects(""):
            handle = handle_of(found.key)
            if handle != current and objects:
                yield current, objects
                objects = []
            current = handle
            objects.append(found)
        if objects:
            yield current, objects


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


def is_own_left_over(key: str) -> bool:
    """Return whether an object that belongs to no output was made by tokcap."""
    return key.startswith(f"{PROBES}/") or is_temporary(key)
