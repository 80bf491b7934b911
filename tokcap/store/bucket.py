"""The interface of a bucket, where a shared store keeps its objects, and the URL that names one.

A shared directory is a bucket too. The URL is `s3://bucket/prefix?timeout=5`; credentials are not part of it,
and come from where the programs of each provider look for them.

An object appears whole or not at all. Every method may raise `StoreError`, whose message has no credentials.
None waits much longer than the timeout in the URL for one request.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.urls import parameters_in, seconds_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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


if TYPE_CHECKING:

    class Bucket(Protocol):
        """Objects by key. A key is a relative path, with slashes."""

        def read(self, key: str, most_bytes: int) -> bytes | None:
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


TIMEOUT_SECONDS = 10.0
# The parameters that every shared store takes.
TIMEOUT = "timeout"


class SharedUrl(Record):
    """The parts of a URL. The parts that are missing are empty."""

    scheme: str
    # The bucket or container; for `file`, the first part of the path.
    place: str
    # Without slashes at its ends.
    prefix: str
    timeout_seconds: float
    parameters: Mapping[str, str]

    @property
    def title(self) -> str:
        """The URL without parameters, for messages."""
        return f"{self.scheme}://{self.place}{'/' * bool(self.prefix)}{self.prefix}"


def parse(scheme: str, rest: str, known: tuple[str, ...] = ()) -> SharedUrl:
    """Take apart what follows `scheme://`; `UsageError` if it is not valid.

    Somebody may have put a password into it, so messages do not repeat it.
    """
    rest, _, query = rest.partition("?")
    place, _, prefix = rest.partition("/")
    if "@" in place:
        raise UsageError(
            "the store's URL must not contain a user or a password, which others may see; credentials come"
            " from where the provider's own programs look for them"
        )
    if not place and scheme != "file":
        raise UsageError(f"the store's URL must name a bucket: {scheme}://BUCKET or {scheme}://BUCKET/PREFIX")
    parameters = parameters_in(query)
    for name in parameters:
        if name not in (TIMEOUT, *known):
            names = ", ".join((TIMEOUT, *known))
            raise UsageError(f"the store's URL has an unknown parameter; known are {names}")
    seconds = seconds_in(parameters, TIMEOUT, TIMEOUT_SECONDS, whose="the store's URL")
    return SharedUrl(scheme, place, prefix.strip("/"), seconds, parameters)
