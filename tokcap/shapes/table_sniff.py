"""Decide whether a payload is a table. If the caller declared it, closed quotes are enough."""

from __future__ import annotations

import io

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.beginning import is_name

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

    from tokcap.core.payload import Payload
    from tokcap.shapes.csv_text import Dialect

SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200


def looks_like_table(payload: Payload, dialect: Dialect) -> bool:
    """Return whether a header of names comes first and every row has as many cells as it."""
    sample = payload.read(0, min(payload.size, SAMPLE_BYTES))
    if dialect.delimiter not in sample.partition(b"\n")[0]:
        return False
    rows, closed = read_rows(sample, dialect, SAMPLE_ROWS)
    complete = len(sample) == payload.size
    if complete and not closed:
        return False
    # A sample may end inside a row or a quoted cell. Then only the rows before count.
    if not complete and len(rows) <= SAMPLE_ROWS:
        rows = rows[:-1]
    header, *body = [row for row in rows if row] or [[]]
    cells = len(header)
    return (
        cells >= 2
        and len(body) >= (2 if cells == 2 else 1)
        and all(len(row) == cells for row in body)
        and len(set(header)) == cells
        and all(is_name(cell) for cell in header)
        # A first row that repeats a cell of a row below is not a header.
        and not any(cell == name for row in body for cell, name in zip(row, header, strict=True))
        # In prose a blank follows a comma.
        and not all(cell.startswith(" ") for row in body for cell in row[1:])
    )


def all_quotes_closed(payload: Payload, dialect: Dialect) -> bool:
    """Return whether every quoted cell ends. Nothing else can contradict a declared table."""
    import csv

    # It has no descriptor, so it does not have to be closed.
    lines = io.TextIOWrapper(io.BufferedReader(PayloadFile(payload)), "utf-8-sig", "replace", newline="")
    try:
        for _row in csv.reader(lines, delimiter=dialect.delimiter.decode(), strict=True):
            pass
    except csv.Error as error:
        return is_about_size(error)
    return True


class PayloadFile(io.RawIOBase):
    """A payload as a file that is read from beginning to end."""

    def __init__(self, payload: Payload) -> None:
        self._payload = payload
        self._place = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        room = memoryview(buffer).cast("B")
        block = self._payload.read(self._place, min(self._place + len(room), self._payload.size))
        room[: len(block)] = block
        self._place += len(block)
        return len(block)


def read_rows(data: bytes, dialect: Dialect, most: int) -> tuple[list[list[str]], bool]:
    """Return the first `most` + 1 rows at most, and whether all quotes in them are closed."""
    import csv

    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    rows: list[list[str]] = []
    try:
        for row in csv.reader(
            io.StringIO(text, newline=""), delimiter=dialect.delimiter.decode(), strict=True
        ):
            rows.append(row)
            if len(rows) > most:
                break
    except csv.Error as error:
        return rows, is_about_size(error)
    return rows, True


def is_about_size(error: Exception) -> bool:
    """Return whether the reader refused a cell for its size. Tables have no such limit."""
    return "field limit" in str(error)
