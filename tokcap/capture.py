"""Drains a source into sinks: bytes in, kept or passed on. Never looks inside the bytes."""

from __future__ import annotations

import os

from tokcap.errors import ReaderGone, StreamError
from tokcap.landmarks import Landmarks
from tokcap.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from mmap import mmap
    from typing import IO

    from tokcap.exits import Ending
    from tokcap.types import Sink, Source, Stream

MEMORY_BYTES = 8 << 20
TAIL_BYTES = 8 << 10
UNLIMITED = 1 << 62


class Captured(Record):
    """How the source ended, and what went wrong on the way."""

    ending: Ending | None
    # Why its output could not be written on.
    failure: StreamError | ReaderGone | None = None
    # Why it could not be read to its end. What came before that was captured.
    broken: StreamError | None = None


def capture(source: Source, sinks: Mapping[Stream, Sink]) -> Captured:
    """Read a source to its end. When a sink fails, its stream is closed, as it would have been."""
    failure: StreamError | ReaderGone | None = None
    broken: StreamError | None = None
    blocks = source.blocks()
    some = False
    while True:
        try:
            stream, block = next(blocks)
        except StopIteration:
            break
        except StreamError as error:
            if not some:
                raise
            broken = error
            break
        some = True
        try:
            sinks[stream].write(block)
        except (ReaderGone, StreamError) as error:
            failure = error
            source.stop(stream)
    return Captured(source.end(), failure, broken)


class Spool:
    """Keeps everything: in memory first, in a nameless file past `MEMORY_BYTES`."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory = bytearray()
        self._memory_bytes = memory_bytes
        self._file: IO[bytes] | None = None
        self._file_size = 0
        self.landmarks = Landmarks()

    @property
    def size(self) -> int:
        return self._file_size + len(self._memory)

    def write(self, block: bytes) -> None:
        self._memory += block
        if len(self._memory) > self._memory_bytes:
            self._move_to_file()

    def _move_to_file(self) -> None:
        moved = 0
        try:
            if self._file is None:
                import tempfile

                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # see `close`
            while moved < len(self._memory):
                written = os.pwrite(self._file.fileno(), self._memory[moved:], self._file_size)
                self._file_size += written
                moved += written
        except OSError:
            # A full or missing temporary directory must not cost output: the rest stays in memory.
            self._memory_bytes = UNLIMITED
        del self._memory[:moved]

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while self._file and start < min(stop, self._file_size):
            part = os.pread(self._file.fileno(), min(stop, self._file_size) - start, start)
            if not part:
                raise StreamError("the temporary file has become shorter while it was read")
            parts.append(part)
            start += len(part)
        if start < stop:
            parts.append(bytes(self._memory[start - self._file_size : stop - self._file_size]))
        return b"".join(parts)

    def view(self) -> bytes | mmap:
        """All of it, to be searched and sliced in place (see `types.Payload`)."""
        if self._file and self._memory:
            self._move_to_file()
        if not self._file or self._memory:
            return self.read(0, self.size)
        from mmap import ACCESS_READ, mmap

        return mmap(self._file.fileno(), self._file_size, access=ACCESS_READ)

    def close(self) -> None:
        """Give the file back."""
        if self._file:
            self._file.close()


class Passing:
    """Passes everything on at once, and remembers the end of it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self.tail = b""

    def write(self, block: bytes) -> None:
        self.tail = (self.tail + block)[-TAIL_BYTES:]
        self._write(block)

    def close(self) -> None:
        """Nothing to give back."""
