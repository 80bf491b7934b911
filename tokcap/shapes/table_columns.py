"""Read the cells of many rows at once: select columns of a table, or describe each in a line.

Selected cells are copied from the source.
"""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest

from tokcap.core.payload import SCRATCH_BYTES, Spool, forget
from tokcap.shapes.base import Selected
from tokcap.shapes.csv_text import cell_text, cells_of, end_of_row, pass_rows, split_rows, start_of_table
from tokcap.shapes.summary import numbered
from tokcap.shapes.value_summary import ValueSummary, clipped
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.csv_text import Dialect


# Rows are read in blocks of about this size.
BLOCK_BYTES = 1 << 16


def select_columns(payload: Payload, paths: Sequence[FieldPath], dialect: Dialect) -> Selected:
    """Return the table with only the columns of these names."""
    data = payload.view()
    begin = start_of_table(data)
    place = end_of_row(data, begin, dialect) if len(data) > begin else begin
    header = data[begin:place]
    names = [cell_text(cell) for cell in cells_of(header, dialect)] if header else []
    wanted = {".".join(path) for path in paths}
    numbers = [number for number, name in enumerate(names) if name in wanted]
    out = Spool(SCRATCH_BYTES)
    out.write(columns_of(header, numbers, dialect))
    while place < len(data):
        end, _ = pass_rows(data, place, min(place + BLOCK_BYTES, len(data)), dialect)
        rows = split_rows(data[place:end], dialect)
        out.write(b"".join([columns_of(row, numbers, dialect) for row in rows]))
        forget(data, place, end - place)
        place = end
    return Selected(out.into_text(), {path for path in paths if ".".join(path) in names}, names)


def columns_of(row: bytes, numbers: Sequence[int], dialect: Dialect) -> bytes:
    """Return these cells of a row, with its line end. A row may have fewer cells."""
    cells = cells_of(row, dialect)
    kept = dialect.delimiter.join([cells[number] for number in numbers if number < len(cells)])
    return kept + row[len(row.rstrip(b"\r\n")) :]


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
        texts = Counter[str]()
        for cell, times in Counter(cells).items():
            texts[cell_text(cell).strip()] += times
        self.empty += texts.pop("", 0)
        self.cells.add(texts)

    @property
    def words(self) -> str:
        holds = self.cells.words if self.cells.count else "empty"
        empty = f", {self.empty} empty" if self.empty and self.cells.count else ""
        return f"{clipped(self.name, NAME_CHARACTERS)}: {holds}{empty}"


class Description(Record):
    """The columns of the rows that were read, in words."""

    rows: int
    # The size of these rows and the header.
    seen_bytes: int
    lines: Sequence[str]


def described(data: bytes, dialect: Dialect, *, complete: bool) -> Description:
    """Read the rows of a table, or of the beginning of one."""
    place = start_of_table(data)
    columns: list[Column] = []
    while place < len(data) and not columns:
        start, place = place, end_of_row(data, place, dialect)
        if header := data[start:place].rstrip(b"\r\n"):
            columns = [Column(cell_text(cell)) for cell in cells_of(header, dialect)]
    count = 0
    while columns and place < len(data):
        end, _ = pass_rows(data, place, min(place + BLOCK_BYTES, len(data)), dialect)
        rows = split_rows(data[place:end], dialect)
        if end == len(data) and not complete and count + len(rows) > 1:
            # The last row may be cut off. It counts only if there is no other.
            end -= len(rows[-1])
            rows = rows[:-1]
        # A line that is blank is not a row.
        found = [cells_of(row, dialect) for row in rows if row.strip(b"\r\n")]
        for column, cells in zip(columns, zip_longest(*found), strict=False):
            column.add(cell for cell in cells if cell is not None)
        count += len(found)
        place = end
        if not rows:
            break
    lines = [column.words for column in columns[:MOST_COLUMNS]]
    if len(columns) > MOST_COLUMNS:
        rest = ", ".join(clipped(column.name, 20) for column in columns[MOST_COLUMNS : 2 * MOST_COLUMNS])
        lines.append(f"{numbered(len(columns) - MOST_COLUMNS, 'column')} more: {rest}")
    return Description(count, place, lines)
