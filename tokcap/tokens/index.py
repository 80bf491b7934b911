"""Map the tokens of a payload to bytes: checkpoints at safe cuts, and exact positions between them.

Only checkpoints are kept, about 16 KiB apart. The tokens between two of them are found by encoding that
stretch again. So memory does not grow with the payload, and a window deep inside it costs no more than the
first one.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from itertools import accumulate, pairwise

from tokcap.core.tokenizer import LastTokens, Total, after_cut, identity_of
from tokcap.errors import DamagedOutput
from tokcap.startup.record import TYPE_CHECKING
from tokcap.tokens.chunks import INSIDE_A_CHARACTER, Chunks, as_text, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import Tokenizer

READ_BYTES = 1 << 18
# The total of a larger payload is estimated, unless everything must be counted anyway.
EXACT_BYTES = 64 << 10
# What is before the end of a larger payload is not counted for a window at its end.
EXACT_TAIL_BYTES = 4 << 20
# Positions up to here are always exact.
EXACT_HEAD_BYTES = 256 << 10
# An estimate samples this many bytes at the start, and some places spread over the rest: many outputs start
# differently from how they continue.
SAMPLE_BYTES = 4 << 10
PLACES = 8
PLACE_BYTES = 1 << 10
# How far back from the end of a sample to search for a safe cut.
LOOK_BACK_BYTES = 128

MAGIC = b"tokcap index 3\n"
COMPLETE, VALID_UTF8, HAS_SAMPLE = 1, 2, 4
# A file has at most about this many checkpoints, those of 128 MiB. In a larger payload they are further
# apart: a page reads the whole file and one stretch between two checkpoints, possibly over a network.
MOST_STORED = 1 << 13


class Checkpoints:
    """Token `tokens[i]` begins at byte `bytes[i]`, and that is a safe cut."""

    def __init__(self) -> None:
        # Lists, because there is one entry per 16 KiB and importing `array` takes longer than most counts.
        self.tokens = [0]
        self.bytes = [0]
        # Whether the last one is the end of the payload, and whether everything up to it is valid UTF-8.
        self.complete = False
        self.valid_utf8 = True
        # How many tokens some bytes of the payload have, from which its total is estimated; None if unknown.
        self.sample: tuple[int, int] | None = None

    def add(self, tokens: int, size: int, *, valid_utf8: bool = True) -> None:
        """Add the end of the next chunk, given its number of tokens and its size in bytes."""
        self.valid_utf8 = self.valid_utf8 and valid_utf8
        self.tokens.append(self.tokens[-1] + tokens)
        self.bytes.append(self.bytes[-1] + size)

    def __len__(self) -> int:
        return len(self.tokens)

    def packed(self, size: int) -> bytes:
        """Return the content of an index file for a payload of this size."""
        flags = COMPLETE * self.complete | VALID_UTF8 * self.valid_utf8
        flags |= HAS_SAMPLE * (self.sample is not None)
        from tokcap.core.digest import checksum

        tokens, places = self.tokens, self.bytes
        if len(self) > MOST_STORED:
            tokens, places = thinned(tokens, places)
        head = MAGIC + little_endian([size, flags, len(tokens)])
        body = head + little_endian(tokens) + little_endian(places) + little_endian(self.sample or ())
        return body + checksum(body)

    @classmethod
    def unpacked(cls, data: bytes, size: int) -> Self | None:
        """Read what `packed` wrote; None if the data is damaged or belongs to another payload."""
        from tokcap.core.digest import checksum

        body, seal = data[:-4], data[-4:]
        if not body.startswith(MAGIC) or seal != checksum(body) or len(body) < len(MAGIC) + 24:
            return None
        head_end = len(MAGIC) + 24
        found_size, flags, number = from_little_endian(body[len(MAGIC) : head_end])
        body_end = head_end + 16 * number
        sample_bytes = 16 if flags & HAS_SAMPLE else 0
        if found_size != size or len(body) != body_end + sample_bytes or not number:
            return None
        found = cls()
        found.tokens = from_little_endian(body[head_end : head_end + 8 * number])
        found.bytes = from_little_endian(body[head_end + 8 * number : body_end])
        if sample_bytes:
            tokens, sampled = from_little_endian(body[body_end:])
            found.sample = tokens, sampled
        found.complete, found.valid_utf8 = bool(flags & COMPLETE), bool(flags & VALID_UTF8)
        return found


def thinned(tokens: Sequence[int], places: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return fewer checkpoints, with the first and the last. All are safe cuts, so any of them will do."""
    distance = places[-1] // MOST_STORED
    kept = [0]
    for number in range(1, len(places) - 1):
        if places[number] - places[kept[-1]] >= distance:
            kept.append(number)
    kept.append(len(places) - 1)
    return [tokens[number] for number in kept], [places[number] for number in kept]


