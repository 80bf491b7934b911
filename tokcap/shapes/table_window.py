"""Windows over CSV and TSV: rows are records, every window repeats the header.

The mark is a row with the mark in its first column and as many columns as the header, so that a window reads
back as a table. If a row is too wide for any window, its columns are shown in groups.
"""

from __future__ import annotations

from tokcap.core.cut import Cut, Finding, Gap, Kept, Mark, gaps_between
from tokcap.core.mark import note_of, shown_between
from tokcap.core.tokenizer import Total
from tokcap.shapes.csv_text import (
    BYTE_ORDER_MARK,
    cell_text,
    cells_of,
    end_of_row,
    passed_rows,
    quoted_cell,
)
from tokcap.shapes.record_window import RecordWindow
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost, Ranges
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.csv_text import Dialect
    from tokcap.shapes.table_survey import RowMap
    from tokcap.shapes.wide_row import WideRow


# How far back from the offset the beginning of its row is searched at first.
BACK_BYTES = 1 << 12


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
        return self._finished(parts_of(choice.shown), tuple(gaps)).replace(findings=findings)

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
        steps = passed_rows(self._data, start, number, byte, self._seek_points, self._dialect)
        *_, (start, number) = (start, number), *steps
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
        if self._ask.offset and (rest := self._rest_of_wide_row()):
            return rest
        if not rows:
            return self._header_only() if self.complete else None
        if not self.head_ends() and not self.complete:
            return None
        shown = self._ask.keep.choose(self)
        if shown is None:
            row = rows[-1 if self._ask.keep.prefers_end else 0]
            return self._columns_of(row, row.start)
        if not self.complete and self._touches_unread(shown):
            return None
        return self._cut_of(self._shortened_head(shown))

    def _header_only(self) -> Cut:
        """Return a table without rows: its header, at the start."""
        header = (Kept(self._header),)
        if not self._header or self._first_byte >= self._header_end or len(self._data) > self._header_end:
            return Cut((), self._first_token)
        if self._cost(header) > self.limit and self._wide(None).begins_at(self._first_byte):
            return self._columns_of(None, self._first_byte)
        return Cut(() if self._ask.offset else header, self._first_token)

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

    def _columns_of(self, row: Row | None, byte: int) -> Cut:
        """Return a group of the columns of a row, or of the header if there is no row."""
        window = self._wide(row).window(byte)
        if window is None:
            return self._finished((), (Gap(self._first_token),))
        gaps: tuple[Gap, ...] = ()
        if window.next_byte < len(self._data):
            gaps = (Gap(max(self._tokens.token_at(window.next_byte), self._first_token + 1)),)
        if row is not None and row.number and self._ask.keep.prefers_end:
            # The rows before it are hidden too.
            gaps = (Gap(self._first_token, self._tokens.token_at(row.start)), *gaps)
        # The header is shown in part, and counts no more than in other windows.
        end = gaps[-1].first if window.next_byte < len(self._data) else self._tokens.total_tokens
        shown = end - self._tokens.token_at(window.first_byte)
        return self._finished(window.parts, gaps, Total(shown)).replace(notices=window.notices)

    def _wide(self, row: Row | None) -> WideRow:
        # Most rows fit into a window.
        from tokcap.shapes.wide_row import WideRow

        start, end, number = (0, self._header_end, None) if row is None else (row.start, row.end, row.number)
        if row is None and self._header.startswith(BYTE_ORDER_MARK):
            start = len(BYTE_ORDER_MARK)
        return WideRow(
            self._header.removeprefix(BYTE_ORDER_MARK),
            self._data[start:end],
            start,
            number,
            more=end < len(self._data),
            tokens=self._tokens,
            ask=self._ask,
            cost=self._cost,
            dialect=self._dialect,
        )

    def _rest_of_wide_row(self) -> Cut | None:
        """Return the columns from the offset on, if that is inside a row that is wider than a window."""
        first, number = self._first_row(self._begin)
        if self._ask.keep.needs_tail or first == self._begin or not number:
            return None
        back = BACK_BYTES
        while (start := self._first_row(max(first - back, self._header_end)))[1] >= number:
            back *= BACK_BYTES
        place, before = start
        while before < number - 1:
            place, before = end_of_row(self._data, place, self._dialect), before + 1
        row = Row(before, place, first)
        if self._fits(row) or not self._wide(row).begins_at(self._begin):
            return None
        return self._columns_of(row, self._begin)

    def _fits(self, row: Row) -> bool:
        """Whether a row fits into a window with the header above it."""
        if self._header_end + row.end - row.start > self.limit * self._tokens.longest_token_bytes:
            return False
        mark = self._marks(None) if row.end < len(self._data) else ()
        return self._cost((Kept(self._header + self._data[row.start : row.end]), *mark)) <= self.limit

    def _finished(
        self, parts: tuple[Kept | Mark, ...], gaps: tuple[Gap, ...], shown: Total | None = None
    ) -> Cut:
        hint = ""
        if gaps:
            total = self._tokens.total
            shown = shown or shown_between(gaps, self._first_token, total)
            hint = note_of(shown, total, gaps[0], self._ask)
        return Cut(parts, self._first_token, gaps, hint)
