"""Show a row that is wider than a window: a group of its columns at a time, below their part of the header.

Cells that are too long for any window are replaced by the mark first. If the row fits then, it is shown
whole.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from tokcap.core.cut import Kept, Mark, largest_fit
from tokcap.core.response import Notice
from tokcap.shapes.csv_text import cell_text, cells_of, quoted_cell
from tokcap.shapes.paths import as_step
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from tokcap.core.cut import Ask, Cost
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.csv_text import Dialect

    Parts: TypeAlias = tuple[Kept | Mark, ...]

# A mark without a number, in a table whose caller asked for none.
LEFT_OUT = "…"
# What a mark and line ends add to the bytes of a cell and its name, with a sentinel of usual length.
MARK_ROOM = 8


class ShownColumns(Record):
    """A window of one row."""

    parts: tuple[Kept | Mark, ...]
    # Where the first cell begins, and where the next window does.
    first_byte: int
    next_byte: int
    notices: tuple[Notice, ...] = ()


class WideRow:
    """A row of a table, or a header without rows, and one limit."""

    def __init__(
        self,
        header: bytes,
        row: bytes,
        start: int,
        number: int | None,
        *,
        more: bool,
        tokens: TokenMap,
        ask: Ask,
        cost: Cost,
        dialect: Dialect,
    ) -> None:
        """`number` is None for a header. `more`: other rows follow."""
        self._header = cells_of(header, dialect)
        self._cells = cells_of(row, dialect)
        self._line_end = b"\r\n" if header.endswith(b"\r\n") else b"\n"
        self._starts: list[int] = list(accumulate((len(cell) + 1 for cell in self._cells), initial=start))
        self._starts[-1] = start + len(row)
        self._number = number
        self._more = more
        self._tokens = tokens
        self._sentinel = ask.sentinel
        self._limit = ask.limit or 0
        self._most_bytes = self._limit * tokens.longest_token_bytes
        self._cost = cost
        self._dialect = dialect

    def begins_at(self, byte: int) -> bool:
        """Return whether a cell begins at this byte or later, in a token before that of the next row."""
        column = self._column_at(byte)
        return column < len(self._cells) and not self._shares_token_with_end(column)

    def window(self, byte: int) -> ShownColumns | None:
        """Return the columns that begin at `byte` or later, as many as fit; None if not even a mark fits."""
        first = self._column_at(byte)
        cells, replaced = self._shortened(first)
        if not first and self._fits(cells, 0, len(cells)):
            return self._shown(cells, 0, len(cells), tuple(map(self._cell_notice, sorted(replaced))))
        sizes = accumulate(
            len(cell) + len(self._name(column)) for column, cell in enumerate(cells[first:], first)
        )
        most = max(sum(size <= self._most_bytes for size in sizes), 1)
        best = largest_fit(
            most, lambda number: self._cost(self._parts(cells, first, first + number + 1)), self._limit
        )
        if best is None:
            return self._only_mark(first)
        fitting = first + best + 1
        end = self._border(first, fitting)
        if first == 0 and fitting == len(cells):
            return self._shown(cells, first, fitting, ())
        shown_end = min(fitting, end)
        notices = [self._group_notice(first, shown_end)]
        notices += [self._cell_notice(column) for column in range(first, shown_end) if column in replaced]
        if end > shown_end:
            notices.append(self._missed_notice(shown_end))
        return self._shown(cells, first, shown_end, tuple(notices), end)

    def _column_at(self, byte: int) -> int:
        return bisect_left(self._starts, byte, 0, len(self._cells))

    def _shortened(self, first: int) -> tuple[Sequence[bytes], set[int]]:
        """Return the cells with the mark in place of those that fit into no window, and which those are."""
        cells, replaced = list(self._cells), set()
        for column in range(first, len(cells)):
            size = len(cells[column]) + len(self._name(column)) + len(self._sentinel.encode()) + MARK_ROOM
            if size > self._limit and not self._fits(cells, column, column + 1):
                cells[column] = quoted_cell(self._sentinel or LEFT_OUT, self._dialect)
                replaced.add(column)
        return cells, replaced

    def _fits(self, cells: Sequence[bytes], first: int, end: int) -> bool:
        if sum(map(len, cells[first:end])) > self._most_bytes:
            return False
        return self._cost(self._parts(cells, first, end)) <= self._limit

    def _name(self, column: int) -> bytes:
        return self._header[column] if self._number is not None and column < len(self._header) else b""

    def _parts(self, cells: Sequence[bytes], first: int, end: int) -> Parts:
        """Return these columns of the header and of the row, and a mark if anything follows."""
        delimiter = self._dialect.delimiter
        text = delimiter.join(cells[first:end]) + self._line_end
        if self._number is not None:
            text = delimiter.join(map(self._name, range(first, end))) + self._line_end + text
        return Kept(text), *self._marks(end - first, is_last=end == len(cells))

    def _marks(self, columns: int, *, is_last: bool) -> Sequence[Mark]:
        if not self._sentinel or (is_last and not self._more):
            return ()
        row = quoted_cell(self._sentinel, self._dialect) + self._dialect.delimiter * (columns - 1)
        return (Mark(self._sentinel, row=row + self._line_end),)

    def _border(self, first: int, fitting: int) -> int:
        """Return the column with which the next window can begin: cells in one token stay together."""
        places: list[int] = [*range(fitting, first, -1), *range(fitting + 1, len(self._cells))]
        for end in places:
            if end == len(self._cells):
                return end
            token_start = self._tokens.byte_at(self._tokens.token_at(self._starts[end]))
            if token_start > self._starts[end - 1] and not self._shares_token_with_end(end):
                return end
        return len(self._cells)

    def _shares_token_with_end(self, column: int) -> bool:
        """Whether a cell begins in the token in which the next row begins."""
        token_at = self._tokens.token_at
        return self._more and token_at(self._starts[column]) == token_at(self._starts[-1])

    def _shown(
        self,
        cells: Sequence[bytes],
        first: int,
        shown_end: int,
        notices: tuple[Notice, ...],
        end: int | None = None,
    ) -> ShownColumns:
        return ShownColumns(
            self._parts(cells, first, shown_end),
            self._starts[first],
            self._starts[shown_end if end is None else end],
            notices,
        )

    def _only_mark(self, first: int) -> ShownColumns | None:
        """Return only the mark in place of the rest of the row; None if there is no room for it."""
        parts = tuple(self._marks(1, is_last=False))
        if not parts or self._cost(parts) > self._limit:
            return None
        longest = max(range(first, len(self._cells)), key=lambda column: len(self._cells[column]))
        what, pointer = self._what, self._pointer(longest)
        message = f"{what} has {self._size} tokens, more than a window can show; a cell is at {pointer}"
        notice = Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=self._size)
        return ShownColumns(parts, self._starts[first], self._starts[-1], (notice,))

    @property
    def _size(self) -> int:
        return self._tokens.token_at(self._starts[-1] - 1) + 1 - self._tokens.token_at(self._starts[0])

    @property
    def _what(self) -> str:
        return "the header" if self._number is None else f"row {self._number}"

    def _group_notice(self, first: int, end: int) -> Notice:
        columns = f"column {end}" if end == first + 1 else f"columns {first + 1} to {end}"
        return Notice("COLUMNS_SHOWN", f"{columns} of {len(self._cells)} of {self._what}")

    def _cell_notice(self, column: int) -> Notice:
        size, pointer = self._size, self._pointer(column)
        message = f"the cell at {pointer} is in a row of {size} tokens, more than a window can show"
        return Notice("FIELD_TRUNCATED", message, pointer=pointer, tokens=size)

    def _missed_notice(self, column: int) -> Notice:
        pointer = self._pointer(column)
        message = (
            f"the cell at {pointer} shares a token with the cell before it, "
            "and both together do not fit into a window of this limit"
        )
        return Notice("FIELD_TRUNCATED", message, pointer=pointer)

    def _pointer(self, column: int) -> str:
        """Return the pointer to a cell: by the name of its column if no earlier column has that name."""
        names = self._header
        is_named = column < len(names) and names.index(names[column]) == column
        return f"/{self._number or 0}/{as_step(cell_text(names[column])) if is_named else column}"
