"""Where the tokens of a payload lie: checkpoints at certain cuts, and the exact places between.

Only checkpoints are kept, some 16 KiB apart; the tokens between two of them are found by encoding
that stretch again. So memory does not grow with the payload, and a window deep inside it costs no
more than the first one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate

from tokcap.record import TYPE_CHECKING
from tokcap.tokens.chunks import as_text, split
from tokcap.types import Total

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.types import Payload, Tokenizer

READ_BYTES = 1 << 18
# The total of a larger payload is estimated, unless everything has to be counted anyway.
EXACT_BYTES = 16 << 20
# An estimate is drawn from at least so much.
SAMPLE_BYTES = 1 << 18

INSIDE_A_CHARACTER = -1


class Index:
    """Token positions of one payload under one tokenizer, known as far as somebody has asked."""

    def __init__(self, payload: Payload, tokenizer: Tokenizer) -> None:
        self._payload = payload
        self._tokenizer = tokenizer
        self._unread = split(blocks(payload), tokenizer)
        self._complete = False
        self.valid_utf8 = True
        # Parallel: token `_checkpoint_tokens[i]` begins at byte `_checkpoint_bytes[i]`.
        self._checkpoint_tokens = array("q", [0])
        self._checkpoint_bytes = array("q", [0])

    def _read_on(self) -> None:
        """Count one chunk more."""
        chunk = next(self._unread, None)
        if chunk is None:
            self._complete = True
            return
        self.valid_utf8 = self.valid_utf8 and is_utf8(chunk)
        tokens = self._tokenizer.count(as_text(chunk))
        self._checkpoint_tokens.append(self._checkpoint_tokens[-1] + tokens)
        self._checkpoint_bytes.append(self._checkpoint_bytes[-1] + len(chunk))

    @property
    def total_tokens(self) -> int:
        while not self._complete:
            self._read_on()
        return self._checkpoint_tokens[-1]

    @property
    def total(self) -> Total:
        """The exact total, or past `EXACT_BYTES` what the part that was counted lets expect."""
        if self._complete or self._payload.size <= EXACT_BYTES:
            return Total(self.total_tokens)
        while self._checkpoint_bytes[-1] < SAMPLE_BYTES and not self._complete:
            self._read_on()
        tokens, counted = self._checkpoint_tokens[-1], self._checkpoint_bytes[-1]
        return Total(round(tokens * self._payload.size / counted), exact=False)

    def reach(self, token: int) -> int:
        """`token`, or the number of tokens if there are not so many."""
        while self._checkpoint_tokens[-1] < token and not self._complete:
            self._read_on()
        return min(token, self._checkpoint_tokens[-1])

    def starts(self, first: int, last: int) -> Sequence[int]:
        """Byte positions at which tokens `first` to `last` begin (see `types.TokenMap`)."""
        self.reach(last)
        place = bisect_right(self._checkpoint_tokens, first) - 1
        token = self._checkpoint_tokens[place]
        byte = self._checkpoint_bytes[place]
        found = array("q")
        for chunk in split(blocks(self._payload, byte), self._tokenizer):
            ends = token_ends(chunk, self._tokenizer)
            # Starts of this chunk's tokens: its own beginning, then every end but the last.
            begin = max(first - token, 0)
            stop = min(last - token + 1, len(ends))
            for number in range(begin, stop):
                end = ends[number - 1] if number else 0
                found.append(INSIDE_A_CHARACTER if end == INSIDE_A_CHARACTER else byte + end)
            token += len(ends)
            byte += len(chunk)
            if token > last:
                return found
        if token == last:
            found.append(byte)
        return found

    def token_at(self, byte: int) -> int:
        """The token that holds the byte; the number of tokens for the payload's end."""
        while self._checkpoint_bytes[-1] <= byte and not self._complete:
            self._read_on()
        if byte >= self._payload.size:
            return self.total_tokens
        place = bisect_right(self._checkpoint_bytes, byte) - 1
        token = self._checkpoint_tokens[place]
        chunk = self._payload.read(self._checkpoint_bytes[place], self._checkpoint_bytes[place + 1])
        ends = known_ends(token_ends(chunk, self._tokenizer, allowed_only=False))
        return token + bisect_right(ends, byte - self._checkpoint_bytes[place])

    def byte_at(self, token: int) -> int:
        """Where a token begins, be it inside a character; the payload's size past the end."""
        token = self.reach(token)
        place = bisect_right(self._checkpoint_tokens, token) - 1
        if place + 1 == len(self._checkpoint_bytes):
            return self._checkpoint_bytes[place]
        chunk = self._payload.read(self._checkpoint_bytes[place], self._checkpoint_bytes[place + 1])
        ends = known_ends(token_ends(chunk, self._tokenizer, allowed_only=False))
        number = token - self._checkpoint_tokens[place]
        return self._checkpoint_bytes[place] + (ends[number - 1] if number else 0)


def known_ends(ends: Sequence[int]) -> Sequence[int]:
    """Ends in which one that is not known has that of the token before: in order, for bisection."""
    return list(accumulate(ends, max))


def blocks(payload: Payload, start: int = 0) -> Iterator[bytes]:
    """A payload from one place on, in blocks."""
    for place in range(start, payload.size, READ_BYTES):
        yield payload.read(place, min(place + READ_BYTES, payload.size))


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def token_ends(chunk: bytes, tokenizer: Tokenizer, *, allowed_only: bool = True) -> Sequence[int]:
    """Where each token of a chunk ends, in bytes of the chunk; -1 where no cut is allowed.

    With `allowed_only` off, ends inside a character are told as well, as far as they are known.
    """
    ends = list(accumulate(tokenizer.token_lengths(as_text(chunk))))
    if is_utf8(chunk):
        if not allowed_only:
            return ends
        return [end if end == len(chunk) or chunk[end] & 0xC0 != 0x80 else INSIDE_A_CHARACTER for end in ends]
    return ends_in_source(chunk, ends)


REPLACEMENT_BYTES = len("\ufffd".encode())


def ends_in_source(chunk: bytes, ends: Sequence[int]) -> Sequence[int]:
    """Ends in the replacement text, translated to ends in the bytes that it replaces."""
    text = as_text(chunk).encode()
    begins, stops = invalid_spans(chunk)
    found = []
    # Replacements that lie before the end in hand, and by how much they shift what follows them.
    passed = shift = 0
    for end in ends:
        while passed < len(begins) and begins[passed] - shift + REPLACEMENT_BYTES <= end:
            shift += stops[passed] - begins[passed] - REPLACEMENT_BYTES
            # From here on, text byte = source byte - shift.
            passed += 1
        inside = end < len(text) and text[end] & 0xC0 == 0x80
        found.append(INSIDE_A_CHARACTER if inside else end + shift)
    return found


def invalid_spans(data: bytes) -> tuple[Sequence[int], Sequence[int]]:
    """Where the stretches begin and stop that decoding replaces, each by one replacement character."""
    import codecs

    # There may be as many as bytes, so they are kept small.
    begins, stops = array("q"), array("q")

    def record(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        begins.append(error.start)
        stops.append(error.end)
        return "\ufffd", error.end

    # A handler is found by name only. The name is ours alone, and is bound anew for each call.
    codecs.register_error("tokcap.record", record)
    data.decode("utf-8", "tokcap.record")
    return begins, stops
