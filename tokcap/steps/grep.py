"""Find the matching lines of a payload. Each is shown after its number and token position: `12:345:text`.

As in grep, lines of context have `-` instead of `:`, and `--` separates groups. Of a long line, only the text
around each match is shown, with the position of the match.
"""

from __future__ import annotations

import re
from collections import deque

from tokcap.errors import NotFound, UsageError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system.pattern_search import PatternSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap

READ_BYTES = 1 << 20

# A longer line is shown in excerpts.
LONG_LINE_CHARACTERS = 600
BEFORE_MATCH_CHARACTERS = 100
EXCERPT_CHARACTERS = 400
ELLIPSIS = "…"


class Matches(Record):
    """The matching lines as they are shown, and the number of all matches."""

    data: bytes
    matches: int
    # About how many bytes of matching lines were left out, because the window does not need them.
    left_out_bytes: int = 0


class Line(Record):
    """A line of the payload without its line end. The first line has number 1."""

    number: int
    start: int
    data: bytes

    @property
    def text(self) -> str:
        # Each byte that is not UTF-8 becomes one character that no valid text contains.
        return self.data.decode("utf-8", "surrogateescape")


def check(pattern: str, option: str = "show: --grep") -> None:
    """Raise `UsageError` if a pattern is not a regular expression."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{option}: {pattern!r} is not a valid regular expression: {error}", of_a_subcommand=True
        ) from None


def grep(
    payload: Payload, tokens: TokenMap, pattern: str, context: int, enough_tokens: int | None
) -> Matches:
    """Find the lines that match. After `enough_tokens`, matches are only counted."""
    check(pattern)
    enough_bytes = None if enough_tokens is None else (enough_tokens + 1) * tokens.longest_token_bytes
    shown = Shown(tokens, context)
    before: deque[Line] = deque(maxlen=context)
    matches = left_out = after = 0
    number, start = 1, 0
    # A match inside the previous excerpt is left out.
    apart = EXCERPT_CHARACTERS - BEFORE_MATCH_CHARACTERS
    widths = {"long_characters": LONG_LINE_CHARACTERS, "apart_characters": apart}
    with PatternSearch(pattern, "show: --grep", **widths) as search:
        for block in blocks_of_lines(payload):
            found = search.places_in(block)
            for line in lines_of(block, number, start) if found or context else ():
                places = found.get(line.number - number)
                full = enough_bytes is not None and len(shown.data) > enough_bytes
                if places is None:
                    if after and not full:
                        shown.add_context(line)
                    after = max(after - 1, 0)
                    before.append(line)
                    continue
                matches += len(places)
                if full:
                    left_out += min(len(line.data), len(places) * EXCERPT_CHARACTERS)
                    continue
                for earlier in before:
                    shown.add_context(earlier)
                before.clear()
                text = line.text
                for place_number, place in enumerate(places):
                    if enough_bytes is not None and len(shown.data) > enough_bytes:
                        left_out += (len(places) - place_number) * EXCERPT_CHARACTERS
                        break
                    shown.add_match(line, text, place)
                after = context
            number += block.count(b"\n")
            start += len(block)
    if not matches:
        raise NotFound(f"no line matches {pattern!r}")
    return Matches(bytes(shown.data), matches, left_out)


class Shown:
    """The lines that are shown, written one after the other into `data`."""

    def __init__(self, tokens: TokenMap, context: int) -> None:
        self._tokens = tokens
        self._context = context
        # The number of the last line that was added, and the place of its last match in characters and bytes.
        self._last = 0
        self._place = self._place_bytes = 0
        self.data = bytearray()

    def add_match(self, line: Line, text: str, place: int) -> None:
        self._separate(line)
        if len(text) <= LONG_LINE_CHARACTERS:
            self._add(line.number, ":", line.start, line.data)
            return
        begin = max(place - BEFORE_MATCH_CHARACTERS, 0)
        end = begin + EXCERPT_CHARACTERS
        excerpt = ELLIPSIS * (begin > 0) + text[begin:end] + ELLIPSIS * (end < len(text))
        # Count from the previous match, because a line may have very many.
        if line.number != self._last:
            self._place = self._place_bytes = 0
        self._place_bytes += len(text[self._place : place].encode("utf-8", "surrogateescape"))
        self._place = place
        start = line.start + self._place_bytes
        self._add(line.number, ":", start, excerpt.encode("utf-8", "surrogateescape"))

    def add_context(self, line: Line) -> None:
        if line.number <= self._last:
            return
        self._separate(line)
        text = line.text
        shown = text if len(text) <= LONG_LINE_CHARACTERS else text[:EXCERPT_CHARACTERS] + ELLIPSIS
        self._add(line.number, "-", line.start, shown.encode("utf-8", "surrogateescape"))

    def _separate(self, line: Line) -> None:
        if self._context and self._last and line.number > self._last + 1:
            self.data += b"--\n"

    def _add(self, number: int, sign: str, start: int, shown: bytes) -> None:
        self._last = number
        self.data += f"{number}{sign}{self._tokens.token_at(start)}{sign}".encode() + shown + b"\n"


def blocks_of_lines(payload: Payload) -> Iterator[bytes]:
    """Yield a payload in blocks of whole lines. The last line may have no line end."""
    parts: list[bytes] = []
    for place in range(0, payload.size, READ_BYTES):
        block = payload.read(place, min(place + READ_BYTES, payload.size))
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((*parts, block[:end]))
            parts.clear()
        parts.append(block[end:])
    if last := b"".join(parts):
        yield last


def lines_of(block: bytes, number: int, start: int) -> Iterator[Line]:
    """Yield the lines of a block that begins at line `number` and at byte `start`."""
    for data in block.removesuffix(b"\n").split(b"\n"):
        yield Line(number, start, data.removesuffix(b"\r"))
        number, start = number + 1, start + len(data) + 1
