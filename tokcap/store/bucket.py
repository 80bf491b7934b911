"""The interface of a bucket: where a shared store keeps its objects. A shared directory is a bucket too.

An object appears whole or not at all. Every method may raise `StoreError`, whose message has no credentials.
None waits much longer than the timeout in the URL for one request.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol, TypeAlias

    # Returns the bytes of a range.
    Read: TypeAlias = Callable[[int, int], bytes]

# Larger objects are sent in parts of this size, one after the other. S3 allows no smaller ones.
PART_BYTES = 5 << 20


class StoredObject(Record):
    """An object in a bucket, without its bytes."""

    key: str
    size: int
    # Seconds since 1970, by the clock of the store.
    modified: float


class Content(Record):
    """The bytes of an object, and which version of it they are."""

    data: bytes
    modified: float
    version: str


if TYPE_CHECKING:

    class Bucket(Protocol):
        """Objects by key. A key is a relative path, with slashes."""

        def read(self, key: str, most_bytes: int) -> Content | None:
            """Return an object; None if there is none. One that is larger is refused."""
            ...

        def read_range(self, key: str, start: int, stop: int) -> bytes:
            """Return a range of an object; fewer bytes if it is shorter, none if it does not exist."""
            ...

        def stat(self, key: str) -> StoredObject | None: ...
        def create(self, key: str, size: int, read: Read) -> bool:
            """Store an object unless there is one with this key. Return whether it was stored."""
            ...

        def replace(self, key: str, size: int, read: Read) -> None:
            """Store an object, whether there is one or not."""
            ...

        def update(self, key: str, data: bytes, version: str) -> bool:
            """Replace this version of an object. Return False if it has been changed or removed."""
            ...

        def objects(self, directory: str, beginning: str = "") -> Iterator[StoredObject]:
            """Yield what is below a directory, empty for everything, in order of keys from `beginning` on."""
            ...

        def delete(self, keys: Sequence[str]) -> None:
            """Remove objects. Those that do not exist are no error."""
            ...


def reader_of(data: bytes) -> Read:
    """Return how `create` and `replace` read bytes in memory."""
    return lambda start, stop: data[start:stop]


def parts(size: int, read: Read) -> Iterator[bytes]:
    """Yield an object in parts. There is one even if it is empty."""
    for start in range(0, max(size, 1), PART_BYTES):
        yield read(start, min(start + PART_BYTES, size))