def little_endian(numbers: Sequence[int]) -> bytes:
    # `array` and `struct` take longer to import than this takes to run.
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def from_little_endian(data: bytes) -> list[int]:
    if sys.byteorder == "little":
        return memoryview(data).cast("q").tolist()
    return [int.from_bytes(data[place : place + 8], "little") for place in range(0, len(data), 8)]


class Index:
    """Token positions of one payload with one tokenizer. Counts only as far as asked."""

    def __init__(self, payload: Payload, tokenizer: Tokenizer, known: Checkpoints | None = None) -> None:
        self._payload = payload
        self._tokenizer = tokenizer
        self.tokenizer, self.identity = tokenizer.name, identity_of(tokenizer)
        self.longest_token_bytes = tokenizer.longest_token_bytes
        self.checkpoints = known or Checkpoints()
        self._known = (len(known), known.complete) if known else None
        begin = self.checkpoints.bytes[-1]
        rest = blocks(payload, begin)
        self._chunks = Chunks(rest, self._encoder_at(begin))
        self._unread = iter(self._chunks)
        # The stretch used last: the next question is usually about the same one.
        self._stretch = -1
        self._stretch_ends: Sequence[int] = ()
        # As in the checkpoints, but perhaps of a damaged payload.
        self._sample: tuple[int, int] | None = None
        # Whether this call has asked for the end of the payload (see `total`).
        self._was_end_asked = False

    def _encoder_at(self, byte: int) -> Tokenizer:
        """Return what encodes text that begins at a safe cut."""
        return after_cut(self._tokenizer) if byte else self._tokenizer

    @property
    def valid_utf8(self) -> bool:
        return self.checkpoints.valid_utf8

    @property
    def storable(self) -> bool:
        """Whether the checkpoints are valid in other processes, and are more than were given."""
        now = (len(self.checkpoints), self.checkpoints.complete)
        return self._tokenizer.stable and now != self._known

    def _read_on(self) -> None:
        """Count the next chunk."""
        chunk = next(self._unread, None)
        if chunk is None:
            self.checkpoints.complete = True
            return
        tokens = self._chunks.tokenizer.count(as_text(chunk))
        self.checkpoints.add(tokens, len(chunk), valid_utf8=is_utf8(chunk))

    @property
    def total_tokens(self) -> int:
        self.count_all()
        return self.checkpoints.tokens[-1]

    def count_all(self) -> None:
        """Count to the end."""
        self._was_end_asked = True
        while not self.checkpoints.complete:
            self._read_on()

    @property
    def total(self) -> Total:
        """The exact total, or an estimate for more than `EXACT_BYTES`.

        It is exact if this call had to count to the end. That an earlier call has done so must make no
        difference: the same output and the same options give the same mark.
        """
        whole = self._payload.size + self._payload.lost
        if not self._payload.lost and (self._was_end_asked or whole <= EXACT_BYTES):
            return Total(self.total_tokens)
        return self._estimated(whole)

    def _estimated(self, size: int) -> Total:
        """Estimate the tokens of the first `size` bytes."""
        known = self.checkpoints
        while known.bytes[-1] < SAMPLE_BYTES and not known.complete:
            self._read_on()
        # Sample the same places even if more was counted, so that the same output gives the same mark.
        first = min(bisect_right(known.bytes, SAMPLE_BYTES - 1), len(known) - 1)
        rest = size - known.bytes[first]
        return Total(known.tokens[first] + round(rest * self._tokens_per_byte()), exact=False)

    def _tokens_per_byte(self) -> float:
        """Estimate the tokens per byte from some evenly spread places."""
        sample = self.checkpoints.sample or self._sample
        if sample is None:
            size, tokens, sampled, is_damaged = self._payload.size, 0, 0, False
            encoder = after_cut(self._tokenizer)
            for number in range(1, PLACES + 1):
                place = size * number // (PLACES + 1)
                try:
                    data = self._payload.read(place, min(place + PLACE_BYTES, size))
                except DamagedOutput:
                    # Windows elsewhere can still be shown.
                    is_damaged = True
                    continue
                text = self._between_cuts(data)
                tokens += encoder.count(as_text(text))
                sampled += len(text)
            sample = self._sample = tokens, sampled
            if not is_damaged:
                self.checkpoints.sample = sample
        tokens, sampled = sample
        return tokens / sampled if sampled else 0.0

    def packed(self, size: int) -> bytes:
        """Return the checkpoints as a file, for a payload that has `size` bytes in the store.

        With the sample, a page of a large payload reads nothing but its window.
        """
        if self._payload.size != size:
            # The sample has other places.
            self.checkpoints.sample = None
        elif size > EXACT_BYTES:
            self._tokens_per_byte()
        return self.checkpoints.packed(size)

    def _between_cuts(self, sample: bytes) -> bytes:
        """Return the part of a sample whose tokens are the same inside the whole text.

        If the tokenizer has no safe cuts there, return all of it.
        """
        if not self._tokenizer.cuts_anywhere:
            return sample
        data = bytearray(sample)
        begin = self._tokenizer.safe_cut(data, 0, 0) or 0
        end = self._tokenizer.safe_cut(data, begin, max(begin, len(data) - LOOK_BACK_BYTES)) or len(data)
        return sample[begin:end]

    def reach(self, token: int) -> int:
        """Return `token`, or the number of tokens if there are fewer."""
        while self.checkpoints.tokens[-1] < token and not self.checkpoints.complete:
            self._read_on()
        if token > self.checkpoints.tokens[-1]:
            self._was_end_asked = True
        return min(token, self.checkpoints.tokens[-1])

    def starts(self, first: int, last: int) -> Sequence[int]:
        """Return the byte positions at which tokens `first` to `last` begin (see `TokenMap`)."""
        self.reach(last)
        place = bisect_right(self.checkpoints.tokens, first) - 1
        token = self.checkpoints.tokens[place]
        byte = self.checkpoints.bytes[place]
        found: list[int] = []
        for chunk in self._known_chunks(place):
            ends = token_ends(chunk, self._encoder_at(byte))
            # Tokens of this chunk start at its beginning, and at every end except the last.
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

    def last(self, number: int, after: int) -> LastTokens:
        """Return where the last tokens start (see `TokenMap`)."""
        if not self._was_end_asked and self._tokenizer.cuts_anywhere:
            after_byte = self.byte_at(after)
            if self._payload.size - after_byte > EXACT_TAIL_BYTES:
                from tokcap.tokens.tail import last_starts

                starts = last_starts(self._payload, self._tokenizer, number, after_byte)
                if starts:
                    estimated = self._estimated(self._payload.size).tokens
                    return LastTokens(Total(max(estimated, after + number + 1), exact=False), starts)
        total = self.total_tokens
        return LastTokens(Total(total), self.starts(max(total - number, 0), total))

    def token_at(self, byte: int) -> int:
        """Return the token that contains the byte; the number of tokens for the payload's end."""
        while self.checkpoints.bytes[-1] <= byte and not self.checkpoints.complete:
            self._read_on()
        if byte >= self._payload.size:
            return self.total_tokens
        place = bisect_right(self.checkpoints.bytes, byte) - 1
        distance = byte - self.checkpoints.bytes[place]
        # The first token may have no bytes, and then a second one begins there.
        number = bisect_right(self._ends_after(place), distance) if distance else 0
        return self.checkpoints.tokens[place] + number

    def position(self, byte: int) -> Total:
        """Return the token that contains the byte (see `TokenMap`)."""
        is_near = self._payload.size <= EXACT_TAIL_BYTES or byte <= EXACT_HEAD_BYTES
        if is_near or self._was_end_asked:
            return Total(self.token_at(byte))
        nearest = self.token_at(EXACT_HEAD_BYTES)
        return Total(max(self._estimated(byte).tokens, nearest + 1), exact=False)

    def positions(self, places: Sequence[int]) -> Sequence[tuple[int, bool]]:
        """Return for each byte, in order, the token that contains it (see `TokenMap`)."""
        self.count_all()
        known = bisect_right(self.checkpoints.bytes, places[0]) - 1
        token, begin = self.checkpoints.tokens[known], self.checkpoints.bytes[known]
        found: list[tuple[int, bool]] = []
        for chunk in self._known_chunks(known):
            encoder = self._encoder_at(begin)
            ends = known_ends(token_ends(chunk, encoder, allowed_only=False))
            count = len(ends)
            for place in places[len(found) : bisect_left(places, begin + len(chunk), len(found))]:
                inside = place - begin
                # An unknown end equals the one before it, so the first token that ends here is the known one.
                number = bisect_left(ends, inside) if inside else -1
                is_start = not inside or (number < count and ends[number] == inside)
                found.append((token + number + is_start, is_start))
            token += count
            begin += len(chunk)
        # What is left is the end of the payload.
        return found + [(token, True)] * (len(places) - len(found))

    def count_alone(self, data: bytes) -> int:
        """Return how many tokens a text has by itself."""
        return self._tokenizer.count(as_text(data))

    def byte_at(self, token: int) -> int:
        """Return where a token begins, even inside a character; the payload's size past the end."""
        token = self.reach(token)
        place = bisect_right(self.checkpoints.tokens, token) - 1
        if place + 1 == len(self.checkpoints):
            return self.checkpoints.bytes[place]
        number = token - self.checkpoints.tokens[place]
        return self.checkpoints.bytes[place] + (self._ends_after(place)[number - 1] if number else 0)

    def _known_chunks(self, place: int) -> Iterator[bytes]:
        """Return the chunks between a checkpoint and the last one."""
        for start, stop in pairwise(self.checkpoints.bytes[place:]):
            yield self._payload.read(start, stop)

    def _ends_after(self, place: int) -> Sequence[int]:
        """Return where the tokens between a checkpoint and the next one end, in order."""
        if place != self._stretch:
            start, stop = self.checkpoints.bytes[place : place + 2]
            chunk = self._payload.read(start, stop)
            encoder = self._encoder_at(start)
            self._stretch_ends = known_ends(token_ends(chunk, encoder, allowed_only=False))
            self._stretch = place
        return self._stretch_ends


