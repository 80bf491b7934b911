"""The interface of a store: the protocols that every store follows, and the records they exchange.

`StoredRecord` has what is known about a stored output besides its bytes, and its form in `record.json`.

Paths, locks and descriptors stay inside the stores. Where a user needs a path, `local_path` gives one, and
it is None in a store that has no local files.
"""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.errors import NotFound
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Protocol

    from tokcap.core.payload import Spool
    from tokcap.core.request import Stream
    from tokcap.store.checked import StoredBytes
    from tokcap.store.running import Announced, Running
    from tokcap.store.shared_outputs import SharedOutputs

# The name of the output that was stored last; `@last-1` is the one before.
LATEST = "@last"

RECORD = "record.json"
SCHEMA_VERSION = 1

# How the JSON text ends: `dumps` closes the object, and before that the checksum is inserted.
LAST_END = b"\n}"
LAST_MEMBER = b',\n "checksum": "'
LAST_MEMBER_END = b'"\n}\n'
# The file of a stored output that has the positions where windows into a structured output can begin.
SEEK_POINTS = "seek-points"


def missing_stream(output: StoredOutput, stream: Stream) -> NotFound:
    """Return the error for a stream that an output does not have."""
    damage = f": {output.damage[-1]}" if output.damage else ""
    what = "stderr" if stream == "err" else "output"
    return NotFound(f"{output.handle} has no stored {what}{damage}; see tokcap spill list")


def index_name(stream: Stream, tokenizer: str) -> str:
    """Return the name of the file with a stream's token index. A plug-in's name can contain anything."""
    plain = tokenizer.isascii() and tokenizer.replace("_", "").replace("-", "").replace(".", "").isalnum()
    name = tokenizer if plain and len(tokenizer) <= 60 else "x" + tokenizer.encode().hex()[:60]
    return f"index-{name}" if stream == "out" else f"index-{name}-{stream}"


class Caller(Record):
    """Who stores an output or asks for one: this decides which output `@last` names."""

    # The tokcap session; empty if there is none.
    session: str = ""
    # The process session, which a shell in a terminal has; 0 if it is unknown.
    terminal: int = 0
    # The current time, in seconds since 1970.
    now: float = 0.0


ANYBODY = Caller()
# Who copies an output of a shared store to this host: `@last` does not name the copy.
FOR_THE_CACHE = Caller(session="\n")


class StoredRecord(Record):
    """What is known about a stored output."""

    handle: str = ""
    digest: str = ""
    # The digest of each stream, with which it is compared when it is read.
    digests: Mapping[Stream, str] = {}
    # Seconds since 1970.
    stored_at: int = 0
    # For each stream: bytes in the store, and bytes that followed and were not stored.
    stored_bytes: Mapping[Stream, int] = {}
    lost_bytes: Mapping[Stream, int] = {}
    shape: str = AUTO
    total_count: int | None = None
    # By tokenizer, then by stream. Streams that were not counted to their end are missing.
    tokens: Mapping[str, Mapping[Stream, int]] = {}
    token_limit: int | None = None
    exit_status: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    # For each stream, where the gaps of the last answer with many gaps begin: line and token, and how many
    # lines and tokens they hide.
    gaps: Mapping[Stream, Sequence[Sequence[int]]] = {}
    # None if there was no command or its arguments must not be recorded.
    command: tuple[str, ...] | None = None

    @property
    def complete(self) -> bool:
        return not any(self.lost_bytes.values())

    def packed(self) -> bytes:
        """Return the record as JSON. Bytes in arguments that are not UTF-8 are escaped and survive.

        The last member is a checksum of everything before it.
        """
        from tokcap.core.digest import checksum
        from tokcap.startup.plainjson import dumps

        fields = {"schema_version": SCHEMA_VERSION, "complete": self.complete, **self.__dict__}
        body = dumps(fields).encode().removesuffix(LAST_END)
        return body + LAST_MEMBER + checksum(body).hex().encode() + LAST_MEMBER_END

    @classmethod
    def unpacked(cls, data: bytes) -> StoredRecord:
        """Read what `packed` wrote; `ValueError` if the data is anything else. Unknown fields are ignored."""
        from tokcap.core.digest import checksum
        from tokcap.startup.plainjson import loads

        fields = loads(data.decode())
        if not isinstance(fields, dict) or fields.get("schema_version") != SCHEMA_VERSION:
            raise ValueError("it was written by another version of tokcap")
        body, _, end = data.rpartition(LAST_MEMBER)
        if end != checksum(body).hex().encode() + LAST_MEMBER_END:
            raise ValueError("its checksum is wrong")
        known = {name: value for name, value in fields.items() if name in cls._fields}
        if known.get("command") is not None:
            known["command"] = tuple(known["command"])
        return cls(**known)

    def updated(self, newer: StoredRecord) -> StoredRecord:
        """Return the record of a newer, equal output, with what only this record knows added."""
        has_shape = newer.shape != AUTO
        return newer.replace(
            tokens={**self.tokens, **newer.tokens},
            shape=newer.shape if has_shape else self.shape,
            total_count=newer.total_count if has_shape else self.total_count,
            gaps={**self.gaps, **newer.gaps},
        )


class Ticket(Record):
    """What is known about an output that can be stored, before it is stored."""

    handle: str
    # Where the output will be; None in a store that has no local files.
    spill_path: str | None
    # For each stream: bytes that will be stored, and bytes that will not.
    stored_bytes: Mapping[Stream, int]
    lost_bytes: Mapping[Stream, int]

    @property
    def truncated(self) -> bool:
        return any(self.lost_bytes.values())


class Retention(Record):
    """How much is kept, and for how long."""

    days: int
    total_bytes: int


