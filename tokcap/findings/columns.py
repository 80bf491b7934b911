"""Outliers in columns of numbers: the largest file, the slowest import, the busiest process."""

from __future__ import annotations

from itertools import pairwise

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_COLUMNS = 10
LEAST_ROWS = 12
# A largest value is an outlier if it is so many times the middle one.
FAR = 4.0
MOST_PER_COLUMN = 8


def outliers(words: Sequence[Sequence[bytes]]) -> Iterator[tuple[int, str, float]]:
    """Yield the lines with the largest numbers of a column: place, kind, and strength from 0 to 1."""
    rows = len(words)
    if rows < LEAST_ROWS:
        return
    for column in range(MOST_COLUMNS):
        sample = [line[column] for line in words[1 :: max(rows // 40, 1)] if len(line) > column]
        if len(sample) < 10 or sum(map(is_number, sample)) * 10 < len(sample) * 8:
            continue
        values = [
            (float(line[column]), n)
            for n, line in enumerate(words)
            if len(line) > column and is_number(line[column])
        ]
        if len(values) * 2 < rows or is_sorted(values):
            continue
        ranked = sorted(values, key=lambda item: -item[0])
        middle = ranked[len(ranked) // 2][0]
        for order, (value, n) in enumerate(ranked[:MOST_PER_COLUMN]):
            if value > FAR * max(middle, 0.1):
                yield n, "outlier", 1.0 / (1 + 0.35 * order)


def is_number(word: bytes) -> bool:
    return word.isdigit() or (word.count(b".") == 1 and word.replace(b".", b"").isdigit())


def is_sorted(values: Sequence[tuple[float, int]]) -> bool:
    """Return whether nearly all values are in order, as those of a counter or a clock."""
    rising = sum(1 for one, two in pairwise(values) if one[0] <= two[0])
    return rising * 20 > len(values) * 19 or rising * 20 < len(values)
