"""Select members of many records at once: the compiled parser reads and writes a piece of them.

A piece whose records are not alike is walked over value by value.
"""

from __future__ import annotations

from tokcap.core.scratch import Scratch
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Selected
from tokcap.shapes.json_fields import select_from
from tokcap.shapes.json_pieces import PIECES
from tokcap.shapes.json_text.compiled import Refused
from tokcap.shapes.json_text.record_type import RecordType, compacted, has_value, keys_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.json_pieces import ArrayPieces


class RecordFields:
    """Some fields of the records of one payload."""

    def __init__(self, paths: Sequence[FieldPath]) -> None:
        self._paths = paths
        # Paths into the values of a record are left to the walk.
        self._wanted = {path[0] for path in paths if len(path) == 1}
        self._is_plain = len(self._wanted) == len(paths)
        self._all: RecordType | None = None
        self._some = RecordType(())
        self._found: set[FieldPath] = set()
        # All names that were seen, in order.
        self._names: dict[str, None] = {}

    def select(self, payload: Payload, borders: Sequence[int], shape: str) -> Selected:
        """Return the payload with only these fields."""
        pieces, out = PIECES[shape], Scratch()
        out.write(pieces.opener)
        separator = b""
        for piece in pieces.read(payload, borders):
            kept = self._selected(piece, pieces)
            if kept:
                out.write(separator + kept)
                separator = pieces.separator
        out.write(pieces.closer)
        return Selected(out.text(), self._found, list(self._names))

    def _selected(self, piece: bytes, pieces: ArrayPieces) -> bytes:
        """Return the fields of the records in a piece."""
        if self._is_plain:
            try:
                return pieces.written(self._records(compacted(pieces.as_array(piece))))
            except Refused:
                pass
        selected = select_from(pieces.as_text(piece), self._paths)
        self._found.update(selected.found)
        self._names.update(dict.fromkeys(selected.names))
        return pieces.inside(bytes(selected.data))

    def _records(self, text: bytes) -> Sequence[object]:
        """Return the records of an array with only the fields; `Refused` if they are not alike."""
        try:
            self._check(text)
        except Refused:
            self._learn(text)
            self._check(text)
        records = self._some.read(text)
        for path in self._paths:
            attribute = self._some.attributes.get(path[0])
            if path not in self._found and attribute is not None and has_value(records, attribute):
                self._found.add(path)
        return records

    def _check(self, text: bytes) -> None:
        if self._all is None:
            raise Refused("no record was seen yet")
        self._all.read_faithfully(text)

    def _learn(self, text: bytes) -> None:
        """Find the keys of the records in a piece."""
        keys, in_order = keys_of(text, tuple(self._all.attributes) if self._all else ())
        self._all = RecordType(keys)
        self._some = RecordType([key for key in keys if key in self._wanted], only=True)
        self._names.update(dict.fromkeys(in_order))
