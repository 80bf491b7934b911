"""Find the secrets of all kinds in a text, and say how each is masked."""

from __future__ import annotations

import re

from tokcap.filters.secret_kinds import KINDS, Kind
from tokcap.filters.secret_values import (
    BARE,
    IN_DOUBLE_QUOTES,
    IN_ESCAPED_QUOTES,
    IN_SINGLE_QUOTES,
    MASK,
    VALUE_BYTES,
)
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def nearest_landmark() -> re.Pattern[bytes]:
    """Join all landmarks into one pattern, grouped by first letter: most positions fail at once."""
    landmarks = {landmark.lower() for each in KINDS for landmark in each.landmarks}
    needed = [
        one for one in landmarks if not any(one != other and one.startswith(other) for other in landmarks)
    ]
    by_letter: dict[bytes, list[bytes]] = {}
    for one in sorted(needed):
        by_letter.setdefault(one[:1], []).append(re.escape(one[1:]))
    return re.compile(
        b"|".join(re.escape(letter) + b"(?:%b)" % b"|".join(rests) for letter, rests in by_letter.items())
    )


LANDMARK = nearest_landmark()
# The kinds that can begin at each landmark.
AT_LANDMARK: dict[bytes, tuple[tuple[int, Kind], ...]] = {}


def kinds_at(landmark: bytes) -> tuple[tuple[int, Kind], ...]:
    if landmark not in AT_LANDMARK:
        AT_LANDMARK[landmark] = tuple(
            (rank, each)
            for rank, each in enumerate(KINDS)
            if any(one.lower().startswith(landmark) for one in each.landmarks)
        )
    return AT_LANDMARK[landmark]


def find(text: bytes, folded: bytes, start: int, end: int) -> Iterator[Found]:
    """Yield the secrets between two positions, in no order. `folded` is the text in lower case."""
    # Where the last secret of each kind ends: the kind does not match inside it again.
    done: dict[int, int] = {}
    while landmark := LANDMARK.search(folded, start, end):
        start = landmark.start()
        for rank, each in kinds_at(landmark[0]):
            if start < done.get(rank, 0):
                continue
            match = each.pattern.match(text, start, end)
            if match and each.judge(match):
                secret = match.start("secret")
                rest = rest_of(text, secret)
                done[rank] = end_of(text, match, rest, end)
                yield Found(start, secret, done[rank], rank, rest, mask_of(match))
        start += 1


def rest_of(text: bytes, secret: int) -> re.Pattern[bytes]:
    quote = text[secret - 1 : secret]
    if quote not in (b'"', b"'"):
        return REST_BARE
    if text[secret - 2 : secret - 1] == b"\\":
        return REST_ESCAPED
    return REST_DOUBLE if quote == b'"' else REST_SINGLE


# A name in quotes and a colon, as in JSON.
QUOTED_NAME = re.compile(rb"""(\\{0,3}["'])[ \t]*:[ \t]*\Z""")
NUMBER = re.compile(rb"\d[\d.eE+-]*\Z")


def mask_of(match: re.Match[bytes]) -> bytes:
    """Return the mask, in quotes if it replaces a number in JSON."""
    name = QUOTED_NAME.search(match.string, match.start(), match.start("secret"))
    return name[1] + MASK + name[1] if name and NUMBER.match(match["secret"]) else MASK


def end_of(text: bytes, match: re.Match[bytes], rest: re.Pattern[bytes], end: int) -> int:
    start, stop = match.span("secret")
    if stop - start < VALUE_BYTES:
        return stop
    remainder = rest.match(text, stop, end)
    return remainder.end() if remainder else stop
