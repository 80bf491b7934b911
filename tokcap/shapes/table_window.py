"""Windows over CSV and TSV: rows are records, every window repeats the header.

The mark is a row with the mark in its first column and as many columns as the header, so that a window reads
back as a table. If a row is too long for any window, its longest cells are replaced by the mark.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Finding, Gap, Kept, Mark, gaps_between
from tokcap.core.mark import note_of, shown_between
from tokcap.core.notice import Notice
from tokcap.core.seek_points import STRIDE_BYTES
from tokcap.core.tokenizer import Total
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.csv_text import (
    BYTE_ORDER_MARK,
    cell_text,
    cells_of,
    end_of_row,
    pass_rows,
    quoted_cell,
)
from tokcap.shapes.record_window import RecordWindow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost, Ranges
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.csv_text import Dialect
    from tokcap.shapes.table_survey import RowMap


class Row(Record):
    """A row of the source, with its line end. Rows count from 0 after the header."""

    number: int
    start: int
    end: int


class TableWindow(RecordWindow):
    """One table and one limit."""

    def __init__(
        self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost, dialect: Dialect, shape: str
    ) -> None:
        super().__init__(payload, tokens, ask, cost, shape)
        self._dialect = dialect
        self._header_end = end_of_row(self._data, 0, dialect)
        self._check(0, self._header_end)
        self._header = self._data[: self._header_end]
        self._begin = max(self._first_byte, self._header_end)
        header = self._header.removeprefix(BYTE_ORDER_MARK)
        self._names = [cell_text(cell) for cell in cells_of(header, dialect)]
        self._line_end = b"\r\n" if self._header.endswith(b"\r\n") else b"\n"
        # Between the first `head_count` rows and the others some may be unread.
        self._rows: Sequence[Row] = ()

    def _whole(self) -> Cut:
        if self._ask.in_blocks:
            # Only an answer without a limit loads this.
            from tokcap.shapes.long_string import LONG_BYTES, LongString

            if len(self._data) >= LONG_BYTES:
                return Cut((), 0, long=LongString(self._payload))
        self._check(0, len(self._data))
        return Cut((Kept(self._data[:]),) if self._data else (), 0)

    def _rest(self) -> Cut:
        self._check(self._begin, len(self._data))
        rest = self._data[self._first_row(self._begin)[0] :]
        return Cut((Kept(self._header + rest),), self._first_token)

    def _read(self, size: int) -> None:
        length, keep = len(self._data), self._ask.keep
        whole = keep.needs_middle or (keep.needs_tail and self._begin + 2 * size >= length)
        head = self._rows_between(self._begin, length if whole else self._begin + size)
        tail: Sequence[Row] = ()
        self.complete = whole or not head or head[-1].end >= length
        if keep.needs_tail and not whole:
            tail = self._rows_between(max(length - size, head[-1].end if head else 0), length)
            self.complete = False
        self._rows = [*head, *tail]
        self.count, self.head_count = len(self._rows), len(head)

    def _surveyed(self) -> Cut | None:
        # Most windows need no survey, and do not load this.
        from tokcap.shapes.table_survey import TableSurvey, rows_of

        policy = self._ask.keep.survey
        assert policy is not None
        first, number = self._first_row(self._begin)
        rows = rows_of(self._payload, self._data, first, self._dialect)
        if rows is None or not rows.count:
            return None

        def parts_of(shown: Ranges) -> tuple[Kept | Mark, ...]:
            return self._survey_parts(shown, rows)

        choice = policy.choose_from(
            TableSurvey(self._payload, rows, self._tokens, self.limit, parts_of, self._cost)
        )
        if choice is None:
            return None
        self._check(first, len(self._data))
        position = self._tokens.position
        gaps = []
        for begin, end in gaps_between(choice.shown, rows.count):
            start = position(rows.byte_of(begin)) if begin else Total(self._first_token)
            stop = position(rows.byte_of(end))
            gaps.append(Gap(start.tokens, stop.tokens, about=not (start.exact and stop.exact)))
        findings = tuple(
            Finding(position(rows.byte_of(found.unit)).tokens, found.kind, pointer=f"/{number + found.unit}")
            for found in choice.found
        )
        return self._finished(parts_of(choice.shown), tuple(gaps)).but(findings=findings)

    def _survey_parts(self, shown: Ranges, rows: RowMap) -> tuple[Kept | Mark, ...]:
        """Return header, rows, and a mark with a number for each gap."""
        parts: list[Kept | Mark] = [Kept(self._header)]
        place = 0
        for first, end in (*shown, (rows.count, rows.count)):
            if place < first:
                parts += self._marks(first - place)
            if first < end:
                text = self._data[rows.byte_of(first) : rows.byte_of(end)]
                # The last row of a table may have no line end, and a mark may follow it.
                parts.append(Kept(text if text.endswith(b"\n") else text + self._line_end))
            place = end
        return tuple(parts)

    def _rows_between(self, begin: int, stop: int) -> Sequence[Row]:
        """Return the rows that begin at `begin` or later and before `stop`; at least one if there is one."""
        rows: list[Row] = []
        start, number = self._first_row(begin)
        while start < len(self._data) and (start < stop or not rows):
            end = end_of_row(self._data, start, self._dialect)
            rows.append(Row(number, start, end))
            start, number = end, number + 1
        if rows:
            self._check(rows[0].start, rows[-1].end)
        return rows

    def _first_row(self, byte: int) -> tuple[int, int]:
        """Return where the first row at or after `byte` begins, and its number."""
        start, number = self._header_end, 0
        seek_point = self._seek_points.before(byte)
        if seek_point is not None:
            start, (number,) = seek_point
        passed_from = start
        while start < byte and start < len(self._data):
            border = (start // STRIDE_BYTES + 1) * STRIDE_BYTES
            start, passed = pass_rows(self._data, start, min(border, byte), self._dialect)
            number += passed
            if border < byte and start < len(self._data):
                # Only a large payload comes here.
                from tokcap.core.scratch import forget

                forget(self._data, border - STRIDE_BYTES, STRIDE_BYTES)
                self._seek_points.add(start, [number])
        self._check(passed_from, start)
        return start, number

    def tail_starts(self, hidden_from: int) -> Sequence[int]:
        least = hidden_from if self.complete else max(hidden_from, self.head_count)
        return range(self.count - 1, least - 1, -1)

    def text_of(self, unit: int) -> bytes:
        row = self._rows[unit]
        return self._data[row.start : row.end]

    def price(self, shown: Ranges) -> int:
        return self._cost(self._parts(shown))

    def _largest(self) -> Cut | None:
        rows = self._rows
        if not rows:
            return self._header_only() if self.complete else None
        if not self.head_ends() and not self.complete:
            return None
        shown = self._ask.keep.choose(self)
        if shown is None:
            return self._shortened_row(rows[0])
        if not self.complete and self._touches_unread(shown):
            return None
        return self._cut_of(self._shortened_head(shown))

    def _header_only(self) -> Cut:
        """Return a table without rows: its header, at the start."""
        if self._ask.offset or not self._header:
            return Cut((), self._first_token)
        header = (Kept(self._header),)
        if self._cost(header) <= self.limit:
            return Cut(header, self._first_token)
        mark = tuple(self._marks(None))
        return self._finished(mark if self._cost(mark) <= self.limit else (), (Gap(self._first_token),))

    def _touches_unread(self, shown: Ranges) -> bool:
        """Whether a range ends or starts where rows are unread: then it may fit more."""
        border = self.head_count if self.head_count < self.count else self.head_count - 1
        return any(border in (first, end) for first, end in shown)

    def _shortened_head(self, shown: Ranges) -> Ranges:
        """Shorten a head until the row after it begins in a later token than its last row."""
        ((first, end), *others) = shown
        rows = self._rows
        if first or others or end == len(rows) or self._ask.keep.needs_tail:
            return shown
        while end > 1 and not self._begins_later(rows[end - 1], rows[end]):
            end -= 1
        return ((0, end),)

    def _cut_of(self, shown: Ranges) -> Cut:
        rows = self._rows
        gaps = []
        for first, end in gaps_between(shown, len(rows)):
            begin = self._tokens.token_at(rows[first].start) if first else self._first_token
            # The next window begins at `begin`. Where the gap ends need not be exact.
            stop = self._tokens.position(rows[end].start) if end < len(rows) else None
            gaps.append(Gap(begin, stop.tokens, about=not stop.exact) if stop else Gap(begin))
        return self._finished(self._parts(shown), tuple(gaps))

    def _parts(self, shown: Ranges) -> tuple[Kept | Mark, ...]:
        """Return header, rows, and a mark for each gap; it has the number of hidden rows if rows follow."""
        rows = self._rows
        parts: list[Kept | Mark] = []
        text, place = self._header, 0
        for first, end in shown:
            if place < first:
                parts += (Kept(text), *self._marks(rows[first].number - rows[place].number))
                text = b""
            text += self._data[rows[first].start : rows[end - 1].end]
            place = end
        parts.append(Kept(text))
        if place < len(rows):
            parts += self._marks(None)
        return tuple(parts)

    def _marks(self, hidden: int | None) -> Sequence[Mark]:
        """Return the mark as a row, in a list; an empty list if the caller asked for no mark."""
        if not self._ask.sentinel:
            return ()
        text = self._ask.sentinel if hidden is None else f"{self._ask.sentinel} {hidden} hidden"
        columns = len(self._names)
        row = quoted_cell(text, self._dialect) + self._dialect.delimiter * (columns - 1) + self._line_end
        return (Mark(self._ask.sentinel, hidden=hidden, row=row),)

    def _begins_later(self, before: Row, after: Row) -> bool:
        """Whether the token in which a row begins starts after the beginning of the row before."""
        return self._tokens.byte_at(self._tokens.token_at(after.start)) > before.start

    def _shortened_row(self, row: Row) -> Cut:
        """Return a row that fits into no window, with the mark in place of as many cells as necessary."""
        cells = list(cells_of(self._data[row.start : row.end], self._dialect))
        longest_first = sorted(range(len(cells)), key=lambda column: -len(cells[column]))
        more = row.end < len(self._data)
        notices = []
        mark: tuple[Kept | Mark, ...] = tuple(self._marks(None)) if more else ()
        after_row = (Gap(max(self._tokens.token_at(row.end), self._first_token + 1)),)
        for column in longest_first:
            notices.append(self._notice(row, column))
            cells[column] = quoted_cell(self._ask.sentinel or "…", self._dialect)
            shown = self._header + self._dialect.delimiter.join(cells) + self._line_end
            parts: tuple[Kept | Mark, ...] = (Kept(shown), *mark)
            if self._cost(parts) <= self.limit:
                return self._finished(parts, after_row if more else ()).but(notices=tuple(notices))
        # No cell fits: show the header and the mark, or only the mark, or nothing.
        for parts in ((Kept(self._header), *mark), mark):
            if parts and mark and self._cost(parts) <= self.limit:
                notice = self._row_notice(row, longest_first[0])
                return self._finished(parts, after_row).but(notices=(notice,))
        return self._finished((), (Gap(self._first_token),))

    def _notice(self, row: Row, column: int) -> Notice:
        tokens, pointer = self._row_tokens(row), self._pointer(row, column)
        message = f"the cell at {pointer} is in a row of {tokens} tokens, more than a window can show"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=tokens)

    def _row_notice(self, row: Row, column: int) -> Notice:
        """Return the notice about a row of which nothing is shown. The pointer leads to its longest cell."""
        tokens, pointer = self._row_tokens(row), self._pointer(row, column)
        message = f"row {row.number} has {tokens} tokens, more than a window can show; a cell is at {pointer}"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=tokens)

    def _row_tokens(self, row: Row) -> int:
        return self._tokens.token_at(row.end - 1) + 1 - self._tokens.token_at(row.start)

    def _pointer(self, row: Row, column: int) -> str:
        """Return the pointer to a cell: by the name of its column if no earlier column has that name."""
        from tokcap.shapes.json_text.pointers import as_step

        names = self._names
        is_named = column < len(names) and names.index(names[column]) == column
        return f"/{row.number}/{as_step(names[column]) if is_named else column}"

    def _finished(self, parts: tuple[Kept | Mark, ...], gaps: tuple[Gap, ...]) -> Cut:
        hint = ""
        if gaps:
            total = self._tokens.total
            hint = note_of(shown_between(gaps, self._first_token, total), total, gaps[0], self._ask)
        return Cut(parts, self._first_token, gaps, hint)
