"""The rows of a terminal and its cursor: text is written, overwritten and erased.

The screen has 64 rows of 65,536 columns. A row that scrolls off the top is final and is given out. A row that
is too long continues in the next one, and both are given out as one line.
"""

from __future__ import annotations

import re
from functools import lru_cache

# How far a progress display may move up. Tall displays (docker, npm) need this many. With more rows, lines
# would be passed on later.
ROWS = 64
# Bounds the cost of one row. Lines that are meant to be rewritten are shorter: on a real terminal a carriage
# return goes back a few hundred columns, not over a 50 MB line.
COLUMNS = 65536
# Where movement to the right stops beyond the text. Programs move to column 999 when they mean the edge;
# that must not fill the output with blanks.
EDGE = 256
TAB_STOP = 8
# The cell of each ASCII character, shared by all rows.
CELLS = [bytes((byte,)) for byte in range(128)]

# Text that overwrites other text is handled in these pieces.
PIECE = re.compile(rb"\t|[ -~]+|[^\t -~]+")


class Row:
    """One row: plain bytes while text is only appended, otherwise one cell per column.

    A wide character is followed by an empty cell for its second column, a tab by one for each further column.
    Combining marks are in the cell of their letter.
    """

    __slots__ = ("cells", "wraps")

    def __init__(self, text: bytes = b"") -> None:
        self.cells: bytearray | list[bytes] = bytearray(text)
        self.wraps = False

    @property
    def text(self) -> bytes:
        return bytes(self.cells) if isinstance(self.cells, bytearray) else b"".join(self.cells)

    @property
    def at_columns(self) -> list[bytes]:
        """The cells, with each character at the index of its column."""
        if isinstance(self.cells, bytearray):
            text, self.cells = bytes(self.cells), []
            for piece in PIECE.findall(text):
                if piece == b"\t":
                    self.append_tab()
                else:
                    self.put(len(self.cells), piece)
        return self.cells

    def clear(self) -> None:
        self.cells = bytearray()
        self.wraps = False

    def append(self, text: bytes) -> None:
        """Add text at the end of a row of plain bytes."""
        assert isinstance(self.cells, bytearray)
        self.cells += text

    def append_tab(self) -> None:
        cells = self.at_columns
        cells += [b"\t"] + [b""] * (TAB_STOP - 1 - len(cells) % TAB_STOP)

    def overwrite_with_blanks(self, start: int, stop: int) -> None:
        """Overwrite columns with blanks up to `stop`, which may be past the end."""
        cells = self.at_columns
        stop = min(stop, len(cells))
        if start < stop:
            self._break_character(start)
            self._break_character(stop)
            cells[start:stop] = [b" "] * (stop - start)

    def cut(self, column: int) -> None:
        if column == 0:
            # An empty row goes back to plain bytes.
            self.clear()
            return
        cells = self.at_columns
        self._break_character(column)
        del cells[column:]
        self.wraps = False

    def pad(self, column: int) -> None:
        cells = self.at_columns
        cells += [b" "] * (column - len(cells))

    def insert(self, column: int, blanks: int) -> None:
        """Move the text from `column` on to the right."""
        self._before_move(column)
        self.at_columns[column:column] = [b" "] * max(min(blanks, COLUMNS - len(self.at_columns)), 0)

    def delete(self, column: int, columns: int) -> None:
        """Remove columns, and move what follows them to the left."""
        self._before_move(column)
        self._break_character(column + columns)
        del self.at_columns[column : column + columns]

    def _before_move(self, column: int) -> None:
        """Turn a tab into blanks: on a screen it has a width of its own, and keeps it when it moves."""
        self._break_character(column)
        for place, cell in enumerate(self.at_columns[column:], column):
            if cell == b"\t":
                self.overwrite_with_blanks(place, place + 1)

    def put(self, column: int, text: bytes) -> tuple[int, int]:
        """Overwrite from `column` to the end of the row. Return how many bytes and columns were used."""
        self.pad(column)
        cells, room = self.at_columns, max(COLUMNS - column, 0)
        new = [CELLS[byte] for byte in text[:room]] if text.isascii() else []
        used = len(new)
        for character in "" if text.isascii() else text.decode("utf-8", "surrogateescape"):
            cell, width = cell_of(character)
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
            self._break_character(column)
            self._break_character(column + len(new))
            cells[column : column + len(new)] = new
        return used, len(new)

    def _break_character(self, column: int) -> None:
        """Replace a character by blanks if this column is in the middle of it."""
        cells = self.at_columns
        if column >= len(cells) or cells[column]:
            return
        start = stop = column
        while start > 0 and not cells[start]:
            start -= 1
        while stop < len(cells) and not cells[stop]:
            stop += 1
        cells[start:stop] = [b" "] * (stop - start)


