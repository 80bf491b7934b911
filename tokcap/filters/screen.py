"""The rows that a terminal would show: text is written into them, moved over, overwritten and erased.

The screen has 64 rows of 65,536 columns. A row that scrolls off the top is final and comes out; a row
that ran over goes on in the next one, and both come out as one line.
"""

from __future__ import annotations

import re
from functools import lru_cache

# How far back a progress display may move up. Fewer would cut off the tall ones (docker, npm); every
# row more is a line that is passed on later.
ROWS = 64
# A bound for what one row can cost, wide enough for any line that is meant to be rewritten: on a real
# terminal a carriage return leads back over some hundred columns, never over all of a 50 MB line.
COLUMNS = 65536
# Where movement to the right stops if nothing is written there: programs ask for column 999 when they
# mean the edge, and the blanks in between are made from nothing.
EDGE = 256
TAB_STOP = 8

# What is written over something else, in parts that are handled alike.
PIECE = re.compile(rb"\t|[ -~]+|[^\t -~]+")


class Row:
    """One row: its plain bytes as long as that will do, else one cell per column.

    A wide character is followed by an empty cell for its second column, a tab by as many as it spans;
    marks without a column of their own stand in the cell of their letter.
    """

    __slots__ = ("cells", "wraps")

    def __init__(self, text: bytes = b"") -> None:
        self.cells: bytearray | list[bytes] = bytearray(text)
        self.wraps = False

    @property
    def text(self) -> bytes:
        return bytes(self.cells) if isinstance(self.cells, bytearray) else b"".join(self.cells)

    @property
    def at_columns(self) -> bytearray | list[bytes]:
        """The cells, with every character at the place that its column has."""
        if isinstance(self.cells, bytearray) and not (self.cells.isascii() and b"\t" not in self.cells):
            text, self.cells = bytes(self.cells), []
            for piece in PIECE.findall(text):
                if piece == b"\t":
                    self.append_tab()
                else:
                    self._join(len(self.cells), piece, COLUMNS)
        return self.cells

    def clear(self) -> None:
        self.cells = bytearray()
        self.wraps = False

    def append(self, text: bytes) -> None:
        """Add text at the end of a row that has needed no cells so far."""
        assert isinstance(self.cells, bytearray)
        self.cells += text

    def append_tab(self) -> None:
        if isinstance(self.cells, bytearray):
            self.cells += b"\t"
        else:
            self.cells += tab_at(len(self.cells))

    def blank(self, start: int, stop: int) -> None:
        """Put blanks into columns up to `stop`, which may lie past the end."""
        cells = self.at_columns
        stop = min(stop, len(cells))
        if start < stop:
            self._part(start)
            self._part(stop)
            if isinstance(cells, bytearray):
                cells[start:stop] = b" " * (stop - start)
            else:
                cells[start:stop] = [b" "] * (stop - start)

    def cut(self, column: int) -> None:
        if column == 0:
            # An empty row is one of plain bytes.
            self.clear()
            return
        cells = self.at_columns
        self._part(column)
        del cells[column:]
        self.wraps = False

    def pad(self, column: int) -> None:
        cells = self.at_columns
        missing = column - len(cells)
        if missing > 0 and isinstance(cells, bytearray):
            cells += b" " * missing
        elif missing > 0 and isinstance(cells, list):
            cells += [b" "] * missing

    def put(self, column: int, text: bytes) -> tuple[int, int]:
        """Write over what is there, as far as the row goes: the bytes and the columns that were used."""
        self.pad(column)
        cells, room = self.at_columns, max(COLUMNS - column, 0)
        if isinstance(cells, bytearray):
            if text.isascii():
                text = text[:room]
                cells[column : column + len(text)] = text
                return len(text), len(text)
            cells = self.cells = [bytes((byte,)) for byte in cells]
        return self._join(column, text, room)

    def _join(self, column: int, text: bytes, room: int) -> tuple[int, int]:
        cells, used = self.cells, 0
        new: list[bytes] = []
        assert isinstance(cells, list)
        for character in text.decode("utf-8", "surrogateescape"):
            cell, width = drawn(character)
            if width == 0 and (new or column):
                place, where = (len(new), new) if new else (column, cells)
                while place > 1 and not where[place - 1]:
                    place -= 1
                where[place - 1] += cell
            elif len(new) + max(width, 1) > room:
                break
            else:
                new += (cell, b"")[: max(width, 1)]
            used += len(cell)
        if new:
            self._part(column)
            self._part(column + len(new))
            cells[column : column + len(new)] = new
        return used, len(new)

    def _part(self, column: int) -> None:
        """Leave only blanks of a character that does not end where this column begins."""
        cells = self.cells
        if isinstance(cells, bytearray) or column >= len(cells) or cells[column]:
            return
        start = stop = column
        while start > 0 and not cells[start]:
            start -= 1
        while stop < len(cells) and not cells[stop]:
            stop += 1
        cells[start:stop] = [b" "] * (stop - start)


