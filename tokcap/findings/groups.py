"""Group lines that say the same with other names and numbers, and learn what kind of text they are."""

from __future__ import annotations

# `collections.Counter` counts with it. Importing `collections` would load more than is saved.
from _collections import _count_elements  # type: ignore[import-not-found]

from tokcap.findings.words import DIGITS, SLASH, constant_words
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# A word in one of so many lines is a part of what lines say; in between these numbers of lines at least.
FREQUENT_SHARE, LEAST_FREQUENT, MOST_FREQUENT = 100, 3, 20
# The first words of a line decide its group.
KEY_WORDS = 14
MOST_GROUPS = 20_000
# Words that only one line has are remarkable if at most one of so many lines of a group has one.
NOVEL_SHARE = 12
UNIQUE_LETTERS = 4
# Words that prose is full of, and words that source code is full of.
PROSE_WORDS = tuple(b"the a an of to is and in that this be are for with it as by or you can".split())
SOURCE_WORDS = tuple(
    b"def return self import class if else elif function const let var int void char static public private"
    b" struct func fn pub mut end then local require raise try except catch"
    b" throw".split()
)
LEAST_SOURCE_WORDS = 6


class Groups:
    """The groups of lines so far. Group 0 has the lines that are like no other."""

    def __init__(self) -> None:
        # How many lines each group has.
        self.counts = [1]
        # Shares of words that prose and source code are full of, in the first block.
        self.prose = self.source = 0.0
        self._numbers = {b"": 0}
        # Words that decide the group of a line; whether none of them has a digit.
        self._frequent: set[bytes] = set()
        self._ignores_digits = False
        self._is_new = True

    def learn(
        self,
        lines: Sequence[bytes],
        masks: Sequence[bytes],
        words: Sequence[Sequence[bytes]],
        word_counts: dict[bytes, int],
    ) -> list[int]:
        """Return the group of each line. `masks` are the lines with equal digits."""
        if self._is_new:
            self._is_new = False
            self._frequent = self._frequent_words(len(words), word_counts)
            said = b"".join(self._frequent)
            self._ignores_digits = len(said.translate(None, DIGITS)) == len(said)
        known: dict[bytes, int] = {}
        found = []
        for mask, line in zip(masks if self._ignores_digits else lines, words, strict=True):
            number = known.get(mask)
            if number is None:
                number = known[mask] = self._number_of(line)
            found.append(number)
        found_counts: dict[int, int] = {}
        _count_elements(found_counts, found)
        for number, count in found_counts.items():
            if number:
                self.counts[number] += count
        return found

    def _number_of(self, line: Sequence[bytes]) -> int:
        """Return the number of a group, and add the group if it is new."""
        key = b" ".join(filter(self._frequent.__contains__, line[:KEY_WORDS]))
        if line and SLASH in line[0]:
            # Files of one directory are of one kind.
            directory = line[0].lstrip(b"./").partition(b"/")[0]
            if directory.isalpha():
                key = directory + b"/ " + key
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= MOST_GROUPS:
                return 0
            number = self._numbers[key] = len(self.counts)
            self.counts.append(0)
        return number

    def _frequent_words(self, lines: int, word_counts: dict[bytes, int]) -> set[bytes]:
        total = sum(word_counts.values()) or 1
        self.prose = sum([word_counts.get(word, 0) for word in PROSE_WORDS]) / total
        source = [word_counts[word] for word in SOURCE_WORDS if word in word_counts]
        # One of these words alone can be a name of something else.
        self.source = sum(source) / total if len(source) >= LEAST_SOURCE_WORDS else 0.0
        least = max(LEAST_FREQUENT, min(lines // FREQUENT_SHARE, MOST_FREQUENT))
        return constant_words([word for word, count in word_counts.items() if count >= least])

    def novel(
        self, words: Sequence[Sequence[bytes]], groups: Sequence[int], word_counts: dict[bytes, int]
    ) -> dict[int, int]:
        """Return lines that differ from their group by a word of their own, with the number of such lines."""
        unique = constant_words(
            [word for word, count in word_counts.items() if count == 1 and len(word) >= UNIQUE_LETTERS]
        )
        if not unique:
            return {}
        is_large = [count >= NOVEL_SHARE for count in self.counts]
        is_large[0] = False
        by_group: dict[int, list[int]] = {}
        for place, group in enumerate(groups):
            if is_large[group] and not unique.isdisjoint(words[place]):
                by_group.setdefault(group, []).append(place)
        return {
            place: len(places)
            for group, places in by_group.items()
            if len(places) * NOVEL_SHARE <= self.counts[group]
            for place in places
        }