def known_ends(ends: Sequence[int]) -> Sequence[int]:
    """Replace each unknown end by the end before it, so that the ends are in order for bisection."""
    return list(accumulate(ends, max)) if INSIDE_A_CHARACTER in ends else ends


def blocks(payload: Payload, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
    """Read a part of a payload in blocks."""
    end = payload.size if stop is None else stop
    for place in range(start, end, READ_BYTES):
        yield payload.read(place, min(place + READ_BYTES, end))


def token_ends(chunk: bytes, tokenizer: Tokenizer, *, allowed_only: bool = True) -> Sequence[int]:
    """Return where each token of a chunk ends, in bytes of the chunk; -1 where no cut is allowed.

    With `allowed_only` off, ends inside a character are returned too, if they are known.
    """
    ends = list(accumulate(tokenizer.token_lengths(as_text(chunk))))
    if not is_utf8(chunk):
        from tokcap.tokens.replacement import ends_in_source

        ends = ends_in_source(chunk, ends)
    elif allowed_only and not chunk.isascii():
        ends = [end if end == len(chunk) or chunk[end] & 0xC0 != 0x80 else INSIDE_A_CHARACTER for end in ends]
    if allowed_only and ends and ends[0] == 0:
        # A blank that is put before the text. Nothing may be cut between it and what follows.
        ends[0] = INSIDE_A_CHARACTER
    return ends
