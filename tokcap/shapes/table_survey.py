"""Windows over tables with many gaps: the rows that a survey of all rows chose (`--keep focus`)."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.csv_text import end_of_row
from tokcap.shapes.line_map import BLOCK_BYTES, LineMap
from tokcap.shapes.record_survey import RecordSurvey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Protocol

    from tokcap.core.cut import Cost, Part, Ranges
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap
    from tokcap.shapes.csv_text import Dialect
    from tokcap.shapes.json_text.scanner import View

    class RowMap(Protocol):
        """Where rows begin. They are numbered from 0."""

        count: int
        # Whether every line is a row.
        are_lines: bool

        def byte_of(self, row: int, /) -> int:
            """Return where a row begins; the end of the table for the row after the last one."""
            ...


QUOTE = b'"'
# Rows of a larger table that has quotes are not surveyed: a line end inside quotes ends no row.
QUOTED_BYTES = 8 << 20
# `[TRUNCATED] 12 hidden,,,`
GAP_TOKENS = 9
# A survey of quoted rows needs each row on one line.
LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class Starts:
    """Rows whose starts are known one by one."""

    are_lines = False

    def __init__(self, data: View, first_byte: int, dialect: Dialect) -> None:
        self._starts = [first_byte]
        while self._starts[-1] < len(data):
            self._starts.append(end_of_row(data, self._starts[-1], dialect))
        self.count = len(self._starts) - 1

    def byte_of(self, row: int) -> int:
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

    def landmarks(self) -> Sequence[tuple[int, float]]:
        # The header is always shown.
        return ()

    def blocks(self) -> Iterator[bytes]:
        size, begin = self.payload.size, self._rows.byte_of(0)
        if self._rows.are_lines:
            for place in range(begin, size, BLOCK_BYTES):
                yield self.payload.read(place, min(place + BLOCK_BYTES, size))
            return
        yield b"".join(self.text_of(row).translate(LINE_ENDS) + b"\n" for row in range(self.count))

    def text_of(self, unit: int) -> bytes:
        return self.payload.read(self._rows.byte_of(unit), self._rows.byte_of(unit + 1))

    def tokens_between(self, first: int, end: int) -> int:
        known = self._known.get((first, end))
        if known is None:
            text = self.payload.read(self._rows.byte_of(first), self._rows.byte_of(end))
            known = self._known[first, end] = self._tokens.count_alone(text)
        return known
