"""The record of a stored output: what is known about it besides its bytes, and its form in `record.json`."""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.core.request import Stream

SCHEMA_VERSION = 1

# How the JSON text ends: `dumps` closes the object, and before that the checksum is inserted.
LAST_END = b"\n}"
LAST_MEMBER = b',\n "checksum": "'
LAST_MEMBER_END = b'"\n}\n'


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
        # Imported here because only runs that store something need it.
        from tokcap.core.digest import checksum
        from tokcap.startup.plainjson import dumps

        fields = {"schema_version": SCHEMA_VERSION, "complete": self.complete, **self.__dict__}
        body = dumps(fields).encode().removesuffix(LAST_END)
        return body + LAST_MEMBER + checksum(body).hex().encode() + LAST_MEMBER_END

    @classmethod
    def unpacked(cls, data: bytes) -> StoredRecord:
        """Read what `packed` wrote; `ValueError` if the data is anything else. Unknown fields are ignored."""
        from tokcap.startup.plainjson import loads

        fields = loads(data.decode())
        if not isinstance(fields, dict) or fields.get("schema_version") != SCHEMA_VERSION:
            raise ValueError("it was written by another version of tokcap")
        if not has_right_checksum(data):
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


def has_right_checksum(data: bytes) -> bool:
    """Return whether the last member is the checksum of everything before it."""
    from tokcap.core.digest import checksum

    body, _, end = data.rpartition(LAST_MEMBER)
    return end == checksum(body).hex().encode() + LAST_MEMBER_END
