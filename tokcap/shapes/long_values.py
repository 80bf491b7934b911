"""All of a large payload as JSON values, written block by block. Implements `core.cut.LongValues`."""

from __future__ import annotations

from tokcap.startup.plainjson import quoted
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_index import MainContainer
    from tokcap.shapes.json_parts import ScannedParts

# Shorter texts are written at once.
LONG_BYTES = 2 << 20
BLOCK_BYTES = 1 << 18


class LongString:
    """A long text as one JSON string, or as one per line. Bytes that are not UTF-8 are replaced."""

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


class LongJson:
    """All of a payload that has an index, without insignificant white space."""

    def __init__(self, main: MainContainer, parts: ScannedParts) -> None:
        self._main = main
        self._parts = parts

    def document(self) -> Iterator[bytes]:
        """Yield one document; JSON Lines as an array."""
        main = self._main
        yield self._parts.compact(main.before) or b"["
        separator = b""
        for piece in main.pieces():
            if main.kind:
                yield separator + self._parts.compact(main.kind + piece + main.after[:1])[1:-1]
            else:
                yield separator + b",".join(main.values(piece, self._parts))
            separator = b","
        yield self._parts.compact(main.after) or b"]"

    def lines(self) -> Iterator[bytes]:
        """Yield one record per line; a document that is not an array is one record."""
        main = self._main
        if main.keys or main.kind == b"{":
            yield from self.document()
            yield b"\n"
            return
        for piece in main.pieces():
            yield b"".join([value + b"\n" for value in main.values(piece, self._parts)])
