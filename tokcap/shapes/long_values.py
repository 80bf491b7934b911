"""All of a large payload, written block by block: as it is, or as JSON. Implements `core.cut.LongValues`."""

from __future__ import annotations

from tokcap.shapes.json_scanner import start_of_text
from tokcap.startup.plainjson import quoted
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_index import MainContainer
    from tokcap.shapes.json_parts import ScannedParts

BLOCK_BYTES = 1 << 18


class LongDocument:
    """A JSON document that cannot be read in pieces. Its line breaks, which are white space, are left out."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload

    def source(self) -> Iterator[bytes]:
        """Yield the payload as it is."""
        size = self._payload.size
        for place in range(0, size, BLOCK_BYTES):
            yield self._payload.read(place, min(place + BLOCK_BYTES, size))

    def document(self) -> Iterator[bytes]:
        blocks = self.source()
        first = next(blocks, b"")
        yield first[start_of_text(first) :].translate(None, b"\r\n")
        for block in blocks:
            yield block.translate(None, b"\r\n")

    def lines(self) -> Iterator[bytes]:
        yield from self.document()
        yield b"\n"


class LongString(LongDocument):
    """A long text as one JSON string, or as one per line. Bytes that are not UTF-8 are replaced."""

    def _texts(self) -> Iterator[str]:
        import codecs

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for block in self.source():
            yield decoder.decode(block)
        yield decoder.decode(b"", final=True)

    def document(self) -> Iterator[bytes]:
        """Yield an array with one string."""
        yield b'["'
        for text in self._texts():
            yield quoted(text)[1:-1]
        yield b'"]'

    def lines(self) -> Iterator[bytes]:
        """Yield one string per line, each with its line end."""
        is_begun = False
        for text in self._texts():
            *ended, rest = text.split("\n")
            # The first line may have begun in the block before.
            out = b"".join([quoted(line + "\n") + b"\n" for line in ended])[is_begun and bool(ended) :]
            is_begun = is_begun and not ended
            yield out + (quoted(rest)[is_begun:-1] if rest else b"")
            is_begun = is_begun or bool(rest)
        if is_begun:
            yield b'"\n'


class LongJson(LongDocument):
    """All of a payload that has an index, without insignificant white space."""

    def __init__(self, main: MainContainer, parts: ScannedParts) -> None:
        super().__init__(main.payload)
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
