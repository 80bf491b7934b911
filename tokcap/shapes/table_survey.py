"""Windows over tables with many gaps: the rows that a survey of all rows chose (`--keep focus`)."""

from __future__ import annotations

from tokcap.focus.lines import LineMap, blocks_of
from tokcap.focus.window import RecordSurvey
from tokcap.shapes.csv_text import end_of_row
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from tokcap.core.cut import Cost, Part, Ranges
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.csv_text import Dialect
    from tokcap.shapes.json_scanner import View

    # Where rows begin.
    RowMap: TypeAlias = "LineMap | Starts"

QUOTE = b'"'
# Rows of a larger table that has quotes are not surveyed: a line end inside quotes ends no row.
QUOTED_BYTES = 8 << 20
# `[TRUNCATED] 12 hidden,,,`
GAP_TOKENS = 9
# A survey of quoted rows needs each row on one line.
LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class Starts:
    """Rows whose starts are known one by one, numbered from 0."""

    def __init__(self, data: View, first_byte: int, dialect: Dialect) -> None:
        self._starts = [first_byte]
        while self._starts[-1] < len(data):
            self._starts.append(end_of_row(data, self._starts[-1], dialect))
        self.count = len(self._starts) - 1

    def byte_of(self, row: int) -> int:
        """Return where a row begins; the end of the table for the row after the last one."""
        return self._starts[row]


def rows_of(payload: Payload, data: View, first_byte: int, dialect: Dialect) -> RowMap | None:
    """Return where the rows begin; None if that takes too long to find out."""
    if data.find(QUOTE, first_byte) < 0:
        return LineMap(payload, first_byte)
    return Starts(data, first_byte, dialect) if len(data) - first_byte <= QUOTED_BYTES else None


class TableSurvey(RecordSurvey):
    """The rows of a table and one limit."""

    gap_tokens = GAP_TOKENS

    def __init__(
        self,
        payload: Payload,
        rows: RowMap,
        tokens: TokenMap,
        limit: int,
        parts_of: Callable[[Ranges], tuple[Part, ...]],
        cost: Cost,
    ) -> None:
        super().__init__(payload, rows.count, tokens, limit, parts_of, cost)
        self._rows = rows
        self._known: dict[tuple[int, int], int] = {}

    def blocks(self) -> Iterator[bytes]:
        if isinstance(self._rows, LineMap):
            return blocks_of(self.payload, self._rows.byte_of(0), self.payload.size)
        return (self.text_of(row).translate(LINE_ENDS) + b"\n" for row in range(self.count))

    def text_of(self, unit: int) -> bytes:
        return self.payload.read(self._rows.byte_of(unit), self._rows.byte_of(unit + 1))

    def tokens_between(self, first: int, end: int) -> int:
        known = self._known.get((first, end))
        if known is None:
            text = self.payload.read(self._rows.byte_of(first), self._rows.byte_of(end))
            known = self._known[first, end] = self._tokens.count_alone(text)
        return known
