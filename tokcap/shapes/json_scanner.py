"""Find values in JSON text that is known to be valid: members, elements, values in a row, and their ends.

Functions take the source bytes and a position, and return positions.
"""

from __future__ import annotations

from tokcap.startup.patterns import DOTALL, later
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap
    from typing import TypeAlias

    # Where a value begins and ends. There may be millions, so they are not records.
    Span: TypeAlias = tuple[int, int]
    # A payload in place: slices are bytes, and patterns accept it.
    View: TypeAlias = bytes | mmap

# No pattern has a group inside a possessive repetition: early releases of Python 3.11 count such groups
# wrongly.

# A container nested at most this deep is matched by one pattern. Deeper ones cost one attempt per level, so
# the number must stay small.
ONE_MATCH_DEPTH = 5
# A string with a longer run of ordinary characters, or with more escapes, is not matched by one pattern.
SHORT_RUN_BYTES, FEW_ESCAPES = 1 << 10, 1 << 6
# If escapes are nearer to each other, a pattern is faster than one search for each.
NEAR_ESCAPE_BYTES = 64

BLANK_TEXT = rb"[ \t\n\r]*+"
STRING_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A number or word.
WORD_TEXT = rb'[^ \t\n\r\[\]{},:"]++'
KEY_TEXT = rb"(?:%s%s:%s)?+" % (STRING_TEXT, BLANK_TEXT, BLANK_TEXT)


def container_text(depth: int) -> bytes:
    """Return the source of a pattern for a container with at most `depth` levels inside."""
    inside = STRING_TEXT if not depth else rb"(?:%s|%s)" % (STRING_TEXT, container_text(depth - 1))
    return rb'[\[{][^\[\]{}"]*+(?:%s[^\[\]{}"]*+)*+[\]}]' % inside


