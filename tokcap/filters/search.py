"""Find the secrets of all kinds in a text, and say how each is masked.

Secrets begin at words, the landmarks. Nearly all text has none, so finding them has to be quick: a word is
looked for by the rarest of its bytes, its pivot, so that the search stops at few bytes of a text.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tokcap.filters.kinds import KINDS
from tokcap.filters.patterns import (
    BARE,
    IN_DOUBLE_QUOTES,
    IN_ESCAPED_QUOTES,
    IN_SINGLE_QUOTES,
    MASK,
    VALUE_BYTES,
)
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.filters.patterns import Kind

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

    def may_be_at(self, around: bytes) -> bool:
        """Return whether the word can have its pivot in the middle of three bytes."""
        begin, stop = max(self.pivot - 1, 0), self.pivot + 2
        part = around[begin - self.pivot + 1 :][: len(self.word[begin:stop])]
        return (part.lower() if self.any_case else part) == self.word[begin:stop]

    def begins_at(self, text: bytes, place: int, end: int) -> bool:
        last = place + len(self.word)
        if last > end:
            return False
        word = text[place:last]
        return (word.lower() if self.any_case else word) == self.word


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


@lru_cache(4096)
def landmarks_around(around: bytes) -> list[Landmark]:
    return [one for one in LANDMARKS if one.may_be_at(around)]


def landmarks_in(text: bytes, start: int, end: int) -> Iterator[tuple[int, Landmark]]:
    """Yield the landmarks between two positions, in no order, and where each begins."""
    for found in PIVOT.finditer(text, start, end):
        pivot = found.start()
        around = text[pivot - 1 : pivot + 2] if pivot else b"\n" + text[:2]
        for landmark in landmarks_around(around):
            place = pivot - landmark.pivot
            if place >= start and landmark.begins_at(text, place, end):
                yield place, landmark


# The rest of a value that is longer than a pattern looks, by the quote before the value.
REST_ESCAPED = re.compile(IN_ESCAPED_QUOTES + rb"*", re.VERBOSE)
REST_DOUBLE = re.compile(IN_DOUBLE_QUOTES + rb"*", re.VERBOSE)
REST_SINGLE = re.compile(IN_SINGLE_QUOTES + rb"*", re.VERBOSE)
REST_BARE = re.compile(BARE + rb"*+")


class Found(Record):
    """A secret in a text."""

    # Where the match begins; the secret itself is from `start` to `end`.
    first: int
    start: int
    end: int
    # Position of its kind in the table.
    rank: int
    # Matches the rest of the secret in the next window.
    rest: re.Pattern[bytes]
    mask: bytes = MASK


# How far before a landmark a secret may begin.
BEHIND_BYTES = 256

# Kinds without a landmark, with a pattern that includes the end of the line before.
LINE_KINDS = tuple(
    (rank, each, re.compile(rb"[\r\n](?:%b)" % each.pattern.pattern, each.pattern.flags))
    for rank, each in enumerate(KINDS)
    if not each.landmarks
)


def find(text: bytes, start: int, end: int) -> Iterator[Found]:
    """Yield the secrets between two positions, in no order."""
    yield from find_lines(text, start, end)
    # Where the last secret of each kind ends: the kind does not match inside it again.
    done: dict[int, int] = {}
    for place, landmark in landmarks_in(text, start, end):
        closed = None
        for rank, each in landmark.kinds:
            gate = each.gate
            if gate is not None:
                if gate is closed:
                    continue
                if not gate.match(text, place, end):
                    closed = gate
                    continue
            if place < done.get(rank, 0):
                continue
            if each.behind:
                match = each.pattern.search(text, max(start, place - BEHIND_BYTES), place)
            else:
                match = each.pattern.match(text, place, end)
            if match and each.accepts(match):
                found = as_found(text, match, rank, end)
                done[rank] = found.end
                yield found


def find_lines(text: bytes, start: int, end: int) -> Iterator[Found]:
    """Yield the secrets that are recognized by a line as a whole."""
    for rank, each, after_line_end in LINE_KINDS:
        matches = after_line_end.finditer(text, max(start - 1, 0), end)
        first = each.pattern.match(text, start, end) if start == 0 else None
        for match in (first, *matches) if first else matches:
            if each.accepts(match):
                yield as_found(text, match, rank, end)


def as_found(text: bytes, match: re.Match[bytes], rank: int, end: int) -> Found:
    secret, each = match.start("secret"), KINDS[rank]
    rest = each.rest or rest_of(text, secret)
    return Found(match.start(), secret, end_of(text, match, rest, end), rank, rest, each.mask(match))


def rest_of(text: bytes, secret: int) -> re.Pattern[bytes]:
    quote = text[secret - 1 : secret]
    if quote not in (b'"', b"'"):
        return REST_BARE
    if text[secret - 2 : secret - 1] == b"\\":
        return REST_ESCAPED
    return REST_DOUBLE if quote == b'"' else REST_SINGLE


def end_of(text: bytes, match: re.Match[bytes], rest: re.Pattern[bytes], end: int) -> int:
    start, stop = match.span("secret")
    if stop - start >= VALUE_BYTES and (remainder := rest.match(text, stop, end)):
        return remainder.end()
    if text[start - 1 : start] not in (b'"', b"'") and text[stop : stop + 1] == b'"':
        # Backslashes before this quote belong to it, as in JSON inside of JSON.
        stop = max(start + 1, start + len(text[start:stop].rstrip(b"\\")))
    return stop
