"""CSV and TSV as source text: where rows and cells begin and end. Cells are only ever copied."""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.shapes.jsontext import View


class Dialect(Record):
    """What separates cells, and what a row and a cell look like."""

    delimiter: bytes
    row: re.Pattern[bytes]
    cell: re.Pattern[bytes]
    # A row with its line end; what is no such row, to the end, in a group.
    row_or_rest: re.Pattern[bytes]


def dialect(delimiter: bytes) -> Dialect:
    # A quote is one only at the beginning of a cell; inside quotes everything is the cell's own. One
    # that is never closed makes no cell, and so no row.
    cell = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^%(d)s\r\n]*+|(?!")[^%(d)s\r\n]*+)' % {b"d": delimiter}
    cells = cell + rb"(?:%(d)s%(c)s)*+" % {b"d": delimiter, b"c": cell}
    row = re.compile(cells + rb"(?:\r\n|\n|\r|\Z)")
    row_or_rest = re.compile(cells + rb"(?:\r\n|\n|\r)|(.++)", re.DOTALL)
    return Dialect(delimiter, row, re.compile(cell), row_or_rest)


CSV, TSV = dialect(b","), dialect(b"\t")


def end_of_row(data: View, start: int, dialect: Dialect) -> int:
    """Where the row ends that begins at `start`, behind its line end."""
    match = dialect.row.match(data, start)
    # A quote that is never closed: the rest is one row.
    return match.end() if match and match.end() > start else len(data)


def pass_rows(data: View, start: int, stop: int, dialect: Dialect) -> tuple[int, int]:
    """Where the first row begins at `stop` or behind it, and how many rows lie before it from `start` on.

    What lies between is held in memory at once.
    """
    # No row begins within a line end.
    stop += data[stop - 1 : stop + 1] == b"\r\n"
    block = data[start:stop]
    if b'"' in block:
        rows = dialect.row_or_rest.findall(block)
        rest = rows.pop() if rows else b""
        count, place = len(rows) + (not rest), stop - len(rest)
    else:
        count = block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
        place = start + max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
    if place < stop:
        # The last one reaches further.
        return end_of_row(data, place, dialect), count + 1
    return place, count


def cells_of(row: bytes, dialect: Dialect) -> Sequence[bytes]:
    """The source text of each cell of a row."""
    cells = []
    text = row.rstrip(b"\r\n")
    place = 0
    while True:
        match = dialect.cell.match(text, place)
        stop = match.end() if match else len(text)
        cells.append(text[place:stop])
        if stop >= len(text):
            return cells
        place = stop + 1


def cell_text(cell: bytes) -> str:
    """What a cell says, without its quotes."""
    text = cell.decode("utf-8", "replace")
    if text.startswith('"') and text.endswith('"') and len(text) >= 2:
        return text[1:-1].replace('""', '"')
    return text


def quoted_cell(text: str, dialect: Dialect) -> bytes:
    """A text as a cell."""
    cell = text.encode()
    if any(sign in cell for sign in (b'"', dialect.delimiter)):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell
