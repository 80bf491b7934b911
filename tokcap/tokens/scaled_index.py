"""Map estimated tokens to bytes. Checkpoints are in units, which add up; tokens are made of them on demand.

The token at a position is the count of the text before it. See `profile_tokenizer`.
"""

from __future__ import annotations

from tokcap.core.tokenizer import LastTokens, Total, tokens_of
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.checkpoints import last_at_most
from tokcap.tokens.chunks import INSIDE_A_CHARACTER, as_text, split
from tokcap.tokens.index import EXACT_TAIL_BYTES, FAR_TOKENS, Index, blocks, known_ends, token_ends
from tokcap.tokens.profile_tokenizer import UNITS_PER_TOKEN, After

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.tokens.checkpoints import Checkpoints
    from tokcap.tokens.profile_tokenizer import ProfileTokenizer


class ScaledIndex(Index):
    """Token positions of one payload with a profile. What the base class counts are units."""

    far_tokens = FAR_TOKENS * UNITS_PER_TOKEN

    def __init__(
        self, payload: Payload, tokenizer: ProfileTokenizer, known: Checkpoints | None = None
    ) -> None:
        super().__init__(payload, tokenizer.in_units, known)
        self._profile = tokenizer
        self._scale = tokenizer.units_per_token

    @property
    def total_tokens(self) -> int:
        return tokens_of(super().total_tokens, self._profile)

    @property
    def total(self) -> Total:
        """Return the total, which is always an estimate."""
        return super().total.but(exact=False)

    def _estimated(self, size: int) -> Total:
        found = super()._estimated(size)
        return found.but(tokens=tokens_of(found.tokens, self._profile))

    def count_alone(self, data: bytes) -> int:
        return self._profile.count(as_text(data))

    def reach(self, token: int) -> int:
        return tokens_of(super().reach(token * self._scale), self._profile)

    def _total_if_within(self, token: int) -> int | None:
        """Return the total if the payload has no more tokens than this; None if it has."""
        # The first unit of the next token shows that there are more.
        units = super().reach(token * self._scale + 1)
        return None if units > token * self._scale else tokens_of(units, self._profile)

    def byte_at(self, token: int) -> int:
        total = self._total_if_within(token)
        if total is not None and token >= total:
            return self._payload.size
        if token == 0:
            return 0
        place = last_at_most(self.checkpoints.tokens, (token - 1) * self._scale)
        before = tokens_of(self.checkpoints.tokens[place], self._profile)
        return self.checkpoints.bytes[place] + self._ends_after(place)[token - before - 1]

    def starts(self, first: int, last: int) -> Sequence[int]:
        total = self._total_if_within(last)
        known = self.checkpoints
        wanted = first, last if total is None else min(last, total)
        return starts_between(self._payload, self._profile, (known.tokens, known.bytes), wanted, total)

    def token_at(self, byte: int) -> int:
        while self.checkpoints.bytes[-1] <= byte and not self.checkpoints.complete:
            self._read_on()
        if byte >= self._payload.size:
            return self.total_tokens
        token, _ = self._position(byte)
        # Text after which no token ends belongs to the last one.
        total = self._total_if_within(token)
        return token if total is None else min(token, total - 1)

    def positions(self, places: Sequence[int]) -> Sequence[tuple[int, bool]]:
        total = self.total_tokens
        found = [self._position(place) if place < self._payload.size else (total, True) for place in places]
        return [
            (total - 1, False) if token == total and place < self._payload.size else (token, is_start)
            for place, (token, is_start) in zip(places, found, strict=True)
        ]

    def _position(self, byte: int) -> tuple[int, bool]:
        """Return how many tokens end up to a byte, and whether one ends there."""
        if not byte:
            return 0, True
        known = self.checkpoints
        # At a checkpoint, what ends there is in the stretch before it.
        place = last_at_most(known.bytes, byte - 1)
        before = tokens_of(known.tokens[place], self._profile)
        in_stretch = tokens_of(known.tokens[place + 1], self._profile) - before
        ends = self._ends_after(place)
        offset = byte - known.bytes[place]
        number = min(last_at_most(ends, offset) + 1, in_stretch)
        return before + number, number > 0 and ends[number - 1] == offset

    def last(self, number: int, after: int) -> LastTokens:
        """Return where the last tokens start (see `TokenMap`)."""
        if not self._was_end_asked:
            after_byte = self.byte_at(after)
            if self._payload.size - after_byte > EXACT_TAIL_BYTES:
                from tokcap.tokens.tail import last_starts

                starts = last_starts(self._payload, self._profile, number, after_byte, starts_after)
                if starts:
                    estimated = self._estimated(self._payload.size).tokens
                    return LastTokens(Total(max(estimated, after + number + 1), exact=False), starts)
        total = self.total_tokens
        return LastTokens(Total(total), self.starts(max(total - number, 0), total))

    def _ends_after(self, place: int) -> Sequence[int]:
        if place != self._stretch:
            start, stop = self.checkpoints.bytes[place : place + 2]
            after = After(self._profile, self.checkpoints.tokens[place])
            ends = token_ends(self._payload.read(start, stop), after, allowed_only=False)
            self._stretch_ends = known_ends(ends)
            self._stretch = place
        return self._stretch_ends


def starts_between(
    payload: Payload,
    tokenizer: ProfileTokenizer,
    checkpoints: tuple[Sequence[int], Sequence[int]],
    wanted: tuple[int, int],
    total: int | None,
) -> list[int]:
    """Return where the wanted tokens start, first and last (see `TokenMap.starts`).

    `checkpoints` has units and bytes. `total` is the number of tokens, if the last checkpoint is the end.
    """
    units, places = checkpoints
    token, last = wanted
    found: list[int] = []
    if token == 0 and total != 0:
        found.append(places[0])
        token = 1
    # A token starts where the base token ends that has the first unit of the token before it.
    scale = tokenizer.units_per_token
    number = max(last_at_most(units, (token - 1) * scale), 0)
    end = last if total is None else min(last, total - 1)
    while token <= end:
        first_unit, next_unit = units[number], units[number + 1]
        if (token - 1) * scale < next_unit:
            begin = places[number]
            before = tokens_of(first_unit, tokenizer)
            ends = token_ends(payload.read(begin, places[number + 1]), After(tokenizer, first_unit))
            while token <= end and (token - 1) * scale < next_unit:
                place = ends[token - before - 1]
                found.append(INSIDE_A_CHARACTER if place == INSIDE_A_CHARACTER else begin + place)
                token += 1
        number += 1
    if token == last == total:
        found.append(places[-1])
    return found


def starts_after(
    payload: Payload, tokenizer: ProfileTokenizer, cut: int, number: int
) -> Sequence[int] | None:
    """Return where the last `number` tokens start; None if there are fewer after the safe cut."""
    units, places = [0], [cut]
    for chunk in split(blocks(payload, cut), tokenizer):
        units.append(units[-1] + tokenizer.units(as_text(chunk)))
        places.append(places[-1] + len(chunk))
    total = tokens_of(units[-1], tokenizer)
    if total < number:
        return None
    return starts_between(payload, tokenizer, (units, places), (total - number, total), total)