class Screen:
    """Rows, and a cursor on them. What has scrolled off the top waits in `out` for whoever wants it."""

    def __init__(self) -> None:
        self.rows = [Row()]
        self.row = 0
        # None: at the end of a row of plain bytes, whose columns nobody has had to count so far.
        self.column: int | None = None
        self.out: list[bytes] = []
        self._scrolled = 0
        self._saved = (0, 0)

    @property
    def appends(self) -> bool:
        """Whether what comes next stands after everything else."""
        return self.column is None and self.row == len(self.rows) - 1

    def add_lines(self, lines: bytes) -> None:
        """Take whole lines without a control character, none longer than a row: only where they append."""
        first, *rest = lines.rsplit(b"\n", ROWS)
        self.rows[-1].append(first)
        if len(rest) == ROWS:
            self._scroll(len(self.rows))
        self.rows += map(Row, rest)
        self._scroll(len(self.rows) - ROWS)
        self.row = len(self.rows) - 1

    def write(self, text: bytes) -> None:
        """Show text without control characters, tabs excepted."""
        done = 0
        while done < len(text):
            row = self.rows[self.row]
            if self.column is None:
                used = COLUMNS - len(row.cells)
                row.append(text[done : done + used])
            else:
                piece = PIECE.match(text, done)
                assert piece, "every byte belongs to a piece"
                used = self._overwrite(row, piece[0])
            done += used
            if not used:
                row.wraps = True
                self.newline()

    def _overwrite(self, row: Row, piece: bytes) -> int:
        column = self.column or 0
        if piece != b"\t":
            used, columns = row.put(column, piece)
            self.go_to(column + columns)
            return used
        if column >= COLUMNS:
            return 0
        if column < len(row.at_columns):
            self.go_to(column // TAB_STOP * TAB_STOP + TAB_STOP)
            return 1
        # At the end, a tab is kept as what it is.
        row.pad(column)
        row.append_tab()
        self.column = None if isinstance(row.cells, bytearray) else len(row.cells)
        return 1

    def newline(self) -> None:
        """To the beginning of the next row, which is a new one at the bottom."""
        if self.row == len(self.rows) - 1:
            self.rows.append(Row())
        self.row += 1
        self._scroll(len(self.rows) - ROWS)
        self.carriage_return()

    def carriage_return(self) -> None:
        # An empty row is at its end as well.
        self.column = 0 if self.rows[self.row].cells else None

    def down(self) -> None:
        """The same, in the column where the cursor is."""
        column = self.counted_column()
        self.newline()
        self.go_to(column)

    def counted_column(self) -> int:
        if self.column is None:
            self.go_to(len(self.rows[self.row].at_columns))
            return len(self.rows[self.row].cells)
        return self.column

    def go_to(self, column: int, row: int | None = None) -> None:
        """Move the cursor, as far as there is something to move to."""
        if row is not None:
            self.row = min(max(row, 0), ROWS - 1)
            self.rows += [Row() for _ in range(len(self.rows), self.row + 1)]
        cells = self.rows[self.row].at_columns
        column = min(max(column, 0), max(len(cells), EDGE))
        self.column = None if isinstance(cells, bytearray) and column == len(cells) else column

    def move(self, columns: int = 0, rows: int = 0) -> None:
        self.go_to(self.counted_column() + columns, self.row + rows)

    def save(self) -> None:
        self._saved = (self.counted_column(), self.row + self._scrolled)

    def restore(self) -> None:
        column, row = self._saved
        self.go_to(column, row - self._scrolled)

    def blank(self, columns: int) -> None:
        column = self.counted_column()
        self.rows[self.row].blank(column, column + columns)
        self.go_to(column)

    def erase_in_line(self, part: int) -> None:
        """0: from the cursor on, 1: up to the cursor, 2: all of it."""
        row, column = self.rows[self.row], self.counted_column()
        if part == 0:
            row.cut(column)
        elif part == 1:
            row.blank(0, column + 1)
        elif part == 2:
            row.clear()
        self.go_to(column)

    def erase(self, part: int) -> None:
        """0: from the cursor on, 1: up to the cursor, 2: all of it. What has scrolled off stays."""
        self.erase_in_line(part)
        if part in (1, 2):
            for row in self.rows[: self.row]:
                row.clear()
        if part in (0, 2):
            del self.rows[self.row + 1 :]

    def finish(self) -> None:
        """Put out everything; the last row has no newline after it."""
        while len(self.rows) - 1 > self.row and not self.rows[-1].text.strip():
            # Erased rows below the cursor: a terminal shows nothing there.
            self.rows.pop()
        self.rows[-1].wraps = True
        self._scroll(len(self.rows))

    def _scroll(self, rows: int) -> None:
        for row in self.rows[: max(rows, 0)]:
            self.out += (row.text, b"" if row.wraps else b"\n")
        if rows > 0:
            del self.rows[:rows]
            self.row -= rows
            self._scrolled += rows


def tab_at(column: int) -> list[bytes]:
    return [b"\t"] + [b""] * (TAB_STOP - 1 - column % TAB_STOP)


@lru_cache(4096)
def drawn(character: str) -> tuple[bytes, int]:
    """A character's bytes, shared by all its cells, and the columns that it takes."""
    from unicodedata import category, east_asian_width

    data = character.encode("utf-8", "surrogateescape")
    if character.isascii() or character == "\N{SOFT HYPHEN}":
        return data, 1
    # The vowels of decomposed Hangul stand inside the syllable's first letter.
    if category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return data, 0
    return data, 2 if east_asian_width(character) in ("W", "F") else 1
