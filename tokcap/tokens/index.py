"""Where the tokens of a payload lie: checkpoints at certain cuts, and the exact places between.

Only checkpoints are kept, some 16 KiB apart; the tokens between two of them are found by encoding
that stretch again. So memory does not grow with the payload, and a window deep inside it costs no
more than the first one.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate

from tokcap.record import TYPE_CHECKING, Record
from tokcap.tokens.chunks import as_text, split

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.types import Payload, Tokenizer

READ_BYTES = 1 << 18

INSIDE_A_CHARACTER = -1


class Index(Record):
    """Token positions of one payload under one tokenizer."""

    payload: Payload
    tokenizer: Tokenizer
    total_tokens: int
    # Parallel: token `checkpoint_tokens[i]` begins at byte `checkpoint_bytes[i]`.
    checkpoint_tokens: Sequence[int]
    checkpoint_bytes: Sequence[int]
    valid_utf8: bool

    def starts(self, first: int, last: int) -> Sequence[int]:
        """Byte positions at which tokens `first` to `last` begin (see `types.TokenMap`)."""
        place = bisect_right(self.checkpoint_tokens, first) - 1
        token = self.checkpoint_tokens[place]
        byte = self.checkpoint_bytes[place]
        found = array("q")
        for chunk in split(blocks(self.payload, byte), self.tokenizer):
            ends = token_ends(chunk, self.tokenizer)
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


def index_payload(payload: Payload, tokenizer: Tokenizer) -> Index:
    """Count all tokens of a payload, in one pass and constant memory."""
    tokens, byte, valid = 0, 0, True
    checkpoint_tokens, checkpoint_bytes = array("q", [0]), array("q", [0])
    for chunk in split(blocks(payload), tokenizer):
        tokens += tokenizer.count(as_text(chunk))
        byte += len(chunk)
        valid = valid and is_utf8(chunk)
        checkpoint_tokens.append(tokens)
        checkpoint_bytes.append(byte)
    return Index(payload, tokenizer, tokens, checkpoint_tokens, checkpoint_bytes, valid)


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


def token_ends(chunk: bytes, tokenizer: Tokenizer) -> Sequence[int]:
    """Where each token of a chunk ends, in bytes of the chunk; -1 inside a character."""
    ends = list(accumulate(tokenizer.token_lengths(as_text(chunk))))
    if is_utf8(chunk):
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
