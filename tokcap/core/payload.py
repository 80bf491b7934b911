"""The bytes of one call: where they come from, where they go, and how they are read again.

*payload*  the bytes that a command wrote to one stream, or that came from standard input
*record*   a unit that is not split if possible: a line, a row, a JSON value
*handle*   the short name of a stored output, made from its bytes
*stored output*  bytes in the store, what is known about them, and indexes to read them by
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError, StreamError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap
    from typing import Protocol

    from tokcap.core.request import Stream
    from tokcap.core.seek_points import SeekPoints
    from tokcap.exits import Ending

    class Source(Protocol):
        """Where bytes come from."""

        def blocks(self) -> Iterator[tuple[Stream, bytes]]:
            """Yield what arrives. An empty block means that the source waits: show what there is.

            `RUNS_LONG` says that the source runs long, and `RUNS_ON`, before that, that it goes on.
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


class Silence(bytes):
    """An empty block with an identity of its own."""


RUNS_LONG = Silence()
# The source goes on, and gets a name by which others can read what it has written so far.
RUNS_ON = Silence()


# A spool moves to a file when it has more bytes.
MEMORY_BYTES = 8 << 20
# The same for a text that is made during a call.
SCRATCH_BYTES = 1 << 20
# When there is a file, bytes are moved to it in steps of this size or more.
STEP_BYTES = 1 << 20
TAIL_BYTES = 8 << 10
UNLIMITED = 1 << 62
# The size of a block when a long text is written; a multiple of the size of a page.
WRITTEN_BYTES = 1 << 20
# A payload of this size that is shown whole is written in blocks.
LONG_BYTES = 2 << 20
# The system may map this many bytes at once when one of them is read.
MAPPED_BYTES = 2 << 20


def open_nameless_file() -> int:
    """Return a descriptor of a temporary file that has no name and disappears when it is closed."""
    import tempfile

    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            return os.dup(file.fileno())
    except FileNotFoundError:
        import errno

        # The message of Python lists every directory that it has tried, and a model would pay for it.
        raise OSError(errno.EROFS, "no directory can be written here") from None


class OwnBytes:
    """The base of payloads that this process has made: nothing has to be checked."""

    _seek_points: SeekPoints | None = None

    @property
    def seek_points(self) -> SeekPoints:
        """Positions where reading can start; most payloads never have any."""
        if self._seek_points is None:
            from tokcap.core.seek_points import SeekPoints

            self._seek_points = SeekPoints()
        return self._seek_points

    @property
    def seek_points_if_used(self) -> SeekPoints | None:
        """The seek points, or None if no reader has asked for them: most outputs are text and need none."""
        return self._seek_points

    def check(self, start: int, stop: int) -> None:
        """Do nothing: the bytes come from this process."""


