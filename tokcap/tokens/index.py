"""Where the tokens of a payload lie: checkpoints at certain cuts, and the exact places between.

Only checkpoints are kept, some 16 KiB apart; the tokens between two of them are found by encoding
that stretch again. So memory does not grow with the payload, and a window deep inside it costs no
more than the first one.
"""

from __future__ import annotations

from _thread import get_ident
from bisect import bisect_left, bisect_right
from itertools import accumulate

from tokcap.core.tokenizer import Total
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.checkpoints import Checkpoints
from tokcap.tokens.chunks import as_text, split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer

READ_BYTES = 1 << 18
# The total of a larger payload is estimated, unless everything has to be counted anyway.
EXACT_BYTES = 64 << 10
# An estimate is drawn from so much of the beginning, and of as many places spread over the rest: many an
# output begins otherwise than it goes on.
SAMPLE_BYTES = 4 << 10
PLACES = 8
PLACE_BYTES = 1 << 10
# As far back from the end of a place a certain cut is looked for.
LOOK_BACK = 128

# So much is worth a process of its own.
BULK_BYTES = 4 << 20

INSIDE_A_CHARACTER = -1


class Index:
    """Token positions of one payload under one tokenizer, known as far as somebody has asked."""

    def __init__(self, payload: Payload, tokenizer: Tokenizer, known: Checkpoints | None = None) -> None:
        self._payload = payload
        self._tokenizer = tokenizer
        self.checkpoints = known or Checkpoints()
        self._known = (len(known), known.complete) if known else None
        self._unread = split(blocks(payload, self.checkpoints.bytes[-1]), tokenizer)
        # The stretch that was looked at last: what is asked for next mostly lies in it too.
        self._stretch = -1
        self._stretch_ends: Sequence[int] = ()
        self._estimate: float | None = None

    @property
    def valid_utf8(self) -> bool:
        return self.checkpoints.valid_utf8

    @property
    def tokenizer(self) -> str:
        return self._tokenizer.name

    @property
    def longest_token_bytes(self) -> int:
        return self._tokenizer.longest_token_bytes

    @property
    def storable(self) -> bool:
        """Whether another process can make use of the checkpoints, and does not know them already."""
        now = (len(self.checkpoints), self.checkpoints.complete)
        return self._tokenizer.stable and now != self._known

    def _read_on(self, count: Callable[[str], int] | None = None) -> None:
        """Count one chunk more, in a way of its own if one is given."""
        chunk = next(self._unread, None)
        if chunk is None:
            self.checkpoints.complete = True
            return
        self.checkpoints.valid_utf8 = self.checkpoints.valid_utf8 and is_utf8(chunk)
        self.checkpoints.add((count or self._tokenizer.count)(as_text(chunk)), len(chunk))

    @property
    def total_tokens(self) -> int:
        self.count_all()
        return self.checkpoints.tokens[-1]

    def count_all(self) -> None:
        """Count to the end; much by the extra `bulk` or in several processes at once."""
        if self.checkpoints.complete:
            return
        if self._payload.size - self.checkpoints.bytes[-1] >= 2 * BULK_BYTES:
            self._count_in_bulk()
        while not self.checkpoints.complete:
            self._read_on()

    def _count_in_bulk(self) -> None:
        self._count_by_extra()
        from tokcap.tokens.bulk import count_in_parallel, parts_of

        parts = parts_of(self._payload, self._tokenizer, self.checkpoints.bytes[-1], BULK_BYTES)
        if len(parts) > 1:
            # Loaded before the processes divide, it is loaded once.
            self._tokenizer.prepare()
            self.checkpoints.join(count_in_parallel(parts, self._count_part))
            self._unread = split(blocks(self._payload, self.checkpoints.bytes[-1]), self._tokenizer)

    def _count_by_extra(self) -> None:
        """Count on with the extra `bulk`, if it is installed, as long as it is the better way."""
        from tokcap.tokens.bulkextra import counter_for

        if counter := counter_for(self._tokenizer):
            while counter.pays and not self.checkpoints.complete:
                self._read_on(counter.count)

    def _count_part(self, begin: int, end: int) -> Checkpoints:
        found = Checkpoints()
        for chunk in split(blocks(self._payload, begin, end), self._tokenizer):
            found.valid_utf8 = found.valid_utf8 and is_utf8(chunk)
            found.add(self._tokenizer.count(as_text(chunk)), len(chunk))
        return found

    @property
    def total(self) -> Total:
        """The exact total, or past `EXACT_BYTES` what the part that was counted lets expect."""
        whole = self._payload.size + self._payload.lost
        known = self.checkpoints
        if not self._payload.lost and (known.complete or whole <= EXACT_BYTES):
            return Total(self.total_tokens)
        while known.bytes[-1] < SAMPLE_BYTES and not known.complete:
            self._read_on()
        # Drawn from the same places however much was counted: the same output gives the same mark.
        first = min(bisect_left(known.bytes, SAMPLE_BYTES), len(known) - 1)
        rest = whole - known.bytes[first]
        return Total(known.tokens[first] + round(rest * self._tokens_per_byte()), exact=False)

    def _tokens_per_byte(self) -> float:
        """What some places, evenly spread, let expect of the payload."""
        if self._estimate is None:
            size, tokens, sampled = self._payload.size, 0, 0
            for number in range(1, PLACES + 1):
                place = size * number // (PLACES + 1)
                text = self._between_cuts(self._payload.read(place, min(place + PLACE_BYTES, size)))
                tokens += self._tokenizer.count(as_text(text))
                sampled += len(text)
            self._estimate = tokens / sampled if sampled else 0.0
        return self._estimate

    def _between_cuts(self, sample: bytes) -> bytes:
        """What of a sample has the tokens that it has in the midst of its text; all of it if nobody knows."""
        if not self._tokenizer.cuts_anywhere:
            return sample
        data = bytearray(sample)
        begin = self._tokenizer.certain_cut(data, 0, 0) or 0
        end = self._tokenizer.certain_cut(data, begin, max(begin, len(data) - LOOK_BACK)) or len(data)
        return sample[begin:end]

    def reach(self, token: int) -> int:
        """`token`, or the number of tokens if there are not so many."""
        while self.checkpoints.tokens[-1] < token and not self.checkpoints.complete:
            self._read_on()
        return min(token, self.checkpoints.tokens[-1])

    def starts(self, first: int, last: int) -> Sequence[int]:
        """Byte positions at which tokens `first` to `last` begin (see `types.TokenMap`)."""
        self.reach(last)
        place = bisect_right(self.checkpoints.tokens, first) - 1
        token = self.checkpoints.tokens[place]
        byte = self.checkpoints.bytes[place]
        found: list[int] = []
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
        while self.checkpoints.bytes[-1] <= byte and not self.checkpoints.complete:
            self._read_on()
        if byte >= self._payload.size:
            return self.total_tokens
        place = bisect_right(self.checkpoints.bytes, byte) - 1
        ends = self._ends_behind(place)
        return self.checkpoints.tokens[place] + bisect_right(ends, byte - self.checkpoints.bytes[place])

    def byte_at(self, token: int) -> int:
        """Where a token begins, be it inside a character; the payload's size past the end."""
        token = self.reach(token)
        place = bisect_right(self.checkpoints.tokens, token) - 1
        if place + 1 == len(self.checkpoints):
            return self.checkpoints.bytes[place]
        number = token - self.checkpoints.tokens[place]
        return self.checkpoints.bytes[place] + (self._ends_behind(place)[number - 1] if number else 0)

    def _ends_behind(self, place: int) -> Sequence[int]:
        """Where the tokens between a checkpoint and the next one end, in order."""
        if place != self._stretch:
            start, stop = self.checkpoints.bytes[place : place + 2]
            chunk = self._payload.read(start, stop)
            self._stretch_ends = known_ends(token_ends(chunk, self._tokenizer, allowed_only=False))
            self._stretch = place
        return self._stretch_ends


def known_ends(ends: Sequence[int]) -> Sequence[int]:
    """Ends in which one that is not known has that of the token before: in order, for bisection."""
    return list(accumulate(ends, max))


def blocks(payload: Payload, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """A payload from one place on, in blocks."""
    end = payload.size if stop is None else stop
    for place in range(start, end, READ_BYTES):
        yield payload.read(place, min(place + READ_BYTES, end))


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
    from array import array

    # There may be as many as bytes, so they are kept small.
    begins, stops = array("q"), array("q")

    def record(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        begins.append(error.start)
        stops.append(error.end)
        return "\ufffd", error.end

    # A handler is found by name only. The name is this thread's alone, and is bound anew for each call.
    name = f"tokcap.lean.record.{get_ident()}"
    codecs.register_error(name, record)
    data.decode("utf-8", name)
    return begins, stops
