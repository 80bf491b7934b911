"""Write many records as rows of a table: the compiled parser reads a piece of them, column by column.

A piece whose records are not alike is read record by record.
"""

from __future__ import annotations

from tokcap.core.scratch import Scratch
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_pieces import PIECES
from tokcap.shapes.json_rows import cell_of, quoted, records_of, row_of
from tokcap.shapes.json_text.compiled import Refused
from tokcap.shapes.json_text.record_type import RecordType, column, compacted, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from mmap import mmap

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_pieces import ArrayPieces, Part


class NotATable(Exception):
    """The records cannot be written as rows, or not in fewer bytes."""


class RecordRows:
    """The records of one payload as a table."""

    def __init__(self, payload: Payload | Part, borders: Sequence[int], shape: str) -> None:
        self._payload = payload
        self._borders = borders
        self._pieces: ArrayPieces = PIECES[shape]
        self._type: RecordType | None = None
        # The columns in the order in which they were first seen.
        self._columns: dict[str, int] = {}

    def table(self) -> bytes | mmap | None:
        """Return the table; None if the records are not one."""
        try:
            # The first piece has most columns, usually all.
            self._rows_of(next(self._pieces.read(self._payload, self._borders)))
            known = 0
            while known < len(self._columns):
                # A column that was found late is missing in the rows before.
                known = len(self._columns)
                out = self._rows()
        except NotATable:
            return None
        return out.text() if self._columns and out.size <= self._payload.size else None

    def _rows(self) -> Scratch:
        """Write all rows with the columns that are known. From a new column on, the rows are only read."""
        out, most_bytes, known = Scratch(), self._payload.size, len(self._columns)
        out.write(b"\t".join(quoted(name) for name in self._columns) + b"\n")
        number = 0
        for piece in self._pieces.read(self._payload, self._borders):
            rows = self._rows_of(piece)
            number += len(rows)
            if number * len(self._columns) > most_bytes or out.size > most_bytes:
                raise NotATable
            if len(self._columns) == known:
                # One empty cell would make a blank line, and blank lines are not rows.
                lines = rows if known > 1 else [row or b'""' for row in rows]
                out.write(b"\n".join(lines) + b"\n" if lines else b"")
        return out

    def _rows_of(self, piece: bytes) -> Sequence[bytes]:
        """Return the records of a piece as rows."""
        try:
            text = compacted(self._pieces.as_array(piece))
            records = self._read(text)
        except Refused:
            return list(self._slowly(piece))
        assert self._type is not None
        attributes = self._type.attributes
        cells = [
            cells_of(column(records, attributes[name]), len(records))
            if name in attributes
            else [b""] * len(records)
            for name in self._columns
        ]
        return list(map(b"\t".join, zip(*cells, strict=True)))

    def _read(self, text: bytes) -> Sequence[object]:
        if self._type is not None:
            try:
                return self._type.read_faithfully(text)
            except Refused:
                pass
        keys, in_order = keys_of(text, tuple(self._type.attributes) if self._type else ())
        self._type = RecordType(keys)
        records = self._type.read_faithfully(text)
        for key in in_order:
            self._columns.setdefault(key, len(self._columns))
        return records

    def _slowly(self, piece: bytes) -> Iterator[bytes]:
        text = self._pieces.as_text(piece)
        for start, _ in records_of(text, self._pieces.are_lines):
            row = row_of(text, start, self._columns)
            if row is None:
                raise NotATable
            yield b"\t".join(row + [b""] * (len(self._columns) - len(row)))


def cells_of(lines: bytes, number: int) -> Iterable[bytes]:
    """Return values, one per line, as cells."""
    if b"\\" not in lines and lines[:1] == b'"' == lines[-1:] and lines.count(b'"\n"') == number - 1:
        # Only strings, and no escape in them.
        return lines[1:-1].split(b'"\n"')
    values = lines.split(b"\n")
    # Numbers, words, and containers, which have no blanks here.
    if lines[:1] != b'"' and b'\n"' not in lines and b"null" not in values:
        return values
    return [value if value[:1] in (b"{", b"[") else cell_of(value) for value in values]
