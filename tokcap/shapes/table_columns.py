"""Select columns of a table. Cells are copied from the source."""

from __future__ import annotations

from itertools import chain

from tokcap.core.scratch import Scratch, forget
from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Selected
from tokcap.shapes.csv_text import cell_text, cells_of, end_of_row, pass_rows, start_of_table
from tokcap.shapes.table_cells import BLOCK_BYTES, RowCells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap

    from tokcap.core.payload import Payload
    from tokcap.core.seek_points import ShapeSeekPoints
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.csv_text import Dialect


def select_columns(payload: Payload, paths: Sequence[FieldPath], dialect: Dialect) -> Selected:
    """Return the table with only the columns of these names."""
    data = payload.view()
    begin = start_of_table(data)
    place = end_of_row(data, begin, dialect) if len(data) > begin else begin
    header = data[begin:place]
    names = [cell_text(cell) for cell in cells_of(header, dialect)] if header else []
    wanted = {".".join(path) for path in paths}
    columns = Columns([number for number, name in enumerate(names) if name in wanted], len(names), dialect)
    out = Scratch()
    if header:
        out.write(columns.slowly(header))
    while place < len(data):
        end, _ = pass_rows(data, place, min(place + BLOCK_BYTES, len(data)), dialect)
        out.write(b"".join(columns.of_rows(data[place:end])))
        forget(data, place, end - place)
        place = end
    return Selected(out.text(), {path for path in paths if ".".join(path) in names}, names)


def place_before_row(
    data: bytes | mmap, begin: int, wanted: int, points: ShapeSeekPoints, dialect: Dialect
) -> tuple[int, int]:
    """Return a place between rows that is close before the row that is wanted, and how many are before it.

    `begin` is the end of the header. Seek points are added on the way.
    """
    place, number = begin, 0
    if point := points.last(lambda _, numbers: numbers[0] <= wanted):
        place, (number,) = point
    while place < len(data):
        border = (place // STRIDE_BYTES + 1) * STRIDE_BYTES
        end, passed = pass_rows(data, place, min(border, len(data)), dialect)
        if number + passed > wanted or border >= len(data):
            break
        place, number = end, number + passed
        points.add(place, [number])
        forget(data, border - STRIDE_BYTES, STRIDE_BYTES)
    return place, number


class Columns:
    """Some columns of a table with so many columns."""

    def __init__(self, numbers: Sequence[int], count: int, dialect: Dialect) -> None:
        self._numbers = numbers
        self._dialect = dialect
        cell, delimiter = dialect.cell.pattern, dialect.delimiter
        cells = [cell] * count
        for number in numbers:
            # With the delimiter that follows it, if another column follows.
            cells[number] = b"(%s)" % cell if number == numbers[-1] else b"(%s%s)" % (cell, delimiter)
        parts = [one if one.endswith(delimiter + b")") else one + delimiter for one in cells]
        if parts:
            parts[-1] = cells[-1]
        self._rows = RowCells([b"".join(parts)], dialect)

    def of_rows(self, block: bytes) -> Iterator[bytes]:
        """Yield the columns of the rows in a block of whole rows."""
        for rows, other in self._rows.read(block):
            yield b"".join(chain.from_iterable(rows))
            if other:
                yield self.slowly(other)

    def slowly(self, row: bytes) -> bytes:
        """Return the columns of any row."""
        cells = cells_of(row, self._dialect)
        kept = self._dialect.delimiter.join(cells[number] for number in self._numbers if number < len(cells))
        return kept + row[len(row.rstrip(b"\r\n")) :]
