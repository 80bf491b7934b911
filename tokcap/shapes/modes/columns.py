"""The columns of a table: what each of them holds, one line each."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import BYTE_ORDER_MARK
from tokcap.shapes.modes.headline import numbered
from tokcap.shapes.modes.scalars import NUMBER, Scalars, clipped
from tokcap.shapes.tabletext import CSV, TSV, cell_text, cells_of, end_of_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import Shape

LOOKED_BYTES = 4 << 20
MOST_COLUMNS, NAME_CHARACTERS = 40, 60


class Column:
    """One column, read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.empty = 0
        self.cells = Scalars()

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
    """A table, read as far as it was looked at."""

    rows: int
    # How many bytes these rows and the header take.
    seen_bytes: int
    lines: Sequence[str]


def read(data: bytes, shape: Shape, *, complete: bool) -> Columns:
    """The rows of a table, or of the beginning of one."""
    dialect = TSV if shape == "tsv" else CSV
    place = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    columns: list[Column] | None = None
    rows = 0
    while place < len(data):
        end = end_of_row(data, place, dialect)
        # The last row may be cut off.
        if end == len(data) and not complete and rows:
            break
        row = data[place:end]
        place = end
        if not row.strip(b"\r\n"):
            continue
        cells = cells_of(row, dialect)
        if columns is None:
            columns = [Column(cell_text(cell)) for cell in cells]
            continue
        rows += 1
        for column, cell in zip(columns, cells, strict=False):
            column.add(cell)
    named = columns or []
    lines = [column.words for column in named[:MOST_COLUMNS]]
    if len(named) > MOST_COLUMNS:
        rest = ", ".join(clipped(column.name, 20) for column in named[MOST_COLUMNS : 2 * MOST_COLUMNS])
        lines.append(f"{numbered(len(named) - MOST_COLUMNS, 'column')} more: {rest}")
    return Columns(rows, place, lines)
