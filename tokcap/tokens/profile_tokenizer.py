"""A tokenizer whose counts are estimates: a base encoding, and a weight for each of its tokens.

The weight is an integer, in thousandths of a token, and depends on the bytes of the base token only. So
weights add up exactly where base tokens do, whatever the chunks are. A text has as many tokens as its weights
need. A token ends where a base token ends; a base token that begins several tokens is divided among them.
"""

from __future__ import annotations

# `io` is loaded already; `operator` is one more file.
from _io import BytesIO
from _operator import sub

from tokcap.core.tokenizer import WholeTokens, tokens_of
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.kinds import SHAPE_OF_BYTES, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.tokenizer import Cut
    from tokcap.tokens.embedded import EmbeddedTokenizer
    from tokcap.tokens.profile import Factors, Profile

UNITS_PER_TOKEN = 1000
# A base token weighs at least this, so that a token has a limited length; and at most one token for each of
# its bytes, as in every tokenizer that can fall back to bytes.
LEAST_UNITS = 250


# The byte between tokens; it is in no text.
BETWEEN_TOKENS = b"\xff"


class Weights(dict[bytes, int]):
    """The weight of each base token, by its bytes; computed on demand."""

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self._known: dict[bytes, int] = {}

    def __missing__(self, token: bytes) -> int:
        per_token, per_byte = self._factors.of(kind_of(token))
        size = len(token)
        weight = min(max(per_token + per_byte * size, LEAST_UNITS), UNITS_PER_TOKEN * size)
        self[token] = weight
        return weight

    def of(self, tokens: Sequence[bytes]) -> Iterator[int]:
        """Return the weight of each token. New tokens of the same shape are weighed once."""
        known = self._known
        if new := [*set(tokens).difference(known)]:
            shapes = BETWEEN_TOKENS.join(new).translate(SHAPE_OF_BYTES).split(BETWEEN_TOKENS)
            known.update(zip(new, map(self.__getitem__, shapes), strict=True))
        return map(known.__getitem__, tokens)


class ProfileTokenizer:
    """The tokens of a closed vocabulary, estimated."""

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = 1
    prefix_tokens = 0
    continued = None
    units_per_token = UNITS_PER_TOKEN

    def __init__(self, profile: Profile, base: EmbeddedTokenizer) -> None:
        self.name = profile.name
        self.profile = profile
        self.digest = profile.digest
        self.digit_group = base.digit_group
        # A token may consist of several base tokens, and parts of the ones before and after them.
        self.longest_token_bytes = base.longest_token_bytes * (UNITS_PER_TOKEN // LEAST_UNITS + 1)
        self._base = base
        self._weights = Weights(profile.factors)
        self._last = ("", 0)
        self.in_units = UnitCounter(self)

    def prepare(self) -> None:
        self._base.prepare()

    def count(self, text: str) -> int:
        return tokens_of(self.units(text), self)

    def units(self, text: str) -> int:
        # Read once: another thread may replace it at any time.
        last_text, last_units = self._last
        if text == last_text:
            return last_units
        units = sum(self._weights.of([*pieces(text.encode(), self._base.token_lengths(text))]))
        self._last = (text, units)
        return units

    def token_lengths(self, text: str) -> Sequence[int]:
        lengths = self.lengths_after(text, 0)
        if len(lengths) > self.count(text):
            # No token ends after these base tokens, so they belong to the last one.
            rest = lengths.pop()
            lengths[-1] += rest
        return lengths

    def lengths_after(self, text: str, units_before: int) -> list[int]:
        """Return the bytes of each token that ends in a text, and the rest, if there is one.

        `units_before`: the units of the whole text before this one, or their remainder.
        """
        base_lengths = self._base.token_lengths(text)
        weights = self._weights.of([*pieces(text.encode(), base_lengths)])
        units = units_before % UNITS_PER_TOKEN
        found: list[int] = []
        # The tokens that have ended, and the bytes after them. A token ends with the base token that has its
        # first unit, so that the tokens before the end of a base token are the count of the text up to there.
        ended, rest = -(-units // UNITS_PER_TOKEN), 0
        for size, weight in zip(base_lengths, weights, strict=True):
            units += weight
            now = -(-units // UNITS_PER_TOKEN)
            more = now - ended
            if more == 1:
                found.append(rest + size)
                rest = 0
            elif more:
                places = [size * number // more for number in range(more + 1)]
                found += map(sub, places[1:], places)
                found[-more] += rest
                rest = 0
            else:
                rest += size
            ended = now
        if rest:
            found.append(rest)
        return found

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return self._base.safe_cut(data, begin, search_from)

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        return self._base.find_safe_cut(data, in_piece=in_piece)

    def piece_end(self, data: bytes) -> int:
        return self._base.piece_end(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        return self._base.cut_in_middle(data, is_end=is_end)


class UnitCounter(WholeTokens):
    """Counts units as if they were tokens: an index of units uses it. It has no lengths of tokens."""

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = UNITS_PER_TOKEN

    def __init__(self, tokenizer: ProfileTokenizer) -> None:
        self.name = tokenizer.name
        self.digest = tokenizer.digest
        self.digit_group = tokenizer.digit_group
        self.longest_token_bytes = tokenizer.longest_token_bytes
        self._units = tokenizer.units
        self.prepare = tokenizer.prepare
        self.safe_cut = tokenizer.safe_cut
        self.find_safe_cut = tokenizer.find_safe_cut
        self.piece_end = tokenizer.piece_end
        self.cut_in_middle = tokenizer.cut_in_middle

    def count(self, text: str) -> int:
        return self._units(text)

    def token_lengths(self, text: str) -> Sequence[int]:
        raise NotImplementedError


class After:
    """The lengths of tokens in a text that follows other text."""

    def __init__(self, tokenizer: ProfileTokenizer, units_before: int) -> None:
        self._tokenizer = tokenizer
        self._units_before = units_before

    def token_lengths(self, text: str) -> Sequence[int]:
        return self._tokenizer.lengths_after(text, self._units_before)


def pieces(data: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    """Cut bytes into pieces of these lengths."""
    return map(BytesIO(data).read, lengths)
