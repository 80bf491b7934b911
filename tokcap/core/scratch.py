"""Long texts that are made during a call: in memory while they are short, else in a file that has no name."""

from __future__ import annotations

from tokcap.core.seek_points import SeekPoints
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap
    from typing import BinaryIO

# Longer texts go to a file.
MEMORY_BYTES = 1 << 20
# The size of a block when a text is read again; a multiple of the size of a page.
BLOCK_BYTES = 1 << 20
# The system may map so much at once for one byte that is read.
MAPPED_BYTES = 2 << 20


class Scratch:
    """Takes a text in blocks."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._blocks: list[bytes] = []
        self._waiting = 0
        self._file: BinaryIO | None = None
        self.size = 0

    def write(self, block: bytes) -> None:
        self._blocks.append(block)
        self._waiting += len(block)
        self.size += len(block)
        if self._waiting > self._memory_bytes:
            self._move_to_file()

    def _move_to_file(self) -> None:
        """Write what waits to the file. If there is no room for a file, everything stays in memory."""
        import tempfile

        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # `text` closes it
            for block in self._blocks:
                rest = memoryview(block)
                while rest:
                    rest = rest[self._file.write(rest) :]
        except OSError:
            self._back_to_memory()
            return
        self._blocks, self._waiting = [], 0

    def _back_to_memory(self) -> None:
        self._memory_bytes = 1 << 62
        file, self._file = self._file, None
        if file is None:
            return
        with file:
            file.seek(0)
            # The last block may be in the file in part: it is still waiting.
            done = file.read(self.size - self._waiting)
        self._blocks.insert(0, done)

    def text(self) -> bytes | mmap:
        """Return the whole text. Nothing can be written after that."""
        if self._file is None:
            return b"".join(self._blocks)
        self._move_to_file()
        if self._file is None:
            return b"".join(self._blocks)
        from mmap import ACCESS_READ, mmap

        with self._file as file:
            return mmap(file.fileno(), self.size, access=ACCESS_READ)


class TextPayload:
    """A text as a payload. Implements `core.payload.Payload`."""

    lost = 0

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data
        self.seek_points = SeekPoints()

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

    def check(self, start: int, stop: int) -> None:
        """Do nothing: the bytes come from this process."""


class LongText:
    """A text that is too long to be copied. It is written block by block."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __bytes__(self) -> bytes:
        return self._data[:]

    def blocks(self) -> Iterator[bytes]:
        """Yield the text. What was yielded takes no memory any more."""
        for place in range(0, len(self._data), BLOCK_BYTES):
            yield self._data[place : place + BLOCK_BYTES]
            forget(self._data, place, BLOCK_BYTES)


def forget(data: bytes | mmap, place: int, size: int) -> None:
    """Give back the memory of a part of a mapped file, if the system can do that. It can be read again."""
    if isinstance(data, bytes) or place >= len(data):
        return
    import mmap

    if hasattr(mmap, "MADV_DONTNEED"):
        begin = place - place % MAPPED_BYTES
        end = place + size + MAPPED_BYTES - (place + size) % MAPPED_BYTES
        data.madvise(mmap.MADV_DONTNEED, begin, min(end, len(data)) - begin)