class ListedOutput(Record):
    """A stored output in a list. The times are seconds since 1970."""

    handle: str
    # None if the record is damaged.
    record: StoredRecord | None
    # With indexes and record.
    size_bytes: int
    stored_at: float
    read_at: float
    # Whether the record is damaged, or a file does not have its recorded size. The bytes are not compared.
    is_damaged: bool = False


class Cleaned(Record):
    """What cleaning did."""

    removed: tuple[ListedOutput, ...]
    kept: int
    kept_bytes: int
    left_overs: int


class StoredOutput:
    """A stored output, open for reading, also after it is removed. Stores derive from it.

    Damage is reported, and the undamaged parts can still be read.
    """

    # Whether its command may still run. Then there is nothing yet with which its bytes can be compared.
    is_growing = False

    def __init__(
        self, handle: str, record: StoredRecord | None, found: Mapping[Stream, StoredBytes], damage: list[str]
    ) -> None:
        """`found` has the streams as they are now. `record` is None if it is damaged."""
        from tokcap.store.checked import CheckedStream

        self.handle = handle
        # What is wrong with it, one sentence each.
        self.damage = damage
        self.streams: dict[Stream, CheckedStream] = {}
        for name, data in found.items():
            self.streams[name] = CheckedStream(self, name, data, record)
        if record is None:
            sizes = {stream: payload.size for stream, payload in self.streams.items()}
            lost = {stream: payload.lost for stream, payload in self.streams.items() if payload.lost}
            record = StoredRecord(handle, stored_bytes=sizes, lost_bytes=lost)
        self.record = record
        for stream, size in record.stored_bytes.items():
            there = found[stream].size if stream in found else 0
            if there != size:
                self.note_damage(stream, f"it has {there} bytes, not {size}")

    def read_file(self, name: str) -> bytes | None:
        """Return an additional file, for example an index; None if there is none."""
        raise NotImplementedError

    def write_file(self, name: str, data: bytes) -> None:
        """Store an additional file. Failure is ignored: it only costs time later."""
        raise NotImplementedError

    def write_record(self, record: StoredRecord) -> None:
        """Replace the record. Failure is ignored: it only costs time later."""
        self.write_file(RECORD, record.packed())

    def local_path(self, stream: Stream) -> str | None:
        """Return the path of a plain file with this stream, or None if the store has none."""
        return None

    def fetch_path(self, stream: Stream) -> str | None:
        """Return the same. If the file is elsewhere, fetch it first, whole."""
        return self.local_path(stream)

    def is_whole(self, stream: Stream) -> bool:
        """Return whether the store has every byte that was written to the stream."""
        found = self.streams[stream]
        return not found.lost and found.size == found.found_size

    def note_damage(self, name: str, consequence: str) -> None:
        """Add to `damage` that a file is damaged."""
        self.damage.append(f"{name} of {self.handle} is damaged: {consequence}")

    def touch(self) -> None:
        """Note that the output was read now: cleaning keeps it for a while."""

    def close(self) -> None:
        for stream in self.streams.values():
            stream.close()


if TYPE_CHECKING:

    class Draft(Protocol):
        """An output that is being stored. Only the recorder uses it."""

        # Why other hosts cannot read the output, although they should; empty if nothing went wrong.
        not_shared: str

        def open_file(self, stream: Stream) -> int:
            """Return the descriptor of a new file for a stream that is too long for memory."""
            ...

        def announce(self, running: Running) -> Announced:
            """Let others read the output while it is running."""
            ...

        def commit(
            self, record: StoredRecord, streams: Mapping[Stream, Spool], files: Mapping[str, bytes]
        ) -> None:
            """Store everything, or raise `StoreError`.

            Of each stream, the first `record.stored_bytes` bytes are stored; a stream that is not named there
            is not stored. If the store has the same output, its record and files are updated instead.
            """
            ...

        def close(self) -> None:
            """Remove everything that was not committed."""
            ...

    class Store(Protocol):
        """A place for outputs. Every method may raise `StoreError`."""

        @property
        def shared(self) -> SharedOutputs | None:
            """The part that other hosts read too; None if there is none."""
            ...

        def draft(self, caller: Caller = ANYBODY) -> Draft:
            """Return a draft for a new output."""
            ...

        def handle_for(self, digest: str) -> str:
            """Return the handle that an output with this digest has or will have."""
            ...

        def find(self, name: str, caller: Caller = ANYBODY) -> str:
            """Return the handle that a handle, its start, `@last` or `@last-N` names; else `NotFound`."""
            ...

        def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> StoredOutput:
            """Open an output that has this stream, and note that it was read; `NotFound` if there is none."""
            ...

        def examine(self, handle: str) -> StoredOutput | None:
            """Open an output with all its damage, without noting that it was read; None if it is gone."""
            ...

        def outputs(self) -> Iterator[ListedOutput]:
            """Return every output, in any order."""
            ...

        def latest(self, most: int, beginning: str = "") -> Sequence[ListedOutput]:
            """Return the outputs stored last whose handle starts with `beginning`, the latest first."""
            ...

        def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
            """Return the output that `@last` names, if it still exists."""
            ...

        def remove(self, handle: str) -> None:
            """Remove an output. It is not an error if it is gone already."""
            ...

        def remove_here(self, handle: str) -> None:
            """Remove an output from this host only."""
            ...

        def clean(self, retention: Retention, now: float) -> Cleaned:
            """Remove outputs by age and total size, and leftovers of interrupted runs."""
            ...

        def clean_if_due(self, retention: Retention, stored_bytes: int, now: float) -> None:
            """Clean from time to time. Called after an output of `stored_bytes` was stored; never fails."""
            ...

        def local_path(self, handle: str) -> str | None:
            """Return the directory that has or will have the output's files; None if there is none."""
            ...
