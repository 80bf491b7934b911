"""Find the cells of many rows at once, with one pattern for a whole row."""

from __future__ import annotations

import re

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.csv_text import end_of_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.shapes.csv_text import Dialect

# Rows are read in blocks of about this size.
BLOCK_BYTES = 1 << 16
# After so many rows with other cells, the other rows of a block are matched one by one.
MOST_IRREGULAR = 8


class RowCells:
    """Rows with as many cells as `cells` has patterns. What is in groups is found."""

    def __init__(self, cells: Sequence[bytes], dialect: Dialect) -> None:
        self._dialect = dialect
        row = dialect.delimiter.join(cells) + rb"(\r\n|\n|\r|\Z)"
        self._row = re.compile(row)
        self._row_or_rest = re.compile(rb"(?!\Z)(?:" + row + rb"|(.++))", re.DOTALL)

    def read(self, block: bytes) -> Iterator[tuple[Sequence[tuple[bytes, ...]], bytes]]:
        """Yield the rows of a block: the groups of some rows, and one row that has other cells or none.

        The last group of a row is its line end. It is empty only at the end of a block that ends inside of
        a row.
        """
        place = irregular = 0
        while place < len(block):
            if irregular < MOST_IRREGULAR:
                found = self._row_or_rest.findall(block, place)
                rest = found[-1][-1]
                if rest:
                    found.pop()
                place = len(block) - len(rest)
                rows: Sequence[tuple[bytes, ...]] = [row[:-1] for row in found]
            else:
                match = self._row.match(block, place)
                rows = [match.groups()] if match and match.end() > place else []
                place = match.end() if match and rows else place
                rest = b"" if rows else block[place : place + 1]
            other = b""
            if rest:
                # This row has more cells or fewer.
                irregular += 1
                end = end_of_row(block, place, self._dialect)
                other, place = block[place:end], end
            yield rows, other
