"""The only reader of CSV and TSV. It finds where rows and cells begin and end, and copies cells unchanged."""

from __future__ import annotations

import re

from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap

    from tokcap.core.seek_points import ShapeSeekPoints

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Dialect(Record):
    """What separates cells, and patterns for a row and a cell."""

    delimiter: bytes
    row: re.Pattern[bytes]
    cell: re.Pattern[bytes]
    # A row with its line end; text that is not such a row, up to the end, is group 1.
    row_or_rest: re.Pattern[bytes]


def dialect(delimiter: bytes) -> Dialect:
    # A quote opens a cell only at its beginning; everything up to the closing quote belongs to the cell. A
    # quote that is never closed makes no cell, and so no row.
    cell = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^%(d)s\r\n]*+|(?!")[^%(d)s\r\n]*+)' % {b"d": delimiter}
    cells = cell + rb"(?:%(d)s%(c)s)*+" % {b"d": delimiter, b"c": cell}
    row = re.compile(cells + rb"(?:\r\n|\n|\r|\Z)")
    row_or_rest = re.compile(cells + rb"(?:\r\n|\n|\r)|(.++)", re.DOTALL)
    return Dialect(delimiter, row, re.compile(cell), row_or_rest)


CSV, TSV = dialect(b","), dialect(b"\t")


def end_of_row(data: bytes | mmap, start: int, dialect: Dialect) -> int:
    """Return the end of the row that begins at `start`, after its line end."""
    match = dialect.row.match(data, start)
    # If a quote is never closed, the rest is one row.
    return match.end() if match and match.end() > start else len(data)


def is_row(data: bytes | mmap, start: int, dialect: Dialect) -> bool:
    """Return whether a row begins at `start`: not if one of its quotes is never closed."""
    return start >= len(data) or dialect.row.match(data, start) is not None


def rows(data: bytes | mmap, start: int, dialect: Dialect) -> Iterator[tuple[int, int]]:
    """Yield where each row begins and ends, from `start` on."""
    while start < len(data):
        end = end_of_row(data, start, dialect)
        yield start, end
        start = end


def split_rows(block: bytes, dialect: Dialect) -> Sequence[bytes]:
    """Return the rows of a block of whole rows, with their line ends."""
    if b'"' not in block:
        return block.splitlines(keepends=True)
    return [block[start:end] for start, end in rows(block, 0, dialect)]


def start_of_table(data: bytes | mmap) -> int:
    """Return the position after a byte order mark."""
    return len(BYTE_ORDER_MARK) if data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0


def pass_rows(data: bytes | mmap, start: int, stop: int, dialect: Dialect) -> tuple[int, int]:
    """Return where the first row at or after `stop` begins, and the number of rows from `start` to there.

    The bytes between are held in memory at once.
    """
    # No row begins inside a line end.
    stop += data[stop - 1 : stop + 1] == b"\r\n"
    block = data[start:stop]
    if b'"' in block:
        found = dialect.row_or_rest.findall(block)
        rest = found.pop() if found else b""
        count, place = len(found) + (not rest), stop - len(rest)
    else:
        count = block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
        place = start + max(block.rfind(b"\n"), block.rfind(b"\r")) + 1
    if place < stop:
        # The last row ends after `stop`.
        return end_of_row(data, place, dialect), count + 1
    return place, count


def passed_rows(
    data: bytes | mmap, place: int, number: int, stop: int, points: ShapeSeekPoints, dialect: Dialect
) -> Iterator[tuple[int, int]]:
    """Pass over rows up to the first one at or after `stop`, in steps, and add seek points.

    `place` is where row `number` begins. Yield the same of the next row after each step.
    """
    while place < min(stop, len(data)):
        border = (place // STRIDE_BYTES + 1) * STRIDE_BYTES
        place, passed = pass_rows(data, place, min(border, stop), dialect)
        number += passed
        if border < stop and place < len(data):
            # Only a large payload comes here.
            from tokcap.core.payload import forget

            forget(data, border - STRIDE_BYTES, STRIDE_BYTES)
            points.add(place, [number])
        yield place, number


def cells_of(row: bytes, dialect: Dialect) -> Sequence[bytes]:
    """Return the source text of each cell of a row."""
    text = row.rstrip(b"\r\n")
    if b'"' not in text:
        return text.split(dialect.delimiter)
    cells = []
    place = 0
    while True:
        match = dialect.cell.match(text, place)
        stop = match.end() if match else len(text)
        cells.append(text[place:stop])
        if stop >= len(text):
            return cells
        place = stop + 1


def cell_text(cell: bytes) -> str:
    """Return the text of a cell without its quotes."""
    text = cell.decode("utf-8", "replace")
    if text.startswith('"') and text.endswith('"') and len(text) >= 2:
        return text[1:-1].replace('""', '"')
    return text


def quoted_cell(text: str, dialect: Dialect) -> bytes:
    """Return a text as a cell, quoted only if necessary."""
    cell = text.encode()
    if cell[:1] == b'"' or any(sign in cell for sign in (dialect.delimiter, b"\r", b"\n")):
        return b'"' + cell.replace(b'"', b'""') + b'"'
    return cell
