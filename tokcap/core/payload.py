"""The bytes of one call: where they come from, where they go, and how they are read again.

*payload*  the bytes that a command wrote to one stream, or that came from standard input
*record*   a unit that is not split if possible: a line, a row, a JSON value
*handle*   the short name of a stored output, made from its bytes
*stored output*  bytes in the store, what is known about them, and indexes to read them by
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap
    from typing import Protocol

    from tokcap.core.request import Stream
    from tokcap.core.seek_points import SeekPoints
    from tokcap.exits import Ending

    class Source(Protocol):
        """Where bytes come from."""

        def blocks(self) -> Iterator[tuple[Stream, bytes]]:
            """Yield what arrives. An empty block means that the source waits: show what there is.

            `core.silence` has another one.
            """
            ...

        def end(self) -> Ending | None:
            """Stop reading. Return how the command ended, or None if there is no command."""
            ...

        def stop(self, stream: Stream) -> None:
            """Stop reading one stream."""
            ...

        def limit_reached(self) -> None:
            """Stop the command: no more output is wanted."""
            ...

        def close(self) -> None:
            """Clean up after the answer has been written."""
            ...

    class Sink(Protocol):
        """Where bytes go."""

        def write(self, block: bytes) -> None:
            """Take a block. An empty one means that the source waits (see `Source.blocks`)."""
            ...

        def finish(self) -> None:
            """Flush: no more bytes will come."""
            ...

    class Filter(Protocol):
        """Changes the bytes of a stream. The result does not depend on how they are divided into blocks."""

        def feed(self, block: bytes) -> bytes:
            """Take a block. Return what can be passed on now."""
            ...

        def flush(self) -> bytes:
            """Return the rest."""
            ...

    class Payload(Protocol):
        """Bytes that can be read at any position."""

        # Number of bytes that followed and were not kept.
        lost: int

        @property
        def seek_points(self) -> SeekPoints:
            """Positions inside a structure where reading can start; the code that walks over it adds them."""
            ...

        @property
        def size(self) -> int: ...
        def read(self, start: int, stop: int) -> bytes: ...
        def view(self) -> bytes | mmap:
            """Return all bytes, to search and slice in place. A large payload is mapped, not copied.

            Bytes of a stored output are not checked here: `check` every range whose bytes are used.
            """
            ...

        def check(self, start: int, stop: int) -> None:
            """Raise `DamagedOutput` if bytes in this range of `view` are not those that were stored.

            `read` checks what it returns.
            """
            ...
