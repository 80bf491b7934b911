"""Find the words at which secrets begin. Nearly all text has none, so that has to be quick.

A word is looked for by the rarest of its bytes, its pivot: the search stops at few bytes of a text.
"""

from __future__ import annotations

import re

from tokcap.filters.secret_kinds import KINDS
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.filters.kind import Kind

# Capital letters first: where they are required, they are rarer than any small letter.
RAREST_FIRST = b"QZXJKVWYBGFUPMHDLCRSNOITEA@${}qzjxvkwygbfpucmh_dlrsnioate.:/-=0123456789( "


class Landmark(Record):
    """A word at which secrets of some kinds begin."""

    word: bytes
    # Position of its pivot.
    pivot: int
    any_case: bool
    # The kinds, with their ranks.
    kinds: tuple[tuple[int, Kind], ...]

    def begins_at(self, text: bytes, place: int, end: int) -> bool:
        last = place + len(self.word)
        if last > end:
            return False
        word = text[place:last]
        return (word.lower() if self.any_case else word) == self.word

    def may_be_at(self, around: bytes) -> bool:
        """Return whether the text around a pivot agrees with this word."""
        before, after = min(self.pivot, AROUND_BYTES), min(len(self.word) - self.pivot, AROUND_BYTES)
        part = around[AROUND_BYTES - before : AROUND_BYTES + after]
        expected = self.word[self.pivot - before : self.pivot + after]
        return (part.lower() if self.any_case else part) == expected


def all_landmarks() -> list[Landmark]:
    return [
        Landmark(
            word, word.index(min(word, key=RAREST_FIRST.index)), any_case, tuple(kinds_of(word, any_case))
        )
        for any_case in (True, False)
        for word in shortest_words(any_case)
    ]


def shortest_words(any_case: bool) -> list[bytes]:
    """Return the landmarks of some kinds. A word that begins with another one is found with it."""
    words = {word for each in KINDS if each.any_case == any_case for word in each.landmarks}
    return sorted(word for word in words if not any(word != one and word.startswith(one) for one in words))


def kinds_of(word: bytes, any_case: bool) -> Iterator[tuple[int, Kind]]:
    for rank, each in enumerate(KINDS):
        if each.any_case == any_case and any(one.startswith(word) for one in each.landmarks):
            yield rank, each


def pivot_pattern() -> re.Pattern[bytes]:
    """Return a pattern for the pivots of all landmarks."""
    by_pivot: dict[bytes, list[bytes]] = {}
    for one in LANDMARKS:
        spelled = [letter(byte, any_case=one.any_case) for byte in one.word]
        look = b"".join(spelled[one.pivot + 1 :])
        look += b"(?<=%b)" % b"".join(spelled) if one.pivot else b""
        pivot = one.word[one.pivot : one.pivot + 1]
        # Not a class of both: the engine skips bytes quickly only if every alternative begins with a literal.
        for spelling in {pivot, pivot.upper()} if one.any_case else {pivot}:
            by_pivot.setdefault(re.escape(spelling), []).append(look)
    return re.compile(
        b"|".join(pivot + b"(?=%b)" % b"|".join(sorted(looks)) for pivot, looks in by_pivot.items())
    )


def letter(byte: int, *, any_case: bool) -> bytes:
    small, capital = bytes([byte]).lower(), bytes([byte]).upper()
    return b"[%b%b]" % (small, capital) if any_case and small != capital else re.escape(bytes([byte]))


LANDMARKS = all_landmarks()
PIVOT = pivot_pattern()
BY_PIVOT: dict[int, list[Landmark]] = {}
for each in LANDMARKS:
    for spelling in (
        {each.word[each.pivot], each.word.upper()[each.pivot]} if each.any_case else {each.word[each.pivot]}
    ):
        BY_PIVOT.setdefault(spelling, []).append(each)
# The landmarks whose pivot is in the middle of a short text, for texts that were met.
AT_PIVOT: dict[bytes, list[Landmark]] = {}
MOST_TEXTS = 4000
AROUND_BYTES = 3


def landmarks_at(around: bytes) -> list[Landmark]:
    """Return the landmarks that may have their pivot in the middle of a text of 2 * AROUND_BYTES."""
    if around not in AT_PIVOT:
        if len(AT_PIVOT) >= MOST_TEXTS:
            AT_PIVOT.clear()
        AT_PIVOT[around] = [one for one in BY_PIVOT[around[AROUND_BYTES]] if one.may_be_at(around)]
    return AT_PIVOT[around]


def landmarks_in(text: bytes, start: int, end: int) -> Iterator[tuple[int, Landmark]]:
    """Yield the landmarks between two positions, in no order, and where each begins."""
    for found in PIVOT.finditer(text, start, end):
        pivot = found.start()
        if pivot < AROUND_BYTES:
            candidates = LANDMARKS
        else:
            around = text[pivot - AROUND_BYTES : pivot + AROUND_BYTES]
            candidates = AT_PIVOT.get(around) or landmarks_at(around)
        for landmark in candidates:
            place = pivot - landmark.pivot
            if place >= start and landmark.begins_at(text, place, end):
                yield place, landmark
