"""A long text as one JSON string, or as one per line, block by block. Implements `core.cut.LongValues`."""

from __future__ import annotations

from tokcap.lean.plainjson import quoted
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload

# Shorter texts are written at once.
LONG_BYTES = 2 << 20
BLOCK_BYTES = 1 << 18


class LongString:
    """The text of a payload. Bytes that are not UTF-8 are replaced."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload

    def _texts(self) -> Iterator[str]:
        import codecs

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        size = self._payload.size
        for place in range(0, size, BLOCK_BYTES):
            end = min(place + BLOCK_BYTES, size)
            yield decoder.decode(self._payload.read(place, end), final=end == size)

    def document(self) -> Iterator[bytes]:
        """Yield an array with one string."""
        yield b'["'
        for text in self._texts():
            yield quoted(text)[1:-1]
        yield b'"]'

    def lines(self) -> Iterator[bytes]:
        """Yield one string per line, each with its line end."""
        begun = ""
        for text in self._texts():
            *ended, begun = (begun + text).split("\n")
            yield b"".join([quoted(line + "\n") + b"\n" for line in ended])
        if begun:
            yield quoted(begun) + b"\n"
