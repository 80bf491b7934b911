"""The lines that are shown so far, and by how much the answer grows with more of them."""

from __future__ import annotations

# The engine of `bisect`, without its module.
from _bisect import bisect_right

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    # The tokens of the lines from the first number up to the second one.
    Cost = Callable[[int, int], int]


class ShownLines:
    """Ranges of lines, in order, with a gap between them."""

    def __init__(self, total_lines: int, cost: Cost, gap_tokens: int) -> None:
        self.total_lines = total_lines
        self._cost = cost
        self._gap_tokens = gap_tokens
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def price(self, first: int, end: int) -> int:
        """Return by how many tokens the answer grows if these lines are shown too."""
        begin = bisect_right(self._ends, first - 1)
        stop, place, price = begin, first, 0
        count = len(self._firsts)
        while stop < count and self._firsts[stop] <= end:
            if self._firsts[stop] > place:
                price += self._cost(place, self._firsts[stop])
            place = max(place, self._ends[stop])
            stop += 1
        if place < end:
            price += self._cost(place, end)
        # The neighbours on both sides, and how many gaps are between them, now and then.
        left = self._ends[begin - 1] if begin else 0
        right = self._firsts[stop] if stop < count else self.total_lines
        if begin == stop:
            gaps = (left < first) + (end < right) - 1
        else:
            old_first, old_end = self._firsts[begin], self._ends[stop - 1]
            gaps = (left < min(first, old_first)) + (max(end, old_end) < right)
            gaps -= (left < old_first) + (old_end < right) + stop - begin - 1
        return price + gaps * self._gap_tokens

    def add(self, first: int, end: int) -> None:
        """Show these lines too."""
        begin = bisect_right(self._ends, first - 1)
        stop = begin
        while stop < len(self._firsts) and self._firsts[stop] <= end:
            first = min(first, self._firsts[stop])
            end = max(end, self._ends[stop])
            stop += 1
        self._firsts[begin:stop] = [first]
        self._ends[begin:stop] = [end]

    def end_of(self, line: int) -> int:
        """Return the end of the range that a line is shown in; the line itself if it is not shown."""
        place = bisect_right(self._firsts, line) - 1
        return max(line, self._ends[place]) if place >= 0 else line

    def first_of(self, line: int) -> int:
        """Return the beginning of the range that a line is shown in; the line after it if it is not shown."""
        place = bisect_right(self._firsts, line) - 1
        return self._firsts[place] if place >= 0 and line < self._ends[place] else line + 1

    def gaps_around(self, line: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the gaps before and after the range that a line is shown in; they may be empty."""
        place = bisect_right(self._firsts, line) - 1
        left = self._ends[place - 1] if place else 0
        right = self._firsts[place + 1] if place + 1 < len(self._firsts) else self.total_lines
        return (left, self._firsts[place]), (self._ends[place], right)

    def overlaps(self, first: int, end: int) -> bool:
        """Return whether one of these lines is shown."""
        place = bisect_right(self._ends, first)
        return place < len(self._firsts) and self._firsts[place] < end

    def has(self, line: int) -> bool:
        return self.end_of(line) > line

    def ranges(self) -> tuple[tuple[int, int], ...]:
        return tuple(zip(self._firsts, self._ends, strict=True))
