"""Outliers in columns of numbers: the largest file, the slowest import, the busiest process."""

from __future__ import annotations

# Importing `operator` would load one more file.
from _operator import le, neg

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_COLUMNS = 10
LEAST_ROWS = 12
# A largest value is an outlier if it is so many times the middle one.
FAR = 4.0
MOST_PER_COLUMN = 8
# How many lines show whether it is a table, and one of how many rows may lack a value.
SAMPLE_ROWS, RARE_ROWS = 40, 50
# Words are in lower case.
SUFFIXES = {b"k": 1e3, b"m": 1e6, b"g": 1e9, b"t": 1e12}


def outliers(words: Sequence[Sequence[bytes]]) -> Iterator[tuple[int, str, float]]:
    """Yield the lines with the largest numbers of a column: place, kind, and strength from 0 to 1."""
    rows = len(words)
    if rows < LEAST_ROWS:
        return
    for column in range(MOST_COLUMNS):
        sample = [line[column] for line in words[1 :: max(rows // 40, 1)] if len(line) > column]
        if len(sample) < 10:
            continue
        # Numbers begin with a digit or a dot; `:` is the byte after the digits.
        numbers = [word for word in sample if word < b":"]
        if len(numbers) * 10 < len(sample) * 8 or sum(map(is_number, numbers)) * 10 < len(sample) * 8:
            continue
        places = [n for n, line in enumerate(words) if len(line) > column]
        column_words = [words[n][column] for n in places]
        if b"".join(column_words).isdigit():
            values = list(map(float, column_words))
        else:
            places = [n for n, word in zip(places, column_words, strict=True) if is_number(word)]
            values = [size_of(words[n][column]) for n in places]
        if len(values) * 2 < rows or is_sorted(values):
            continue
        if max(values) <= FAR * max(sorted(values, reverse=True)[len(values) // 2], 0.1):
            # No value is far from the middle one.
            continue
        # The largest first; of equal ones, the first.
        ranked = sorted(zip(map(neg, values), places, strict=True))
        middle = -ranked[len(ranked) // 2][0]
        for order, (negative, n) in enumerate(ranked[:MOST_PER_COLUMN]):
            if -negative > FAR * max(middle, 0.1):
                yield n, "outlier", 1.0 / (1 + 0.35 * order)


def incomplete(lines: Sequence[bytes]) -> Iterator[tuple[int, str, float]]:
    """Yield the rows of a table in which a value is missing, if nearly all others have one."""
    rows = len(lines)
    separator = b"\t" if b"\t" in lines[0] else b","
    columns = lines[0].count(separator)
    if rows < LEAST_ROWS or not columns:
        return
    sample = lines[:: max(rows // SAMPLE_ROWS, 1)]
    if sum([line.count(separator) == columns for line in sample]) * 10 < len(sample) * 8:
        return
    nothing = separator * 2
    text = b"\n".join(lines) + b"\n"
    if nothing not in text and separator + b"\n" not in text and b"\n" + separator not in text:
        # Most tables are complete: the rows are not looked at.
        return
    found = [
        n
        for n, line in enumerate(lines)
        if (line.find(nothing) >= 0 or line[:1] == separator or line[-1:] == separator)
        and line.count(separator) == columns
    ]
    if len(found) * RARE_ROWS <= rows:
        for n in found[:MOST_PER_COLUMN]:
            yield n, "outlier", 1.0


def is_number(word: bytes) -> bool:
    """Return whether a word is a number, or a size: `84M`, `1.5k`."""
    if word.isdigit():
        return True
    digits = word[:-1] if word[-1:] in SUFFIXES else word
    return digits.replace(b".", b"", 1).isdigit()


def size_of(word: bytes) -> float:
    """Return the value of a number or of a size."""
    factor = SUFFIXES.get(word[-1:])
    return float(word[:-1]) * factor if factor else float(word)


def is_sorted(values: Sequence[float]) -> bool:
    """Return whether nearly all values are in order, as those of a counter or a clock."""
    rising: int = sum(map(le, values, values[1:]))
    return rising * 20 > len(values) * 19 or rising * 20 < len(values)
