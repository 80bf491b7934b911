"""The question of a reader in its own words, and the lines that share its rare words. No model is called."""

from __future__ import annotations

import re
from math import log

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tokcap.focus.templates import Block

# Words that every question may have.
COMMON = frozenset(
    b"a all an and any are as at be been being by can cannot did do does each every exactly find for from get"
    b" give given had has have how i if in into is it its line lines list many me most much my name names no"
    b" not of on one or other our out output please say says see should show that the their them then there"
    b" these they this those to try us use used want was we were what when where which who whose why will"
    b" with would you your tell command look need needs check".split()
)
PARTS = re.compile(rb"[a-z0-9\x80-\xff]+")
ENDINGS = (b"ings", b"ing", b"ied", b"ies", b"edly", b"ed", b"es", b"e", b"s", b"y")
LEAST_STEM, LEAST_LETTERS = 4, 2
# A name with punctuation in it counts as a whole too, and this much more than its parts.
WHOLE_WEIGHT = 1.5
# Lines with less than this share of what the best line has do not answer.
LEAST_SHARE, MOST_ANSWERS = 0.45, 60
# After this many answers, one is worth half.
HALF_ANSWERS = 6


class Question:
    """Words of a question, as they are compared with those of a text."""

    def __init__(self, text: str) -> None:
        words = [word.strip(b".?!-") for word in re.split(rb"[\s,;:()\"'`\[\]{}]+", text.lower().encode())]
        self._wholes = {word for word in words if not PARTS.fullmatch(word) and len(word) > LEAST_STEM}
        parts = {part for word in words for part in PARTS.findall(word)} - COMMON
        self._stems = {stem_of(part) for part in parts if len(part) >= LEAST_LETTERS}
        # What a block may have of it, for the first look at a block of which few lines are examined.
        self.beginnings = tuple(sorted(stem for stem in self._stems if len(stem) >= LEAST_STEM))

    def answers(self, block: Block) -> Iterator[tuple[int, float]]:
        """Yield the lines of a block that answer best, each with a strength from 0 to 1."""
        found = self._telling(block.word_counts)
        if not found:
            return
        # Words that many lines have tell little.
        counts: dict[bytes, int] = {}
        for word, keys in found.items():
            for key in keys:
                counts[key] = counts.get(key, 0) + block.word_counts[word]
        total = log(len(block.words) + 1)
        weights = {
            key: (WHOLE_WEIGHT if key in self._wholes else 1.0) * max(1 - log(count) / total, 0.0)
            for key, count in counts.items()
        }
        scored = [
            (score, n) for n, line in enumerate(block.words) if (score := score_of(line, found, weights))
        ]
        if not scored:
            return
        best = max(scored)[0]
        rarest = max(weights.values())
        scored = [(score, n) for score, n in scored if score >= LEAST_SHARE * best]
        scored.sort(key=lambda each: (-each[0], each[1]))
        for order, (score, n) in enumerate(scored[:MOST_ANSWERS]):
            yield n, rarest * (score / best) ** 2 / (1 + order / HALF_ANSWERS)

    def _telling(self, words: Mapping[bytes, int]) -> dict[bytes, list[bytes]]:
        """Return the words of a text that the question has too, each with what they share."""
        found: dict[bytes, list[bytes]] = {}
        for word in words:
            keys = [stem for part in PARTS.findall(word) if (stem := stem_of(part)) in self._stems]
            keys += [whole for whole in self._wholes if whole in word]
            if keys:
                found[word] = keys
        return found


def score_of(
    line: Sequence[bytes], found: Mapping[bytes, Sequence[bytes]], weights: Mapping[bytes, float]
) -> float:
    """Return how much of a question a line has."""
    keys = {key for word in line if word in found for key in found[word]}
    return sum([weights[key] for key in sorted(keys)])


def stem_of(word: bytes) -> bytes:
    """Return a word without its ending: `failing`, `failed` and `fails` are one word here."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            return word[: -len(ending)]
    return word
