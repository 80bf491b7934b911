"""Spools: temporary storage for one stream, in memory first and in a file when it grows large.

A spool never looks inside the bytes and never fails because a file cannot be written.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError, StreamError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

    from tokcap.core.seek_points import SeekPoints

MEMORY_BYTES = 8 << 20
# When there is a file, bytes are moved to it in steps of this size or more.
STEP_BYTES = 1 << 20
TAIL_BYTES = 8 << 10
UNLIMITED = 1 << 62


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


class Spool:
    """A sink that keeps its bytes, and a payload that reads them back at any position.

    memory_bytes: move to a file when there are more, or when a block of `STEP_BYTES` follows others.
    open_file: opens that file.
    keep_bytes: only count the bytes after this many.
    needed_bytes: the answer needs these, so keep them in memory even if no file can be written.
    """

    # See `steps.destinations.Destination`: a spool passes nothing on.
    is_out = False
    passed = 0

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
        self._seek_points: SeekPoints | None = None
        # Number of bytes that were not kept.
        self.lost = lost_bytes
        # Why the file could not be written; empty if nothing went wrong.
        self.failure: str = ""

    @property
    def seek_points(self) -> SeekPoints:
        """Positions where reading can start; most payloads never have any."""
        if self._seek_points is None:
            from tokcap.core.seek_points import SeekPoints

            self._seek_points = SeekPoints()
        return self._seek_points

    @property
    def seek_points_if_used(self) -> SeekPoints | None:
        """The same, or None if nobody has asked for them: most outputs are text and need none."""
        return self._seek_points

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
            self.move_to_file(len(block))
        if not self._memory and type(block) is bytes:
            # Many outputs are one block, which is not copied.
            self._memory = block
        elif isinstance(self._memory, bytearray):
            self._memory += block
        else:
            self._memory = bytearray(self._memory) + block
        if len(self._memory) > self._memory_bytes:
            self.move_to_file()

    def finish(self) -> None:
        """Do nothing: a spool holds nothing back."""

    def move_to_file(self, coming_bytes: int = 0) -> None:
        """Write the bytes in memory to the file. If that fails, they stay in memory.

        coming_bytes: at least this many bytes will be written next.
        """
        moved = 0
        try:
            if self._file is None:
                self._file = self._open_file()
            self._before_move(coming_bytes)
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
        # A new bytearray, because a subclass may still be reading the old one in a thread.
        self._memory = self._memory[moved:]

    def _before_move(self, coming_bytes: int) -> None:
        """Let a subclass see the bytes in memory before they move to the file (see `move_to_file`)."""

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

    def check(self, start: int, stop: int) -> None:
        """Do nothing: the bytes come from this process."""

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


def in_memory(data: bytes, lost_bytes: int = 0) -> Spool:
    """Return a spool that holds `data` and never uses a file, so it needs no closing."""
    spool = Spool(UNLIMITED, lost_bytes=lost_bytes)
    spool.write(data)
    return spool
