"""Drains a source into sinks: bytes in, kept or passed on. Never looks inside the bytes."""

from __future__ import annotations

import os

from tokcap.core.seek_points import SeekPoints
from tokcap.errors import ReaderGone, StoreError, StreamError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from mmap import mmap

    from tokcap.core.payload import Filter, Sink, Source
    from tokcap.core.request import Stream
    from tokcap.exits import Ending
    from tokcap.store.fingerprint import Fingerprint

MEMORY_BYTES = 8 << 20
TAIL_BYTES = 8 << 10
UNLIMITED = 1 << 62


class Captured(Record):
    """How the source ended, and what went wrong on the way."""

    ending: Ending | None
    # Why its output could not be written on.
    failure: StreamError | ReaderGone | None = None
    # Why it could not be read to its end, or how it ended is not known. What came before that was captured.
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
    ending: Ending | None = None
    try:
        ending = source.end()
    except StreamError as error:
        broken = broken or error
    for sink in sinks.values():
        try:
            sink.finish()
        except (ReaderGone, StreamError) as error:
            failure = failure or error
    return Captured(ending, failure, broken)


def open_nameless_file() -> int:
    """A file that nobody else sees, and that is gone when it is closed."""
    import tempfile

    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


class Spool:
    """Keeps what it is given: in memory first, in a file past `memory_bytes`."""

    # See `places.Place`: nothing of it is out yet.
    is_out = False
    passed = 0

    def __init__(
        self,
        memory_bytes: int = MEMORY_BYTES,
        *,
        open_file: Callable[[], int] = open_nameless_file,
        # Past this, bytes are only counted.
        keep_bytes: int = UNLIMITED,
        # Of these the answer may need any: they are kept even where no file can be written.
        needed_bytes: int = UNLIMITED,
    ) -> None:
        self._memory = bytearray()
        self._memory_bytes = memory_bytes
        self._open_file = open_file
        self._keep_bytes = keep_bytes
        self._needed_bytes = needed_bytes
        self._file: int | None = None
        self._file_size = 0
        # Taken of all that is kept, once somebody wants one; up to a place, the rest is still to come.
        self.fingerprint: Fingerprint | None = None
        self._hashed_to = 0
        self._is_sealed = False
        self.seek_points = SeekPoints()
        # Bytes that were not kept.
        self.lost = 0
        # Why no file could be written.
        self.failure: str = ""

    @property
    def spool(self) -> Spool:
        return self

    @property
    def size(self) -> int:
        return self._file_size + len(self._memory)

    @property
    def tail(self) -> bytes:
        return self.read(max(self.size - TAIL_BYTES, 0), self.size)

    def write(self, block: bytes) -> None:
        room = self._keep_bytes - self.size
        if len(block) > room:
            self.lost += len(block) - max(room, 0)
            block = block[: max(room, 0)]
        self._memory += block
        if len(self._memory) > self._memory_bytes:
            self.move_to_file()

    def finish(self) -> None:
        """Nothing was held back, and no thread is left: what comes next may divide the process."""
        if self.fingerprint:
            self.fingerprint.wait()

    def move_to_file(self) -> None:
        """Write what is in memory to the file. When that fails, it stays where it is."""
        moved = 0
        try:
            if self._file is None:
                self._file = self._open_file()
            self.hash_aside()
            # A view, for a slice would be one copy more of all of it.
            with memoryview(self._memory) as memory:
                while moved < len(memory):
                    written = os.pwrite(self._file, memory[moved:], self._file_size)
                    self._file_size += written
                    moved += written
        except (OSError, StoreError) as error:
            # A full or missing directory must not cost what the answer needs.
            self.failure = str(error) if isinstance(error, StoreError) else str(error.strerror)
            self._memory_bytes = UNLIMITED
            if self._keep_bytes < UNLIMITED:
                self._keep_bytes = max(self._needed_bytes, self.size - moved)
        # Another one: what is being hashed must not change.
        self._memory = self._memory[moved:]

    def hash_aside(self) -> None:
        """Take what is in memory into the fingerprint, while something else is done."""
        if self.fingerprint and self._hashed_to < self.size:
            self.fingerprint.update_aside(self._not_hashed())
            self._hashed_to = self.size

    def seal(self) -> None:
        """All has come: the fingerprint is that of everything."""
        if self._is_sealed or not self.fingerprint:
            return
        self._is_sealed = True
        self.fingerprint.wait()
        with self._not_hashed() as rest:
            self.fingerprint.update(rest, self.lost)
        self._hashed_to = self.size

    def _not_hashed(self) -> memoryview:
        return memoryview(self._memory)[max(self._hashed_to - self._file_size, 0) :]

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while self._file is not None and start < min(stop, self._file_size):
            part = os.pread(self._file, min(stop, self._file_size) - start, start)
            if not part:
                raise StreamError("the temporary file has become shorter while it was read")
            parts.append(part)
            start += len(part)
        if start < stop:
            with memoryview(self._memory) as memory:
                parts.append(bytes(memory[start - self._file_size : stop - self._file_size]))
        return b"".join(parts)

    def view(self) -> bytes | mmap:
        """All of it, to be searched and sliced in place (see `types.Payload`)."""
        if self._file is not None and self._memory:
            self.move_to_file()
        if self._file is None or self._memory:
            return self.read(0, self.size)
        from mmap import ACCESS_READ, mmap

        return mmap(self._file, self._file_size, access=ACCESS_READ)

    def cut_file(self, most_bytes: int) -> None:
        """Make the file a whole one of at most so many bytes: the last thing that is done with it."""
        self.move_to_file()
        if self.failure:
            raise StoreError(self.failure)
        if self._file is not None and self._file_size > most_bytes:
            os.ftruncate(self._file, most_bytes)
            # Should it have to be read again after all, it is an output that has lost its end.
            self.lost += self._file_size - most_bytes
            self._file_size = most_bytes

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def in_memory(data: bytes) -> Spool:
    """Bytes that are in memory anyway: they need not go to a file, and nothing has to be closed."""
    spool = Spool(UNLIMITED)
    spool.write(data)
    return spool


class Passing:
    """Passes everything on at once, remembers the end of it, and keeps all of it if it has a spool."""

    is_out = True

    def __init__(self, write: Callable[[bytes], None], spool: Spool | None = None) -> None:
        self._write = write
        self.spool = spool
        self.passed = 0
        self.tail = b""

    def write(self, block: bytes) -> None:
        if self.spool:
            self.spool.write(block)
        self.passed += len(block)
        self.tail = (self.tail + block)[-TAIL_BYTES:]
        self._write(block)

    def finish(self) -> None:
        """Nothing was held back."""
        if self.spool:
            self.spool.finish()

    def close(self) -> None:
        if self.spool:
            self.spool.close()


class Filtered:
    """Hands everything to another sink through a filter that may hold some of it back for a while."""

    def __init__(self, step: Filter, sink: Sink) -> None:
        self._step = step
        self._sink = sink

    def write(self, block: bytes) -> None:
        if passed := self._step.feed(block):
            self._sink.write(passed)

    def finish(self) -> None:
        if rest := self._step.flush():
            self._sink.write(rest)
        self._sink.finish()
