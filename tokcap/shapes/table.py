"""CSV and TSV: rows are records, the first row is the header."""

from __future__ import annotations

from tokcap.core.payload import forget
from tokcap.shapes import csv_text
from tokcap.shapes.base import Sniffed, Value, treated_as_text, unchanged
from tokcap.shapes.beginning import is_name
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.cut import Ask, Cost, Cut, LongValues
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.base import Changed, FieldPath, RunFacts, Selected
    from tokcap.shapes.csv_text import Dialect


NAMES_SHOWN = 12


class DelimitedTable(Record):
    """A table in one dialect."""

    name: str
    dialect: Dialect
    mark_has_note: bool = False
    is_parsed: bool = False
    search_option: str = ""

    def sniff(self, payload: Payload) -> Sniffed | None:
        return Sniffed(self.name) if looks_like_table(payload, self.dialect) else None

    def confirm(self, payload: Payload) -> Sniffed:
        if not payload.size:
            return Sniffed("text")
        if all_quotes_closed(payload, self.dialect):
            return Sniffed(self.name)
        return treated_as_text(self.name.upper(), "a quote is not closed")

    def cut(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
        from tokcap.shapes.table_window import TableWindow

        return TableWindow(payload, tokens, ask, cost, self.dialect, self.name).cut()

    def whole(self, payload: Payload) -> LongValues:
        from tokcap.shapes.long_values import LongString

        return LongString(payload)

    def select(self, payload: Payload, paths: Sequence[FieldPath]) -> Selected | None:
        """Keep the columns with these names."""
        from tokcap.shapes.table_columns import select_columns

        return select_columns(payload, paths, self.dialect)

    def value_at(self, payload: Payload, pointer: str) -> Value:
        """Return the row at /ROW with the header, or the text of the cell at /ROW/COLUMN.

        Row 0 follows the header.
        """
        from tokcap.errors import NotFound
        from tokcap.shapes.paths import index_of, steps_of

        source, steps = payload.view(), steps_of(pointer)
        if not 1 <= len(steps) <= 2:
            raise NotFound(f"no value at {pointer}: in a table it is /ROW or /ROW/COLUMN")
        begin = csv_text.start_of_table(source)
        header_end = csv_text.end_of_row(source, begin, self.dialect)
        payload.check(0, header_end)
        header = source[begin:header_end]
        names = [csv_text.cell_text(cell) for cell in csv_text.cells_of(header, self.dialect)]
        at, no_column = (
            0,
            NotFound(f"no value at {pointer}: the columns are {', '.join(names[:NAMES_SHOWN])}"),
        )
        if len(steps) == 2:
            column = steps[1]
            at = names.index(column) if column in names else index_of(column)
            if at < 0:
                raise no_column
        row = self._row_at(payload, header_end, index_of(steps[0]), pointer)
        if len(steps) == 1:
            return Value(header + row, self.name)
        cells = csv_text.cells_of(row, self.dialect)
        # A row may have more cells than the header has names, and fewer.
        if at >= max(len(names), len(cells)):
            raise no_column
        return Value(csv_text.cell_text(cells[at]).encode() if at < len(cells) else b"", "text")

    def _row_at(self, payload: Payload, header_end: int, wanted: int, pointer: str) -> bytes:
        from tokcap.core.seek_points import ShapeSeekPoints
        from tokcap.errors import NotFound

        source = payload.view()
        points = ShapeSeekPoints(payload.seek_points, self.name, source)
        begin, before = header_end, 0
        if point := points.last(lambda _, numbers: numbers[0] <= wanted):
            begin, (before,) = point
        for place, number in csv_text.passed_rows(source, begin, before, len(source), points, self.dialect):
            if number > wanted:
                break
            begin, before = place, number
        number = before - 1
        for number, (start, end) in enumerate(csv_text.rows(source, begin, self.dialect), before):
            if number == wanted:
                payload.check(begin, end)
                return source[start:end]
        payload.check(header_end, payload.size)
        there = f"the rows are 0 to {number}" if number >= 0 else "there are no rows"
        raise NotFound(f"no value at {pointer}: {there}")

    def as_table(self, payload: Payload) -> Changed:
        return unchanged(payload, self.name)

    def summarize(self, payload: Payload, facts: RunFacts) -> Iterator[str]:
        from tokcap.shapes.summary import table_lines

        return table_lines(payload, facts, self, self.dialect)


CSV = DelimitedTable("csv", csv_text.CSV)
TSV = DelimitedTable("tsv", csv_text.TSV)


SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200


def looks_like_table(payload: Payload, dialect: Dialect) -> bool:
    """Return whether a header of names comes first and every row has as many cells as it."""
    sample = payload.read(0, min(payload.size, SAMPLE_BYTES))
    if dialect.delimiter not in sample.partition(b"\n")[0]:
        return False
    rows: list[list[str]] = []
    start = csv_text.start_of_table(sample)
    for begin, end in csv_text.rows(sample, start, dialect):
        start = begin
        if text := sample[begin:end].rstrip(b"\r\n"):
            cells = csv_text.cells_of(text, dialect)
            if any(cell.startswith(b'"') and not cell.endswith(b'"') for cell in cells[:-1]):
                # Programs that write tables put nothing behind a closing quote.
                return False
            rows.append([*map(csv_text.cell_text, cells)])
        if len(rows) > SAMPLE_ROWS:
            break
    if len(rows) <= SAMPLE_ROWS:
        if len(sample) < payload.size:
            # The sample may end inside a row or a quoted cell. Then only the rows before count.
            rows = rows[:-1]
        elif not csv_text.is_row(sample, start, dialect):
            return False
    header, *body = rows or [[]]
    width = len(header)
    return (
        width >= 2
        and len(body) >= (2 if width == 2 else 1)
        and all(len(row) == width for row in body)
        and len(set(header)) == width
        and all(is_name(cell) for cell in header)
        # A first row that repeats a cell of a row below is not a header.
        and not any(cell == name for row in body for cell, name in zip(row, header, strict=True))
        # In prose a blank follows a comma.
        and not all(cell.startswith(" ") for row in body for cell in row[1:])
    )


def all_quotes_closed(payload: Payload, dialect: Dialect) -> bool:
    """Return whether every quoted cell ends. Nothing else can contradict a declared table."""
    payload.check(0, payload.size)
    data = payload.view()
    begin = place = csv_text.start_of_table(data)
    while place < len(data):
        begin = place
        place, _ = csv_text.pass_rows(data, begin, min(begin + SAMPLE_BYTES, len(data)), dialect)
        forget(data, begin, place - begin)
    last = max((start for start, _ in csv_text.rows(data, begin, dialect)), default=begin)
    return csv_text.is_row(data, last, dialect)
