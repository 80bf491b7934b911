"""Find the secrets of all kinds in a text, and say how each is masked."""

from __future__ import annotations

import re

from tokcap.filters.landmarks import landmarks_in
from tokcap.filters.secret_kinds import KINDS
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