class Spool(OwnBytes):
    """Temporary storage for one stream: a sink that keeps its bytes, and a payload that reads them back.

    It never looks inside the bytes, and never fails because a file cannot be written.

    memory_bytes: move to a file when there are more, or when a block of `STEP_BYTES` follows others.
    open_file: opens that file.
    keep_bytes: only count the bytes after this many.
    needed_bytes: the answer needs these, so keep them in memory even if no file can be written.
    """

    # See `steps.destinations.Destination`: a spool passes nothing on.
    is_out = False
    passed = 0
    words = b""

    def __init__(
        self,
        memory_bytes: int = MEMORY_BYTES,
        *,
        open_file: Callable[[], int] = open_nameless_file,
        keep_bytes: int = UNLIMITED,
        needed_bytes: int = UNLIMITED,
        lost_bytes: int = 0,
    ) -> None:
        self._memory: bytes | bytearray = b""
        self._memory_bytes = memory_bytes
        self._open_file = open_file
        self._keep_bytes = keep_bytes
        self._needed_bytes = needed_bytes
        self._file: int | None = None
        self._file_size = 0
        # Number of bytes that were not kept.
        self.lost = lost_bytes
        # Why the file could not be written; empty if nothing went wrong.
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
        if self._memory and len(block) >= STEP_BYTES and self._memory_bytes < UNLIMITED:
            # To write both to the file takes less time than to join them in memory.
            self.move_to_file()
        if not self._memory and type(block) is bytes:
            # Many outputs are one block, which is not copied.
            self._memory = block
        elif isinstance(self._memory, bytearray):
            self._memory += block
        else:
            self._memory = bytearray(self._memory) + block
        if len(self._memory) > self._memory_bytes:
            self.move_to_file()

    def write_through(self) -> None:
        """Write what comes to the file at once, so that others can read it there."""
        if not self.failure:
            self._memory_bytes = 0
            if self._memory:
                self.move_to_file()

    def finish(self) -> None:
        """Do nothing: a spool holds nothing back."""

    def move_to_file(self) -> None:
        """Write the bytes in memory to the file. If that fails, they stay in memory."""
        moved = 0
        try:
            if self._file is None:
                self._file = self._open_file()
            self._before_move()
            # Slicing the bytearray itself would copy all of it once more.
            with memoryview(self._memory) as memory:
                while moved < len(memory):
                    written = os.pwrite(self._file, memory[moved:], self._file_size)
                    self._file_size += written
                    moved += written
            # A block of `STEP_BYTES` is moved at once.
            self._memory_bytes = min(self._memory_bytes, STEP_BYTES - 1)
        except (OSError, StoreError) as error:
            self.failure = str(error) if isinstance(error, StoreError) else str(error.strerror)
            self._memory_bytes = UNLIMITED
            if self._keep_bytes < UNLIMITED:
                self._keep_bytes = max(self._needed_bytes, self.size - moved)
        self._memory = self._memory[moved:]

    def _before_move(self) -> None:
        """Let a subclass see the bytes in memory before they move to the file."""

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while self._file is not None and start < min(stop, self._file_size):
            part = os.pread(self._file, min(stop, self._file_size) - start, start)
            if not part:
                raise StreamError("the temporary file became shorter while it was read")
            parts.append(part)
            start += len(part)
        if start < stop:
            with memoryview(self._memory) as memory:
                parts.append(bytes(memory[start - self._file_size : stop - self._file_size]))
        return b"".join(parts)

    def view(self) -> bytes | mmap:
        """Return all bytes, to search and slice in place (see `core.payload.Payload`)."""
        if self._file is not None and self._memory:
            self.move_to_file()
        if self._file is None or self._memory:
            return self.read(0, self.size)
        from mmap import ACCESS_READ, mmap

        return mmap(self._file, self._file_size, access=ACCESS_READ)

    def into_text(self) -> bytes | mmap:
        """Return all bytes and close the file. Nothing can be written after that."""
        text = self.view()
        self.close()
        return text

    def complete_file(self, most_bytes: int) -> None:
        """Move everything to the file and cut the file to `most_bytes`; `StoreError` if that fails."""
        self.move_to_file()
        if self.failure:
            raise StoreError(self.failure)
        if self._file is not None and self._file_size > most_bytes:
            os.ftruncate(self._file, most_bytes)
            # If storing fails after this, the answer is made again and must know that the end is gone.
            self.lost += self._file_size - most_bytes
            self._file_size = most_bytes

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class TextPayload(OwnBytes):
    """A text as a payload."""

    def __init__(self, data: bytes | mmap, lost_bytes: int = 0) -> None:
        self._data = data
        self.lost = lost_bytes

    @property
    def size(self) -> int:
        return len(self._data)

    def read(self, start: int, stop: int) -> bytes:
        found = self._data[start:stop]
        # Probably the next read is somewhere else.
        forget(self._data, start, len(found))
        return found

    def view(self) -> bytes | mmap:
        return self._data


class LongText:
    """A text that is too long to be copied. It is written block by block."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, place: slice) -> bytes:
        return self._data[place]

    def __bytes__(self) -> bytes:
        return self._data[:]

    def blocks(self) -> Iterator[bytes]:
        """Yield the text. What was yielded takes no memory any more."""
        for place in range(0, len(self._data), WRITTEN_BYTES):
            yield self._data[place : place + WRITTEN_BYTES]
            forget(self._data, place, WRITTEN_BYTES)


def forget(data: bytes | mmap, place: int, size: int) -> None:
    """Give back the memory of a part of a mapped file, if the system can do that. It can be read again."""
    if isinstance(data, bytes) or place >= len(data):
        return
    import mmap

    if hasattr(mmap, "MADV_DONTNEED"):
        begin = place - place % MAPPED_BYTES
        end = place + size + MAPPED_BYTES - (place + size) % MAPPED_BYTES
        data.madvise(mmap.MADV_DONTNEED, begin, min(end, len(data)) - begin)
