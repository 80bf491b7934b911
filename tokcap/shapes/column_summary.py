"""Describe the columns of a table, one line for each."""

from __future__ import annotations

from collections import Counter

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.csv_text import cell_text, cells_of, end_of_row, pass_rows, start_of_table
from tokcap.shapes.headline import numbered
from tokcap.shapes.table_cells import BLOCK_BYTES, RowCells
from tokcap.shapes.value_summary import DISTINCT, NUMBER, ValueSummary, clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokcap.shapes.csv_text import Dialect

# Only this much of a payload is read.
READ_BYTES = 4 << 20
MOST_COLUMNS, NAME_CHARACTERS = 40, 60


class Column:
    """One column and its cells."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.empty = 0
        self.cells = ValueSummary()

    def add(self, cells: Iterable[bytes]) -> None:
        """Add cells, equal ones at once. Where there are many different ones, only some are named."""
        named, unnamed = self.cells.values, Counter[str]()
        for cell, times in Counter(cells).items():
            text = cell_text(cell).strip()
            if not text:
                self.empty += times
            elif text in named or len(named) < DISTINCT:
                self.cells.add(text, times, number=NUMBER.match(text) is not None)
            else:
                unnamed[text] += times
        if unnamed:
            numbers = [text for text in unnamed if NUMBER.match(text)]
            self.cells.add_unnamed(unnamed.total(), numbers, sum(unnamed[number] for number in numbers))

    @property
    def words(self) -> str:
        holds = self.cells.words if self.cells.count else "empty"
        empty = f", {self.empty} empty" if self.empty and self.cells.count else ""
        return f"{clipped(self.name, NAME_CHARACTERS)}: {holds}{empty}"


class Columns(Record):
    """The columns of the rows that were read."""

    rows: int
    # The size of these rows and the header.
    seen_bytes: int
    lines: Sequence[str]


def read(data: bytes, dialect: Dialect, *, complete: bool) -> Columns:
    """Read the rows of a table, or of the beginning of one."""
    place = start_of_table(data)
    columns: list[Column] = []
    while place < len(data) and not columns:
        start, place = place, end_of_row(data, place, dialect)
        if header := data[start:place].rstrip(b"\r\n"):
            columns = [Column(cell_text(cell)) for cell in cells_of(header, dialect)]
    reader = RowCells([b"(%s)" % dialect.cell.pattern] * len(columns), dialect) if columns else None
    count = 0
    while reader and place < len(data):
        end, _ = pass_rows(data, place, min(place + BLOCK_BYTES, len(data)), dialect)
        if end == len(data) and not complete:
            # The last row may be cut off. It counts only if there is no other.
            begin = last_row_begin(data, place, dialect)
            if count and begin == place:
                break
            end = begin if begin > place else end
        for found, other in reader.read(data[place:end]):
            # A line that is blank is not a row.
            full = found if len(columns) > 1 else [row for row in found if row[0]]
            for column, cells in zip(columns, zip(*full, strict=True), strict=False):
                column.add(cells)
            count += len(full)
            if other.strip(b"\r\n"):
                count += 1
                for column, cell in zip(columns, cells_of(other, dialect), strict=False):
                    column.add([cell])
        place = end
    lines = [column.words for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        rest = ", ".join(clipped(column.name, 20) for column in columns[MOST_COLUMNS : 2 * MOST_COLUMNS])
        lines.append(f"{numbered(len(columns) - MOST_COLUMNS, 'column')} more: {rest}")
    return Columns(count, place, lines)


def last_row_begin(data: bytes, place: int, dialect: Dialect) -> int:
    """Return where the last row from `place` on begins."""
    while (end := end_of_row(data, place, dialect)) < len(data):
        place = end
    return place
