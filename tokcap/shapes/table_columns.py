"""Select columns of a table. Cells are copied from the source."""

from __future__ import annotations

import re

from tokcap.core.scratch import Scratch, forget
from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.base import Selected
from tokcap.shapes.csv_text import cell_text, cells_of, end_of_row, pass_rows, start_of_table

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
        border = (place // STRIDE_BYTES + 1) * STRIDE_BYTES
        end, _ = pass_rows(data, place, min(border, len(data)), dialect)
        out.write(b"".join(columns.of_rows(data[place:end])))
        forget(data, border - STRIDE_BYTES, STRIDE_BYTES)
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
        cell = dialect.cell.pattern
        cells = [b"(%s)" % cell if number in numbers else cell for number in range(count)]
        # A whole row at once: the cells that are wanted, and the line end.
        self._row = re.compile(dialect.delimiter.join(cells) + rb"(\r\n|\n|\r|\Z)")

    def of_rows(self, block: bytes) -> Iterator[bytes]:
        """Yield the columns of each row in a block of whole rows."""
        join, place = self._dialect.delimiter.join, 0
        while place < len(block):
            for found in self._row.finditer(block, place):
                if found.start() != place or found.end() == place:
                    break
                *cells, line_end = found.groups()
                yield join(cells) + line_end
                place = found.end()
            if place < len(block):
                # This row has more cells or fewer.
                end = end_of_row(block, place, self._dialect)
                yield self.slowly(block[place:end])
                place = end

    def slowly(self, row: bytes) -> bytes:
        """Return the columns of any row."""
        cells = cells_of(row, self._dialect)
        kept = self._dialect.delimiter.join(cells[number] for number in self._numbers if number < len(cells))
        return kept + row[len(row.rstrip(b"\r\n")) :]
