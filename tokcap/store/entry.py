"""One stored output: its record, its streams, its indexes. What is damaged is told, and read all the same."""

from __future__ import annotations

import os

from tokcap.core.seek_points import SeekPoints
from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from mmap import mmap

    from tokcap.core.request import Stream

SCHEMA_VERSION = 1
RECORD = "record.json"
SEEK_POINTS = "landmarks"
# Larger ones were not written by us. Arguments can be long, and an index grows with its payload.
LARGEST_RECORD_BYTES = 16 << 20
LARGEST_INDEX_BYTES = 256 << 20


class EntryRecord(Record):
    """What `record.json` says of an output."""

    handle: str = ""
    digest: str = ""
    # Seconds since 1970.
    stored_at: int = 0
    # Bytes of each stream in the store, and bytes that followed and were not stored.
    stored_bytes: Mapping[Stream, int] = {}
    lost_bytes: Mapping[Stream, int] = {}
    shape: str = "auto"
    total_count: int | None = None
    # By tokenizer, then by stream; as far as they were counted.
    tokens: Mapping[str, Mapping[Stream, int]] = {}
    token_limit: int | None = None
    exit_status: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    # None: there was no command, or it was not to be recorded.
    command: tuple[str, ...] | None = None

    @property
    def complete(self) -> bool:
        return not any(self.lost_bytes.values())

    def packed(self) -> bytes:
        # Only what is stored loads it. What is no UTF-8 in an argument is escaped, and comes back as it was.
        from tokcap.lean.plainjson import dumps

        fields = {"schema_version": SCHEMA_VERSION, "complete": self.complete, **self.__dict__}
        return dumps(fields).encode() + b"\n"

    @classmethod
    def unpacked(cls, data: bytes) -> EntryRecord:
        """What `packed` wrote; ValueError if it is something else."""
        from tokcap.lean.plainjson import loads

        fields = loads(data.decode())
        if not isinstance(fields, dict) or fields.get("schema_version") != SCHEMA_VERSION:
            raise ValueError("it is of another version of tokcap")
        known = {name: value for name, value in fields.items() if name in cls._fields}
        for name, value in known.items():
            if not CHECKS[name](value):
                raise ValueError(f"its {name} makes no sense")
        if "stored_bytes" not in known:
            raise ValueError("it does not say what is stored")
        if known.get("command") is not None:
            known["command"] = tuple(known["command"])
        return cls(**known)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_sizes(value: object) -> bool:
    """By stream."""
    return isinstance(value, dict) and value.keys() <= {"out", "err"} and all(map(is_count, value.values()))


# Who damages a record may leave it well-formed; nothing in it is believed unseen.
CHECKS: dict[str, Callable[[object], bool]] = {
    "handle": is_text,
    "digest": is_text,
    "stored_at": is_count,
    "stored_bytes": lambda value: is_sizes(value) and "out" in value,  # type: ignore[operator]  # a dict
    "lost_bytes": is_sizes,
    "shape": lambda value: value in ("auto", "text", "json", "jsonl", "csv", "tsv"),
    "total_count": lambda value: value is None or is_count(value),
    "tokens": lambda value: isinstance(value, dict) and all(map(is_sizes, value.values())),
    "token_limit": lambda value: value is None or (is_count(value) and value != 0),
    "exit_status": lambda value: value is None or is_count(value),
    "signal": lambda value: value is None or is_count(value),
    "duration_ms": is_count,
    "command": lambda value: value is None or (isinstance(value, list) and all(map(is_text, value))),
}


class StoredStream:
    """One stream of a stored output, open. It stays readable when the entry is removed."""

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
                raise StoreError(f"{self._path} has become shorter while it was read")
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def view(self) -> bytes | mmap:
        """All of it, to be searched and sliced in place (see `types.Payload`)."""
        if not self.size:
            return b""
        from mmap import ACCESS_READ, mmap

        return mmap(self._descriptor, self.size, access=ACCESS_READ)

    def close(self) -> None:
        os.close(self._descriptor)


class Entry:
    """A stored output, open for reading."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.handle = os.path.basename(directory)
        # What is wrong with it, as one line each.
        self.damage: list[str] = []
        record = self._read_record()
        self.streams: dict[Stream, StoredStream] = {}
        for stream in ("out", "err"):
            try:
                path = os.path.join(directory, stream)
                lost = record.lost_bytes.get(stream, 0) if record else 0
                self.streams[stream] = StoredStream(path, lost)
            except FileNotFoundError:
                continue
            except StoreError as error:
                self.damage.append(f"{self._name(stream)} cannot be read: {error}")
        self.record = record or self._record_from_files()
        for stream, size in self.record.stored_bytes.items():
            found = self.streams[stream].size if stream in self.streams else 0
            if found != size:
                self.damage.append(f"{self._name(stream)} is damaged: it has {found} bytes, not {size}")

    def _read_record(self) -> EntryRecord | None:
        try:
            return EntryRecord.unpacked(self._read(RECORD, LARGEST_RECORD_BYTES))
        except FileNotFoundError:
            self.damage.append(f"{self._name(RECORD)} is missing")
        except (ValueError, RecursionError, StoreError) as error:
            self.damage.append(f"{self._name(RECORD)} is damaged: {error}")
        return None

    def _record_from_files(self) -> EntryRecord:
        sizes = {stream: found.size for stream, found in self.streams.items()}
        return EntryRecord(self.handle, stored_bytes=sizes)

    def path(self, stream: Stream) -> str:
        return os.path.join(self.directory, stream)

    def is_whole(self, stream: Stream) -> bool:
        """Whether the stream has all the bytes that the command wrote to it."""
        found = self.streams[stream]
        return not found.lost and found.size == self.record.stored_bytes.get(stream, found.size)

    def read_file(self, name: str) -> bytes | None:
        """An index or the like; None if nobody has written it yet."""
        try:
            return self._read(name, LARGEST_INDEX_BYTES)
        except (FileNotFoundError, StoreError):
            return None

    def note_damage(self, name: str, consequence: str) -> None:
        """One of its files turned out to be damaged."""
        self.damage.append(f"{self._name(name)} is damaged: {consequence}")

    def write(self, name: str, data: bytes) -> None:
        """Put a file in place. A store that cannot be written costs time later, and nothing else."""
        try:
            private.replace_file(os.path.join(self.directory, name), data)
        except StoreError:
            pass

    def touch(self) -> None:
        """It was read just now; cleaning leaves it alone for a while."""
        try:
            os.utime(self.directory)
        except OSError:
            pass

    def _read(self, name: str, most_bytes: int) -> bytes:
        return private.read_file(os.path.join(self.directory, name), most_bytes)

    def _name(self, name: str) -> str:
        return f"{name} of {self.handle}"

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()


def index_name(stream: Stream, tokenizer: str) -> str:
    """The file that holds the checkpoints of a stream. Names of plug-ins may hold anything."""
    plain = tokenizer.isascii() and tokenizer.replace("_", "").replace("-", "").replace(".", "").isalnum()
    name = tokenizer if plain and len(tokenizer) <= 60 else "x" + tokenizer.encode().hex()[:60]
    return f"index-{name}" if stream == "out" else f"index-{name}-{stream}"
