"""What a survey found: units that are worth showing, and facts about the lines between them."""

from __future__ import annotations

# The engine of `bisect`, without its module.
from _bisect import bisect_right

from tokcap.lean.record import Record


class Unit(Record):
    """Lines that are worth showing together. Lines count from 0; bytes are offsets in the text."""

    first_line: int
    end_line: int
    kind: str
    value: float
    # Lines that say the same in other words, numbers or names have the same group.
    group: int = 0
    # Lines that differ only in numbers and hashes have the same number here.
    repeat: int = 0
    # Related lines around the unit: the frames of a trace, the quoted source, the rest of a message.
    about_first: int = 0
    about_end: int = 0
    # The first line of the unit that this one explains; -1 if it stands for itself.
    explains: int = -1


class Found(Record):
    """A line that reports a failure."""

    line: int
    kind: str


class Findings(Record):
    """The result of a survey."""

    total_lines: int
    units: tuple[Unit, ...]
    found: tuple[Found, ...]
    # Whether the command failed; None if that is not known.
    failed: bool | None
    # Ranges of lines that differ only in numbers and hashes, in order.
    repeats: tuple[tuple[int, int], ...]
    # Lines and the bytes where they begin, in order: at least one for each megabyte.
    places: tuple[tuple[int, int], ...]

    def are_similar(self, first: int, end: int) -> bool:
        """Return whether these lines differ from the line before them only in numbers and hashes."""
        place = bisect_right(self.repeats, (first - 1, self.total_lines)) - 1
        return place >= 0 and self.repeats[place][0] < first and end <= self.repeats[place][1]