class Screen:
    """Rows and a cursor. Rows that have scrolled off the top are in `out`."""

    def __init__(self) -> None:
        self.rows = [Row()]
        self.row = 0
        # None: at the end of a row of plain bytes, whose columns were not counted yet.
        self.column: int | None = None
        self.out: list[bytes] = []
        self._scrolled = 0
        self._saved = (0, 0)

    @property
    def appends(self) -> bool:
        """Whether the next text is appended to everything else."""
        return self.column is None and self.row == len(self.rows) - 1

    def add_lines(self, lines: bytes) -> None:
        """Append whole lines without control characters, none longer than a row. Needs `appends`."""
        first, *rest = lines.rsplit(b"\n", ROWS)
        self.rows[-1].append(first)
        if len(rest) == ROWS:
            self._scroll(len(self.rows))
        self.rows += map(Row, rest)
        self._scroll(len(self.rows) - ROWS)
        self.row = len(self.rows) - 1

    def write(self, text: bytes) -> None:
        """Write text that has no control characters except tabs."""
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
        # At the end of the row a tab stays a tab.
        row.pad(column)
        row.append_tab()
        self.column = len(row.cells)
        return 1

    def newline(self) -> None:
        """Move to the beginning of the next row. At the bottom, add a row."""
        if self.row == len(self.rows) - 1:
            self.rows.append(Row())
        self.row += 1
        self._scroll(len(self.rows) - ROWS)
        self.carriage_return()

    def carriage_return(self) -> None:
        row = self.rows[self.row]
        if not row.cells:
            # In an empty row the beginning is the end.
            row.clear()
        self.column = 0 if row.cells else None

    def down(self) -> None:
        """Move to the next row, in the same column."""
        column = self.counted_column()
        self.newline()
        self.go_to(column)

    def counted_column(self) -> int:
        if self.column is None:
            self.go_to(len(self.rows[self.row].at_columns))
            return len(self.rows[self.row].cells)
        return self.column

    def go_to(self, column: int, row: int | None = None) -> None:
        """Move the cursor, but not off the screen and not far beyond the text."""
        if row is not None:
            self.row = min(max(row, 0), ROWS - 1)
            self.rows += [Row() for _ in range(len(self.rows), self.row + 1)]
        room = max(len(self.rows[self.row].at_columns), EDGE)
        self.column = min(max(column, 0), room)

    def move(self, columns: int = 0, rows: int = 0) -> None:
        self.go_to(self.counted_column() + columns, self.row + rows)

    def save(self) -> None:
        self._saved = (self.counted_column(), self.row + self._scrolled)

    def restore(self) -> None:
        column, row = self._saved
        self.go_to(column, row - self._scrolled)

    def erase_columns(self, columns: int) -> None:
        column = self.counted_column()
        self.rows[self.row].overwrite_with_blanks(column, column + columns)
        self.go_to(column)

    def insert_columns(self, columns: int) -> None:
        self.rows[self.row].insert(self.counted_column(), min(columns, EDGE))

    def delete_columns(self, columns: int) -> None:
        self.rows[self.row].delete(self.counted_column(), columns)

    def insert_rows(self, rows: int) -> None:
        """Move this row and those below it down. What moves off the screen is lost."""
        self.rows[self.row : self.row] = [Row() for _ in range(min(rows, ROWS))]
        del self.rows[ROWS:]
        self.carriage_return()

    def delete_rows(self, rows: int) -> None:
        """Remove this row and others below it, and move the rest up."""
        del self.rows[self.row : self.row + rows]
        self.rows += [Row()] if self.row == len(self.rows) else []
        self.carriage_return()

    def erase_in_line(self, part: int) -> None:
        """Erase in this row. 0: after the cursor, 1: before the cursor, 2: everything."""
        row, column = self.rows[self.row], self.counted_column()
        if part == 0:
            row.cut(column)
        elif part == 1:
            row.overwrite_with_blanks(0, column + 1)
        elif part == 2:
            row.clear()
        self.go_to(column)

    def erase(self, part: int) -> None:
        """Erase on the screen. 0: after the cursor, 1: before the cursor, 2: everything."""
        self.erase_in_line(part)
        if part in (1, 2):
            for row in self.rows[: self.row]:
                row.clear()
        if part in (0, 2):
            del self.rows[self.row + 1 :]

    def finish(self) -> None:
        """Give out all rows. The last row has no newline after it."""
        while len(self.rows) - 1 > self.row and not self.rows[-1].text.strip():
            # Rows below the cursor that were erased are not shown.
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


@lru_cache(4096)
def cell_of(character: str) -> tuple[bytes, int]:
    """Return a character's bytes and its width in columns. The cache shares the bytes between cells."""
    from unicodedata import category, east_asian_width

    data = character.encode("utf-8", "surrogateescape")
    if character.isascii() or character == "\N{SOFT HYPHEN}":
        return data, 1
    # The vowels of decomposed Hangul are drawn inside the first letter of the syllable.
    if category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return data, 0
    return data, 2 if east_asian_width(character) in ("W", "F") else 1
