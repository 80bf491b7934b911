"""Select members of many records at once: the compiled parser reads and writes a piece of them.

A piece whose records are not alike is walked over value by value.
"""

from __future__ import annotations

from tokcap.core.scratch import Scratch
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Selected
from tokcap.shapes.json_fields import Selector, select_from
from tokcap.shapes.json_pieces import PIECES, borders_of, main_container
from tokcap.shapes.json_text.compiled import Refused, members_of
from tokcap.shapes.json_text.record_type import (
    RecordType,
    arrays_of,
    compacted,
    has_value,
    keys_of,
    replace_column,
    values_in,
    written,
)
from tokcap.shapes.json_text.scanner import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.json_pieces import ArrayPieces, MainContainer

    # Whole paths, and what is left of each.
    Wanted: TypeAlias = Sequence[tuple[FieldPath, FieldPath]]

OBJECT, ARRAY = b"{", b"["
# No more names of members are collected: a message shows only some.
MOST_NAMES = 1000


def select_from_pieces(payload: Payload, paths: Sequence[FieldPath], shape: str) -> Selected | None:
    """Return the same as `json_fields.select_members` for an indexed payload; None if it has no pieces."""
    if borders := borders_of(payload, shape):
        fields, out, pieces = RecordFields(paths), Scratch(), PIECES[shape]
        out.write(pieces.opener)
        for kept in fields.selected(pieces.read(payload, borders), pieces):
            out.write(kept)
        out.write(pieces.closer)
        return Selected(out.text(), fields.found, list(fields.names))
    main = main_container(payload) if shape == "json" else None
    return select_in_document(main, paths) if main else None


def select_in_document(main: MainContainer, paths: Sequence[FieldPath]) -> Selected:
    """Return the fields of a document. Only what is around its main container is walked over."""
    around, out = Selector(main.around, paths, main.place), Scratch()
    around.run()
    filling = around.filling
    if filling is None:
        return Selected(b"".join(around.out), around.found, list(around.names))
    out.write(b"".join(around.out[: filling.place]))
    names = list(around.names)
    if filling.wanted:
        fields = RecordFields([rest for _, rest in filling.wanted])
        for kept in fields.selected(main.read(), main.pieces):
            out.write(kept)
        around.found.update(path for path, rest in filling.wanted if rest in fields.found)
        inner = [f"{filling.where}.{name}" if filling.where else name for name in fields.names]
        names = list(dict.fromkeys([*names[: filling.names], *inner, *names[filling.names :]]))
    else:
        separator = b""
        for piece in main.read():
            out.write(separator + compacted(main.pieces.as_text(piece))[1:-1])
            separator = b","
    out.write(b"".join(around.out[filling.place :]))
    return Selected(out.text(), around.found, names)


class RecordFields:
    """Some fields of many records."""

    def __init__(self, paths: Sequence[FieldPath]) -> None:
        self._paths = paths
        # The type of the objects at each path, and the same with only what is wanted.
        self._types: dict[FieldPath, tuple[RecordType, RecordType]] = {}
        self._has_learned = False
        self.found: set[FieldPath] = set()
        # All names that were seen, in order.
        self.names: dict[str, None] = {}

    def selected(self, texts: Iterator[bytes], pieces: ArrayPieces) -> Iterator[bytes]:
        """Yield the fields of all pieces, with what separates them."""
        separator = b""
        for piece in texts:
            kept = self._selected(piece, pieces)
            if kept:
                yield separator + kept
                separator = pieces.separator

    def _selected(self, piece: bytes, pieces: ArrayPieces) -> bytes:
        """Return the fields of the records in a piece."""
        if pieces.has_records and OBJECT not in piece and ARRAY not in piece:
            # Scalars have no fields.
            return b""
        if pieces.has_records:
            self._has_learned = False
            try:
                records = self._objects(
                    compacted(pieces.as_array(piece)), [(path, path) for path in self._paths]
                )
                kept = pieces.written(records)
            except Refused:
                pass
            else:
                if not self._has_learned or all(len(path) == 1 for path in self._paths):
                    return kept
                # The names inside of records are met in the order of a walk.
        elif not self._has_member(pieces.as_text(piece)):
            return b""
        selected = select_from(pieces.as_text(piece), self._paths)
        self.found.update(selected.found)
        self.names.update(dict.fromkeys(selected.names))
        return pieces.inside(bytes(selected.data))

    def _has_member(self, text: bytes) -> bool:
        """Return whether an object has a member that is wanted."""
        try:
            keys = members_of(text)
        except Refused:
            return True
        if any(path[0] in keys for path in self._paths):
            return True
        if len(self.names) < MOST_NAMES:
            self.names.update(dict.fromkeys(map(printable, keys)))
        return False

    def _objects(self, text: bytes, wanted: Wanted, where: FieldPath = ()) -> Sequence[object]:
        """Return the objects of an array with only the fields; `Refused` if they are not alike."""
        _, some = self._types_of(text, wanted, where)
        records = some.read(text)
        for key, attribute in some.attributes.items():
            inside = [(path, rest[1:]) for path, rest in wanted if rest[0] == key]
            whole = [path for path, rest in inside if not rest]
            if not whole:
                kept = self._inside(values_in(records, attribute), inside, (*where, key))
                replace_column(records, attribute, kept)
            elif not self.found.issuperset(whole) and has_value(records, attribute):
                self.found.update(whole)
        return records

    def _inside(self, values: Sequence[bytes], wanted: Wanted, where: FieldPath) -> Sequence[bytes]:
        """Return the fields inside of each value; nothing for a scalar, or where there is no value."""
        kept = [b""] * len(values)
        objects = [number for number, value in enumerate(values) if value[:1] == OBJECT]
        if objects:
            text = b"[" + b",".join([values[number] for number in objects]) + b"]"
            for number, record in zip(objects, self._objects(text, wanted, where), strict=True):
                kept[number] = written(record)
        arrays = [number for number, value in enumerate(values) if value[:1] == ARRAY]
        if arrays:
            found = arrays_of(b"[" + b",".join([values[number] for number in arrays]) + b"]")
            flat = self._inside([bytes(value) for array in found for value in array], wanted, where)
            place = 0
            for number, array in zip(arrays, found, strict=True):
                own = flat[place : place + len(array)]
                kept[number] = b"[" + b",".join(filter(None, own)) + b"]"
                place += len(array)
        return kept

    def _types_of(self, text: bytes, wanted: Wanted, where: FieldPath) -> tuple[RecordType, RecordType]:
        """Return the type of the objects at a place, and the same with only what is wanted."""
        known = self._types.get(where)
        if known is not None:
            try:
                known[0].read_faithfully(text)
            except Refused:
                pass
            else:
                return known
        keys, in_order = keys_of(text, tuple(known[0].attributes) if known else ())
        names = {rest[0] for _, rest in wanted}
        everything = RecordType(keys)
        self._types[where] = known = everything, RecordType([key for key in keys if key in names], only=True)
        self._has_learned = True
        if not where:
            self.names.update(dict.fromkeys(map(printable, in_order)))
        everything.read_faithfully(text)
        return known
