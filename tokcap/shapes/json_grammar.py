"""Check text against the grammar of JSON (RFC 8259).

Functions return spans of values, or raise `NotJson` with the position of the error.
"""

from __future__ import annotations

from tokcap.shapes.json_scanner import (
    CLOSERS,
    NotJson,
    skip_blanks,
    start_of_text,
    without_trailing,
)
from tokcap.startup.patterns import later
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.shapes.json_scanner import Span, View

# Strict: the grammar of RFC 8259, one lexeme at a time, each kind in its group.
STRICT_KINDS = (
    rb"([\[{])|([\]}])|(,)|(:)|"
    rb'("(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")|'
    rb"(-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null))"
)
STRICT_LEXEME = later(rb"[ \t\n\r]*+(?:" + STRICT_KINDS)
OPEN, CLOSE, COMMA, COLON, STRING, SCALAR = range(1, 7)
# The beginning of a lexeme whose rest is cut off.
CUT_LEXEME = later(
    rb"[ \t\n\r]*+(?:"
    rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?|'
    rb"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|)"
)

# What may follow a number or word at the top of a text.
AFTER_WORD = (b"", b" ", b"\t", b"\n", b"\r")


class Beginning(Record):
    """How a sequence of values begins: the complete values, and whether more seem to follow."""

    values: Sequence[Span]
    more: bool


def beginning_of_values(sample: bytes) -> Beginning:
    """Return the values at the beginning of a text; `ValueError` if no JSON text begins like this."""
    import codecs

    codecs.getincrementaldecoder("utf-8")().decode(sample)
    values: list[Span] = []
    place = skip_blanks(sample, 0)
    while place < len(sample):
        try:
            start, end = validated_value(sample, place)
        except NotJson as error:
            if CUT_LEXEME.fullmatch(sample, error.place):
                return Beginning(values, more=True)
            raise
        if sample[start] not in b'{["':
            if end == len(sample) or CUT_LEXEME.fullmatch(sample, end):
                # The number or word may continue after the sample.
                return Beginning(values, more=True)
            check_separated(sample, end)
        values.append((start, end))
        place = skip_blanks(sample, end)
    return Beginning(values, more=False)


def validated_values(data: View, begin: int | None = None) -> Iterator[Span]:
    """Yield the values of a sequence of JSON texts; `ValueError` where the text is not valid.

    `begin`: leave out the values before it.
    """
    end = without_trailing(data, b" \t\n\r")
    place = skip_blanks(data, start_of_text(data) if begin is None else begin)
    # Up to here the text is known not to have one value per line.
    refused = 0
    while place < end:
        if place >= refused and data[place] in b"{[":
            newline = data.find(b"\n", place, end)
            line_end = end if newline < 0 else newline
            try:
                loads(data[place:line_end].decode(), numbers=False)
            except (ValueError, RecursionError):
                # This parser is fast, but refuses deep nesting and more than one value.
                refused = line_end
            else:
                while data[line_end - 1] in b" \t\r":
                    line_end -= 1
                yield place, line_end
                place = skip_blanks(data, line_end)
                continue
        scalar = STRICT_LEXEME.match(data, place)
        if scalar and (scalar.lastindex or 0) >= STRING:
            start, stop = scalar.span(scalar.lastindex or 0)
        else:
            start, stop = validated_value(data, place)
        data[start:stop].decode()  # JSON is UTF-8; UnicodeDecodeError is a ValueError
        if data[start] not in b'{["':
            check_separated(data, stop)
        yield start, stop
        place = skip_blanks(data, stop)


def check_separated(data: View, end: int) -> None:
    """Raise `NotJson` unless a blank or the end of the text follows a number or word."""
    if data[end : end + 1] not in AFTER_WORD:
        raise NotJson(end)


def validated_value(data: View, position: int, inside: bytes = b"") -> Span:
    """Return the span of the value after `position`, checked by the grammar.

    `inside`: the opening signs of the containers around `position`, which is after a child of the last one.
    Then the end of the first one is returned, and the beginning is `position`.
    """
    value = (OPEN, STRING, SCALAR)
    # The kinds of lexemes that may come next, and the closing signs of the containers that are open.
    expected: tuple[int, ...] = (COMMA, CLOSE) if inside else value
    open_containers = bytearray(CLOSERS[inside[place : place + 1]][0] for place in range(len(inside)))
    begin, in_key = position if inside else -1, False
    while True:
        match = STRICT_LEXEME.match(data, position)
        if match is None:
            raise NotJson(position)
        kind = match.lastindex
        if kind not in expected:
            raise NotJson(match.start(kind or 0))
        position = match.end()
        if begin < 0:
            begin = match.start(kind)
        if kind == OPEN:
            opened = match[OPEN]
            open_containers += CLOSERS[opened]
            expected = (*value, CLOSE) if opened == b"[" else (STRING, CLOSE)
            in_key = opened == b"{"
            continue
        if kind == CLOSE:
            if match[CLOSE] != open_containers[-1:]:
                raise NotJson(position - 1)
            open_containers.pop()
        elif kind == COMMA:
            in_key = open_containers[-1:] == b"}"
            expected = (STRING,) if in_key else value
            continue
        elif kind == COLON:
            in_key = False
            expected = value
            continue
        elif kind == STRING and open_containers and in_key:
            expected = (COLON,)
            continue
        if not open_containers:
            return begin, position
        expected = (COMMA, CLOSE)
        in_key = False
