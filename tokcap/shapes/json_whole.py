"""All of an indexed payload, without insignificant white space. Implements `core.cut.LongValues`."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_pieces import PIECES, borders_of, main_container
from tokcap.shapes.json_text.compiled import Refused, count_elements, members_of_piece
from tokcap.shapes.json_text.record_type import compacted, parts_of
from tokcap.shapes.json_text.scanner import compact, members, skip_blanks
from tokcap.shapes.json_text.tree import ARRAY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_pieces import MainContainer


class WholeRecords:
    """The records of a payload of which an index was made."""

    def __init__(self, payload: Payload, borders: Sequence[int], shape: str) -> None:
        self._payload = payload
        self._borders = borders
        self._pieces = PIECES[shape]
        # `Refused` if a piece cannot be read as an array.
        self.count = sum(map(count_elements, self._arrays()))

    def _arrays(self) -> Iterator[bytes]:
        for piece in self._pieces.read(self._payload, self._borders):
            yield compacted(self._pieces.as_array(piece))

    def document(self) -> Iterator[bytes]:
        """Yield the records as one array."""
        separator = b"["
        for array in self._arrays():
            yield separator + array[1:-1]
            separator = b","
        yield b"]"

    def lines(self) -> Iterator[bytes]:
        """Yield one record per line."""
        for array in self._arrays():
            yield b"".join([part + b"\n" for part in parts_of(array)])


class WholeObject:
    """A document that is an object."""

    def __init__(self, main: MainContainer) -> None:
        self._main = main
        around = main.around
        # Records are the elements of all arrays at the top.
        tops = [slice(*span) for _, span in members(around, skip_blanks(around, 0))]
        self.count = sum(count_elements(around[top]) for top in tops if around[top.start] == ARRAY[0])
        # `Refused` if a piece cannot be read.
        for piece in main.read():
            text = compacted(main.pieces.as_text(piece))
            if main.depth == 1 and text[:1] == ARRAY:
                self.count += count_elements(text)
            elif not main.depth:
                arrays = (value for value in members_of_piece(text) if value[:1] == ARRAY)
                self.count += sum(map(count_elements, arrays))

    def document(self) -> Iterator[bytes]:
        """Yield the document."""
        yield compact(self._main.before)
        separator = b""
        for piece in self._main.read():
            text = compacted(self._main.pieces.as_text(piece))
            yield separator + text[1:-1]
            separator = b","
        yield compact(self._main.after)

    def lines(self) -> Iterator[bytes]:
        """Yield the document as one line."""
        yield from self.document()
        yield b"\n"


def whole_records(payload: Payload, shape: str) -> WholeRecords | WholeObject | None:
    """Return all records of a payload with an index; None if the parser cannot read them so."""
    borders = borders_of(payload, shape)
    try:
        if borders:
            return WholeRecords(payload, borders, shape)
        main = main_container(payload) if shape == "json" else None
        return WholeObject(main) if main else None
    except Refused:
        return None
