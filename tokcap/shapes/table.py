"""Windows over CSV and TSV: rows are records, every window repeats the header.

The mark is a row with the mark in its first column and as many columns as the header, so that a
window reads back as the rows it holds. A row too long for any window has its longest cells replaced.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Gap, Kept, Mark
from tokcap.core.fit import largest_fit
from tokcap.core.mark import note_of
from tokcap.core.notice import Notice
from tokcap.core.seek_points import STRIDE_BYTES, Trail
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.jsontext import BYTE_ORDER_MARK
from tokcap.shapes.tabletext import CSV, TSV, cell_text, cells_of, end_of_row, pass_rows, quoted_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost
    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.tabletext import Dialect

FIRST_BYTES = 1024
BYTES_PER_TOKEN = 8
GROWTH = 4


def cut_csv(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """The window of comma-separated values."""
    return TableWindow(payload, tokens, ask, cost, CSV, "csv").cut()


def cut_tsv(payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost) -> Cut:
    """The window of tab-separated values."""
    return TableWindow(payload, tokens, ask, cost, TSV, "tsv").cut()


class Row(Record):
    """A row of the source, with its line end; rows count from 0 behind the header."""

    number: int
    start: int
    end: int


class Rows(Record):
    """Rows around a window, in order. Between `head` and the rest others may lie unread."""

    all: Sequence[Row]
    # How many of them belong to the beginning of the window; the others lie at the payload's end.
    head: int
    # Whether the last of them is the payload's last, and whether none lies unread in between.
    complete: bool


class TableWindow:
    """One table, seen through one limit."""

    def __init__(
        self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost, dialect: Dialect, shape: Shape
    ) -> None:
        self._data = payload.view()
        self._trail = Trail(payload.landmarks, shape, self._data)
        self._tokens = tokens
        self._ask = ask
        self._cost = cost
        self._dialect = dialect
        self._first_token = tokens.reach(ask.offset)
        self._first_byte = tokens.byte_at(ask.offset)
        self._header_end = end_of_row(self._data, 0, dialect)
        self._header = self._data[: self._header_end]
        self._begin = max(self._first_byte, self._header_end)
        header = self._header.removeprefix(BYTE_ORDER_MARK)
        self._names = [cell_text(cell) for cell in cells_of(header, dialect)]
        self._line_end = b"\r\n" if self._header.endswith(b"\r\n") else b"\n"

    def cut(self) -> Cut:
        """As many whole rows as the limit admits."""
        limit = self._ask.limit
        if self._ask.offset == 0 and (limit is None or self._tokens.reach(limit + 1) <= limit):
            whole = (Kept(self._data[:]),) if self._data else ()
            if limit is None or self._cost(whole) <= limit:
                return Cut(whole, 0, gap=None)
        if limit is None:
            rest = self._data[self._first_row(self._begin)[0] :]
            return Cut((Kept(self._header + rest),), self._first_token, gap=None)
        size = FIRST_BYTES + BYTES_PER_TOKEN * limit
        while True:
            rows = self._read(size)
            largest = self._largest_head if self._ask.keep == "head" else self._largest_ends
            found = largest(rows, limit)
            if found is not None:
                return found
            size *= GROWTH

    def _read(self, size: int) -> Rows:
        """The rows in `size` bytes at the beginning of the window, and at the end if that is kept."""
        length = len(self._data)
        if self._ask.keep == "head" or self._begin + 2 * size >= length:
            stop = self._begin + size if self._ask.keep == "head" else length
            found = self._rows(self._begin, stop)
            return Rows(found, len(found), not found or found[-1].end >= length)
        head = self._rows(self._begin, self._begin + size)
        tail = self._rows(max(length - size, head[-1].end if head else 0), length)
        return Rows([*head, *tail], len(head), complete=False)

    def _rows(self, begin: int, stop: int) -> Sequence[Row]:
        """The rows that begin at `begin` or behind it, and before `stop`; one of them in any case."""
        rows: list[Row] = []
        start, number = self._first_row(begin)
        while start < len(self._data) and (start < stop or not rows):
            end = end_of_row(self._data, start, self._dialect)
            rows.append(Row(number, start, end))
            start, number = end, number + 1
        return rows

    def _first_row(self, byte: int) -> tuple[int, int]:
        """Where the first row begins at `byte` or behind it, and its number."""
        start, number = self._header_end, 0
        landmark = self._trail.nearest(byte)
        if landmark is not None:
            start, (number,) = landmark
        while start < byte and start < len(self._data):
            border = (start // STRIDE_BYTES + 1) * STRIDE_BYTES
            start, passed = pass_rows(self._data, start, min(border, byte), self._dialect)
            number += passed
            if border < byte and start < len(self._data):
                self._trail.leave(start, [number])
        return start, number

    def _largest_head(self, found: Rows, limit: int) -> Cut | None:
        """The largest head within the limit; None if more rows have to be read to find it."""
        rows, complete = found.all, found.complete
        if not rows:
            return Cut((), self._first_token, gap=None) if complete else None
        # Of the last row that was read, what follows is not known, unless nothing follows.
        most = len(rows) if complete else len(rows) - 1
        best = largest_fit(most, lambda n: self._price(rows, n + 1, len(rows), most), limit)
        if best is None:
            return None if not most else self._shortened(rows[0], limit)
        kept = best + 1
        if kept == most and not complete:
            return None
        if kept == len(rows):
            return Cut(self._parts(rows, None, ()), self._first_token, gap=None)
        while kept > 1 and not self._begins_later(rows[kept - 1], rows[kept]):
            kept -= 1
        gap = Gap(self._tokens.token_at(rows[kept].start))
        return self._finished(self._parts(rows[:kept], 0, ()), gap)

    def _largest_ends(self, found: Rows, limit: int) -> Cut | None:
        """The last rows, and of `ends` the first ones too; None if more rows have to be read."""
        rows, complete = found.all, found.complete
        if not rows:
            return Cut((), self._first_token, gap=None)
        head = 0
        if self._ask.keep == "ends":
            bare = self._cost(self._parts((), 0, ()))
            half = min(bare + (limit - bare) // 2, limit)
            most = len(rows) - 1 if complete else found.head
            best = largest_fit(most, lambda n: self._cost(self._parts(rows[: n + 1], 1, ())), half)
            head = 0 if best is None else best + 1
            if head == found.head and not complete:
                return None

        def tail(number: int) -> tuple[Kept | Mark, ...]:
            first = len(rows) - 1 - number
            return self._parts(rows[:head], rows[first].number - rows[head].number or None, rows[first:])

        least = head if complete else found.head
        best = largest_fit(len(rows) - least, lambda number: self._cost(tail(number)), limit)
        first = len(rows) if best is None else len(rows) - 1 - best
        if first == least and not complete:
            return None
        if best is None and not head:
            return self._shortened(rows[0], limit)
        if first == head:
            return Cut(self._parts(rows, None, ()), self._first_token, gap=None)
        gap = Gap(
            self._tokens.token_at(rows[head].start) if head else self._first_token,
            None if best is None else self._tokens.token_at(rows[first].start),
        )
        hidden = 0 if best is None else rows[first].number - rows[head].number
        return self._finished(self._parts(rows[:head], hidden, rows[first:]), gap)

    def _price(self, rows: Sequence[Row], kept: int, total: int, most: int) -> int:
        all_of_them = kept == total == most
        return self._cost(self._parts(rows[:kept], None if all_of_them else 0, ()))

    def _parts(self, head: Sequence[Row], hidden: int | None, tail: Sequence[Row]) -> tuple[Kept | Mark, ...]:
        """Header, rows, and a mark for the hidden ones; their number is told where rows follow."""
        parts: list[Kept | Mark] = [Kept(self._header + self._text(head))]
        if hidden is not None and self._ask.sentinel:
            parts.append(self._mark(hidden if tail else None))
        if tail:
            parts.append(Kept(self._text(tail)))
        return tuple(parts)

    def _text(self, rows: Sequence[Row]) -> bytes:
        return self._data[rows[0].start : rows[-1].end] if rows else b""

    def _mark(self, hidden: int | None) -> Mark:
        text = self._ask.sentinel if hidden is None else f"{self._ask.sentinel} {hidden} hidden"
        columns = len(self._names)
        row = quoted_cell(text, self._dialect) + self._dialect.delimiter * (columns - 1) + self._line_end
        return Mark(self._ask.sentinel, hidden=hidden, row=row)

    def _begins_later(self, before: Row, after: Row) -> bool:
        """Whether the token in which a row begins lies behind the beginning of the row before."""
        return self._tokens.byte_at(self._tokens.token_at(after.start)) > before.start

    def _shortened(self, row: Row, limit: int) -> Cut:
        """A row that fits into no window: the mark in place of as many of its cells as it takes."""
        cells = list(cells_of(self._data[row.start : row.end], self._dialect))
        longest_first = sorted(range(len(cells)), key=lambda column: -len(cells[column]))
        more = row.end < len(self._data)
        notices = []
        mark = (self._mark(None),) if more and self._ask.sentinel else ()
        for column in longest_first:
            tokens = self._tokens.token_at(row.end - 1) + 1 - self._tokens.token_at(row.start)
            name = self._names[column] if column < len(self._names) else str(column)
            pointer = f"/{row.number}/{name}"
            message = (
                f"the cell at {pointer} is in a row of {tokens} tokens, more than a window of this limit"
            )
            notices.append(Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=tokens))
            cells[column] = quoted_cell(self._ask.sentinel or "…", self._dialect)
            shown = self._header + self._dialect.delimiter.join(cells) + self._line_end
            parts = (Kept(shown), *mark)
            if self._cost(parts) <= limit:
                gap = Gap(max(self._tokens.token_at(row.end), self._first_token + 1)) if more else None
                return self._finished(parts, gap).but(notices=tuple(notices))
        # No cell of it fits: header and mark stand for the row, or the mark alone. Else nothing does.
        for parts in ((Kept(self._header), *mark), mark):
            if parts and mark and self._cost(parts) <= limit:
                gap = Gap(max(self._tokens.token_at(row.end), self._first_token + 1))
                return self._finished(parts, gap).but(notices=tuple(notices))
        return self._finished((), Gap(self._first_token))

    def _finished(self, parts: tuple[Kept | Mark, ...], gap: Gap | None) -> Cut:
        hint = note_of(gap, self._first_token, self._tokens.total, self._ask) if gap else ""
        return Cut(parts, self._first_token, gap, hint)