BLANKS = later(rb"[ \t\n\r]*+")
KEY_SEPARATOR = later(BLANK_TEXT + b":" + BLANK_TEXT)
SEPARATORS = later(rb"[ \t\n\r,]*+")
QUOTED = later(STRING_TEXT, DOTALL)
# In text known to be valid: a string, a sign, or a number or word. Of a long string it is only the quote:
# `scanner.end_of_string` finds its end many times faster.
SHORT_STRING_TEXT = rb'"[^"\\]{0,%(run)d}+(?:\\.[^"\\]{0,%(run)d}+){0,%(few)d}+"' % {
    b"run": SHORT_RUN_BYTES,
    b"few": FEW_ESCAPES,
}
LEXEME = later(rb'%s|[\[\]{},:"]|[^\s\[\]{},:"]++' % SHORT_STRING_TEXT, DOTALL)
# Escapes in a row, with not much between them.
ESCAPES = later(rb'(?:[^"\\]{0,%d}+\\.)*+' % NEAR_ESCAPE_BYTES, DOTALL)
# The same, with all signs between two strings or blanks as one.
STRING_OR_NO_BLANKS = later(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^ \t\n\r"]++', DOTALL)
# A key (group 1) and its value, if that is a scalar (group 2).
MEMBER = later(
    rb"%(b)s(%(s)s)%(b)s:%(b)s(%(s)s|%(w)s)?" % {b"b": BLANK_TEXT, b"s": STRING_TEXT, b"w": WORD_TEXT}, DOTALL
)
SHALLOW_CONTAINER = later(container_text(ONE_MATCH_DEPTH), DOTALL)
# Used to find the end of a container: group 1 opens another one, group 2 closes one.
CONTAINER_CONTENT = later(
    rb'(?:[^\[\]{}"]++|%s|%s)++|([\[{])|([\]}])' % (STRING_TEXT, container_text(ONE_MATCH_DEPTH)), DOTALL
)
DEEPER, HIGHER = 1, 2

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CLOSERS = {b"[": b"]", b"{": b"}"}
# Events of `walk`.
SCALAR, OPENED, CLOSED = range(3)
BETWEEN, OPENING, CLOSING = b",:", b"[{", b"]}"
OBJECT_OPENER, QUOTE, BACKSLASH = ord("{"), ord('"'), ord("\\")
# The end of a payload is searched backwards in steps of this size.
TRAILING_BYTES = 1 << 12


class NotJson(ValueError):
    """The text is not JSON; the error is at `place`."""

    def __init__(self, place: int) -> None:
        super().__init__(f"not JSON at byte {place}")
        self.place = place


def start_of_text(data: View) -> int:
    """Return the position after a byte order mark."""
    return len(BYTE_ORDER_MARK) if data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0


def skip_blanks(data: View, place: int) -> int:
    """Return the first position from `place` on that is not blank."""
    found = BLANKS.match(data, place)
    return found.end() if found else place


def without_trailing(data: View, signs: bytes, begin: int = 0, end: int | None = None) -> int:
    """Return the end of a text, or of a part of it, without these characters at its end."""
    end = len(data) if end is None else end
    while end > begin:
        block = data[max(end - TRAILING_BYTES, begin) : end]
        kept = len(block.rstrip(signs))
        if kept:
            return end - len(block) + kept
        end -= len(block)
    return begin


def end_of_string(data: View, start: int) -> int:
    """Return the end of the string that begins at `start`; the end of the text if it is cut off.

    A search for the next quote takes little time, even in a string of many megabytes.
    """
    place = start + 1
    while (quote := data.find(b'"', place)) >= 0:
        if data[quote - 1] != BACKSLASH or (quote - without_trailing(data, b"\\", place, quote)) % 2 == 0:
            return quote + 1
        escapes = ESCAPES.match(data, quote + 1)
        place = escapes.end() if escapes else quote + 1
    return len(data)


def end_of_value(data: View, start: int) -> int:
    """Return the end of the value that begins at `start`; the end of the text if it is cut off."""
    if data[start : start + 1] not in CLOSERS:
        scalar = LEXEME.match(data, start)
        if scalar is None:
            raise NotJson(start)
        if data[start] == QUOTE and scalar.end() == start + 1:
            return end_of_string(data, start)
        return scalar.end()
    if whole := SHALLOW_CONTAINER.match(data, start):
        return whole.end()
    depth = 1
    for found in CONTAINER_CONTENT.finditer(data, start + 1):
        if found.lastindex == DEEPER:
            depth += 1
        elif found.lastindex == HIGHER:
            depth -= 1
            if not depth:
                return found.end()
    return len(data)


def members(data: View, start: int) -> Iterator[tuple[Span, Span]]:
    """Yield key and value of each member of the object at `start`."""
    place = skip_blanks(data, start + 1)
    while data[place : place + 1] != b"}":
        member = MEMBER.match(data, place)
        if member and member[2] is not None:
            key, value = member.span(1), member.span(2)
        else:
            key = place, end_of_value(data, place)
            colon = skip_blanks(data, key[1])
            if data[place] != ord('"') or data[colon : colon + 1] != b":":
                raise NotJson(place)
            first = skip_blanks(data, colon + 1)
            value = first, end_of_value(data, first)
        yield key, value
        place = after_comma(data, value[1], b"}")


def elements(data: View, start: int) -> Iterator[Span]:
    """Yield the elements of the array at `start`."""
    yield from elements_from(data, skip_blanks(data, start + 1))


def elements_from(data: View, place: int) -> Iterator[Span]:
    """Yield the elements of an array from the one that begins at `place`."""
    while data[place : place + 1] != b"]":
        end = end_of_value(data, place)
        yield place, end
        place = after_comma(data, end, b"]")


def after_comma(data: View, end: int, closer: bytes) -> int:
    """Return where the next element begins after one that ends at `end`, or where the closing sign is."""
    place = skip_blanks(data, end)
    sign = data[place : place + 1]
    if sign == b",":
        return skip_blanks(data, place + 1)
    if sign != closer:
        raise NotJson(place)
    return place


def values(data: View, place: int) -> Iterator[Span]:
    """Yield the values of a sequence, from `place` on."""
    place = skip_blanks(data, place)
    while place < len(data):
        end = end_of_value(data, place)
        yield place, end
        place = skip_blanks(data, end)


def walk(data: View, place: int, open_containers: bytes = b"") -> Iterator[tuple[int, Span | None, int, int]]:
    """Yield an event for each scalar and for each container that opens or closes: (event, key, start, end).

    `open_containers` are the opening signs of the containers around `place`. The text may end anywhere.
    """
    around = bytearray(open_containers)
    in_object = around[-1:] == b"{"
    key: Span | None = None
    while place >= 0:
        lexemes, place = LEXEME.finditer(data, place), -1
        for lexeme in lexemes:
            start, end = lexeme.span()
            sign = data[start]
            if sign in BETWEEN:
                continue
            if sign in CLOSING:
                if around:
                    around.pop()
                    in_object = around[-1:] == b"{"
                    yield CLOSED, None, start, end
                continue
            if sign == QUOTE and end == start + 1:
                # A long string. The lexemes go on after it.
                end = place = end_of_string(data, start)
            if in_object and key is None:
                key = start, end
            elif sign in OPENING:
                around.append(sign)
                in_object = sign == OBJECT_OPENER
                yield OPENED, key, start, end
                key = None
            else:
                yield SCALAR, key, start, end
                key = None
            if place >= 0:
                break


def compact(text: bytes) -> bytes:
    """Return the same value without insignificant white space."""
    return b"".join(STRING_OR_NO_BLANKS.findall(text))


def string_text(raw: bytes) -> str:
    """Return the text of a string or key, given its source with quotes."""
    import json

    # orjson would refuse lone surrogates, and a string may have one.
    return str(json.loads(raw))


def printable(text: str) -> str:
    """Return a text that can be encoded: half a surrogate pair is replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
