"""Describe the columns of a table, one line for each."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.csv_text import cell_text, cells_of, rows, start_of_table
from tokcap.shapes.headline import numbered
from tokcap.shapes.value_summary import NUMBER, ValueSummary, clipped

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def add(self, cell: bytes) -> None:
        text = cell_text(cell).strip()
        if text:
            self.cells.add(text, number=NUMBER.match(text) is not None)
        else:
            self.empty += 1

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
    columns: list[Column] | None = None
    count = 0
    place = start_of_table(data)
    for start, end in rows(data, place, dialect):
        # The last row may be cut off.
        if end == len(data) and not complete and count:
            break
        place = end
        row = data[start:end]
        if not row.strip(b"\r\n"):
            continue
        cells = cells_of(row, dialect)
        if columns is None:
            columns = [Column(cell_text(cell)) for cell in cells]
            continue
        count += 1
        for column, cell in zip(columns, cells, strict=False):
            column.add(cell)
    named = columns or []
    lines = [column.words for column in named[:MOST_COLUMNS]]
    if len(named) > MOST_COLUMNS:
        rest = ", ".join(clipped(column.name, 20) for column in named[MOST_COLUMNS : 2 * MOST_COLUMNS])
        lines.append(f"{numbered(len(named) - MOST_COLUMNS, 'column')} more: {rest}")
    return Columns(count, place, lines)
