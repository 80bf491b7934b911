"""Group lines that say the same with other names and numbers, and learn what kind of text they are."""

from __future__ import annotations

from tokcap.findings.words import constant_words
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
        self._frequent: set[bytes] | None = None

    def learn(self, words: Sequence[Sequence[bytes]], word_counts: dict[bytes, int]) -> list[int]:
        """Return the group of each line."""
        if self._frequent is None:
            self._frequent = self._frequent_words(len(words), word_counts)
        is_frequent, numbers, counts = self._frequent.__contains__, self._numbers, self.counts
        found = []
        for line in words:
            key = b" ".join(filter(is_frequent, line[:KEY_WORDS]))
            if line and b"/" in line[0]:
                # Files of one directory are of one kind.
                directory = line[0].lstrip(b"./").partition(b"/")[0]
                if directory.isalpha():
                    key = directory + b"/ " + key
            number = numbers.get(key)
            if number is None:
                if len(numbers) < MOST_GROUPS:
                    number = numbers[key] = len(counts)
                    counts.append(0)
                else:
                    number = 0
            if number:
                counts[number] += 1
            found.append(number)
        return found

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
        by_group: dict[int, list[int]] = {}
        for place, group in enumerate(groups):
            if group and self.counts[group] >= NOVEL_SHARE and not unique.isdisjoint(words[place]):
                by_group.setdefault(group, []).append(place)
        return {
            place: len(places)
            for group, places in by_group.items()
            if len(places) * NOVEL_SHARE <= self.counts[group]
            for place in places
        }
