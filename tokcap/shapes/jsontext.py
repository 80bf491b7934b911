"""JSON as source text: valid or not, where values begin and end. Never parsed and dumped again.

Numbers, strings and keys are only ever copied, so that `1E400`, `1.10`, escapes, key order and
duplicate keys survive. Everything here is iterative: nesting may be 100,000 deep.
"""

from __future__ import annotations

from tokcap.lean.patterns import DOTALL, later
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from mmap import mmap
    from typing import TypeAlias

    # Where a value begins and ends. There may be millions of them, so they are no records.
    Span: TypeAlias = tuple[int, int]
    # A payload in place. Slices of it are bytes, and patterns take it as it is.
    View: TypeAlias = bytes | mmap

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# In a document that is known to be valid: a string, a sign, or a number or word.
LEXEME = later(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]|[^\s\[\]{},:"]++', DOTALL)
# The same with the signs between two strings or blanks as one.
STRING_OR_NO_BLANKS = later(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[^ \t\n\r"]++', DOTALL)

# The grammar of RFC 8259, one lexeme at a time.
STRICT_LEXEME = later(
    rb"[ \t\n\r]*+(?:"
    rb"([\[{])|([\]}])|(,)|(:)|"
    rb'("(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+")|'
    rb"(-?+(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|true|false|null))"
)
OPEN, CLOSE, COMMA, COLON, STRING, SCALAR = range(1, 7)
# What the beginning of a lexeme may look like where the rest of it is cut off.
CUT_LEXEME = later(
    rb"[ \t\n\r]*+(?:"
    rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+(?:\\(?:u[0-9a-fA-F]{0,3})?)?|'
    rb"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|)"
)

BLANKS = later(rb"[ \t\n\r]*+")

PATTERNS = (LEXEME, STRING_OR_NO_BLANKS, STRICT_LEXEME, CUT_LEXEME, BLANKS)
# What may follow a number or word that stands alone.
SEPARATORS = (b"", b" ", b"\t", b"\n", b"\r")

# What stands at the end of a payload is looked for in steps of this size.
TRAILING_BYTES = 1 << 12

CLOSER = {b"[": b"]", b"{": b"}"}


class NoJson(ValueError):
    """A text is no JSON, as its part up to `place` shows."""

    def __init__(self, place: int) -> None:
        super().__init__(f"no JSON at byte {place}")
        self.place = place


class Beginning(Record):
    """How a sequence of values begins: those that are whole, and whether others seem to follow."""

    values: Sequence[Span]
    more: bool


def beginning_of_values(sample: bytes) -> Beginning:
    """What the beginning of a text shows; ValueError if no JSON begins so."""
    import codecs

    codecs.getincrementaldecoder("utf-8")().decode(sample)
    values: list[Span] = []
    place = skip_blanks(sample, 0)
    while place < len(sample):
        try:
            start, end = end_of_value(sample, place)
        except NoJson as error:
            if CUT_LEXEME.fullmatch(sample, error.place):
                return Beginning(values, more=True)
            raise
        if sample[start] not in b'{["':
            if end == len(sample) or CUT_LEXEME.fullmatch(sample, end):
                # It may go on.
                return Beginning(values, more=True)
            check_separated(sample, end)
        values.append((start, end))
        place = skip_blanks(sample, end)
    return Beginning(values, more=False)


def top_level_values(data: View) -> Iterator[Span]:
    """The values of a sequence of JSON texts, one after the other; ValueError where it is none."""
    import orjson

    view = memoryview(data)
    end = length_without(data, b" \t\n\r")
    place = skip_blanks(data, len(BYTE_ORDER_MARK) if data[: len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK else 0)
    # Up to here the text is known not to be one value per line.
    refused = 0
    while place < end:
        if place >= refused and data[place] in b"{[":
            newline = data.find(b"\n", place, end)
            line_end = end if newline < 0 else newline
            try:
                orjson.loads(view[place:line_end])
            except orjson.JSONDecodeError:
                # orjson is fast, and stricter than the grammar: no deep nesting, no lone surrogates.
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
            start, stop = end_of_value(data, place)
        data[start:stop].decode()  # a JSON text is UTF-8; UnicodeDecodeError is a ValueError
        if data[start] not in b'{["':
            check_separated(data, stop)
        yield start, stop
        place = skip_blanks(data, stop)


def skip_blanks(data: View, place: int) -> int:
    found = BLANKS.match(data, place)
    return found.end() if found else place


def check_separated(data: View, end: int) -> None:
    """A number or word that stands alone has a blank behind it, or nothing."""
    if data[end : end + 1] not in SEPARATORS:
        raise NoJson(end)


def end_of_value(data: View, position: int) -> tuple[int, int]:
    """Where the value after `position` begins and ends, by the strict grammar."""
    # What may come next, as the kinds of lexemes; the containers that are open, as their closers.
    value = (OPEN, STRING, SCALAR)
    expected: tuple[int, ...] = value
    open_containers = bytearray()
    begin = -1
    while True:
        match = STRICT_LEXEME.match(data, position)
        if match is None:
            raise NoJson(position)
        kind = match.lastindex
        if kind not in expected:
            raise NoJson(match.start(kind or 0))
        position = match.end()
        if begin < 0:
            begin = match.start(kind)
        if kind == OPEN:
            opened = match[OPEN]
            open_containers += CLOSER[opened]
            expected = (*value, CLOSE) if opened == b"[" else (STRING, CLOSE)
            in_key = opened == b"{"
            continue
        if kind == CLOSE:
            if match[CLOSE] != open_containers[-1:]:
                raise NoJson(position - 1)
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


def length_without(data: View, signs: bytes) -> int:
    """How long it is without these signs at its end."""
    end = len(data)
    while end:
        block = data[max(end - TRAILING_BYTES, 0) : end]
        kept = len(block.rstrip(signs))
        if kept:
            return end - len(block) + kept
        end -= len(block)
    return 0


def compact(text: bytes) -> bytes:
    """The same value without insignificant white space."""
    return b"".join(STRING_OR_NO_BLANKS.findall(text))


def key_text(raw: bytes) -> str:
    """A key as it reads, from its source text with quotes."""
    import json

    # Not orjson: it refuses lone surrogates, and a key may have one.
    return str(json.loads(raw))


def pointer_step(raw: bytes) -> str:
    """A key as a step of a JSON pointer (RFC 6901)."""
    return presentable(key_text(raw)).replace("~", "~0").replace("/", "~1")


def presentable(text: str) -> str:
    """A text that can be written: half a surrogate pair, which a key may hold, cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
