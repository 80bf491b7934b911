"""Bytes that the caller already has, as a source."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from tokcap.core.request import Stream

BLOCK_BYTES = 1 << 18


class GivenBytes:
    """Yields the bytes in blocks. No command runs, so there is no exit status."""

    def __init__(self, data: bytes | mmap) -> None:
        self._data = data
        self._stopped = False

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        for start in range(0, len(self._data), BLOCK_BYTES):
            if self._stopped:
                return
            yield "out", self._data[start : start + BLOCK_BYTES]

    def stop(self, stream: Stream) -> None:
        self._stopped = self._stopped or stream == "out"

    def limit_reached(self) -> None:
        self._stopped = True

    def end(self) -> None:
        """Return None: no command ran."""

    def close(self) -> None:
        """Do nothing: nothing was opened."""
