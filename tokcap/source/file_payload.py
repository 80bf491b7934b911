"""A file as a payload: read where it is, never copied."""

from __future__ import annotations

import os

from tokcap.errors import StreamError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

    from tokcap.core.seek_points import SeekPoints


class FilePayload:
    """The bytes of an open file, from a position on. Implements `core.payload.Payload`."""

    lost = 0

    def __init__(
        self, descriptor: int, size: int, begin: int = 0, seen: Callable[[int], None] | None = None
    ) -> None:
        self._descriptor = descriptor
        self._begin = begin
        self.size = size
        # Gets the number of bytes after each read.
        self._seen = seen

    @property
    def seek_points(self) -> SeekPoints:
        from tokcap.core.seek_points import SeekPoints

        return SeekPoints()

    def read(self, start: int, stop: int) -> bytes:
        parts = []
        while start < stop:
            part = os.pread(self._descriptor, stop - start, self._begin + start)
            if not part:
                raise StreamError("the file became shorter while it was read")
            parts.append(part)
            start += len(part)
            if self._seen:
                self._seen(len(part))
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def view(self) -> bytes | mmap:
        return self.read(0, self.size)

    def check(self, start: int, stop: int) -> None:
        """Do nothing: nobody has said which bytes the file should have."""
