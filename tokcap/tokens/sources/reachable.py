"""Turn merges of pairs into ranks of tokens, which is all that the encoders know.

In `tokenizers`, every pair that may be merged has a rank. In tiktoken and in tokcap every token has one, and
every pair that makes the token may be merged. Both make the same tokens of every text if each token has the
rank of the one pair that ever makes it:

Encode the bytes of a token by themselves. The state with two parts, if there is one, is the only pair that
can make this token in any text: as long as no merge crosses the ends of these bytes, what happens between
them does not depend on what is around them. If that pair is not merged, or if there is no such state, no text
makes the token by merging.
"""

from __future__ import annotations

from collections import UserDict
from itertools import groupby, pairwise, repeat
from typing import TYPE_CHECKING

from tokcap.lean.record import Record
from tokcap.tokens.buckets import NO_RANK
from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.small_text import SINGLE
from tokcap.tokens.sources.base import NEVER_IN_TEXT, NotExact, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tokcap.tokens.sources.base import Published

    Merges = Mapping[tuple[bytes, ...], int]

# Encoding a token takes time by the square of its length. Real vocabularies have a tenth of this in all.
MOST_SQUARED_BYTES = 1 << 28
LONGEST_TOKEN_BYTES = 255


class Ordered(Record):
    """The tokens that text can have, in order of rank."""

    # All bytes, then what is merged.
    tokens: Sequence[bytes]
    # What no text has, for tiktoken only: it gets a rank after the bytes and before all others.
    helpers: Sequence[bytes] = ()
    # See `added.Description`.
    blank_run: int = 0


def ordered_tokens(published: Published) -> Ordered:
    """Return the tokens that text can have."""
    found = ORDERS[published.encoder](published)
    if max(map(len, found.tokens)) > LONGEST_TOKEN_BYTES:
        raise NotExact(f"it has a token of more than {LONGEST_TOKEN_BYTES} bytes")
    return found


def ordered_by_bytes(published: Published) -> Ordered:
    """Return the tokens of an encoding that merges bytes."""
    tokens = published.tokens
    missing = [byte for byte in range(0x100) if SINGLE[byte] not in tokens and byte not in NEVER_IN_TEXT]
    if missing:
        raise NotExact(f"it has no token for the byte {missing[0]:#04x}")
    longer = [token for token in tokens if len(token) > 1 and NEVER_IN_TEXT.isdisjoint(token)]
    check_lengths(longer)
    return Ordered([*SINGLE, *longer_tokens(published, longer)])


def check_lengths(longer: Sequence[bytes]) -> None:
    """Refuse tokens that would take too long to encode."""
    if sum(len(token) ** 2 for token in longer) > MOST_SQUARED_BYTES or not longer:
        raise Refused("its tokens are too long, or there are none")


def longer_tokens(published: Published, longer: Sequence[bytes]) -> list[bytes]:
    if published.merges is None:
        assert published.ranks is not None
        return sorted(longer, key=published.ranks.__getitem__)
    pattern = PRE_SPLIT[published.pre_split] if published.whole_pieces_first else ""
    return merged_tokens(longer, published.merges, pattern)


def ordered_by_characters(published: Published) -> Ordered:
    """Return the tokens of an encoding that merges characters.

    tiktoken merges bytes. With the beginnings of all characters as tokens of low rank it makes characters
    first.
    """
    check_lengths([token for token in published.tokens if len(token) > 1])
    characters = sorted(token for token in published.tokens if len(token) > 1 and len(token.decode()) == 1)
    known = frozenset(characters)
    longer = [token for token in published.tokens if is_made_of(token, known)]
    merged = merged_tokens(longer, merges_by_characters(published), "", parts_of=characters_of)
    if published.ranks is not None:
        merged = without_ties(merged, published.ranks)
    import regex

    one_piece = regex.compile(PRE_SPLIT[published.pre_split]).match
    for token in merged:
        text = token.decode()
        if one_piece(text).end() != len(text):
            raise NotExact(f"its token {text!r} joins what other vocabularies divide")
    helpers = {character[:size] for character in characters for size in range(2, len(character))}
    return Ordered([*SINGLE, *characters, *merged], sorted(helpers, key=len), blank_run_of(merged))


def blank_run_of(merged: Sequence[bytes]) -> int:
    """Return how many blanks are one token, whatever follows them; 0 if that depends on it.

    All tokens of blanks must come before those with a blank and something else, which must have only one.
    """
    runs = [place for place, token in enumerate(merged) if not token.strip(b" ")]
    mixed = [(place, token) for place, token in enumerate(merged) if b" " in token and token.strip(b" ")]
    sizes = {len(merged[place]) for place in runs}
    is_first = not mixed or not runs or max(runs) < min(mixed)[0]
    if sizes != set(range(2, len(sizes) + 2)) or not is_first or any(b"  " in token for _, token in mixed):
        return 0
    return max(sizes, default=0)


def merges_by_characters(published: Published) -> Merges:
    if published.merges is not None:
        return published.merges
    assert published.ranks is not None
    return EveryPair(published.ranks)


def without_ties(tokens: Sequence[bytes], ranks: Mapping[bytes, int]) -> list[bytes]:
    """Put tokens of the same rank in an order that makes the same tokens; `Refused` if there may be none.

    Of pairs with the same rank, the first one in the text is merged, so a run of blanks grows from its
    beginning until it is as long as the longest token. The same tokens come of merging equal halves first, if
    there are runs of all lengths up to a power of two.
    """
    found: list[bytes] = []
    for _, group in groupby(tokens, key=ranks.__getitem__):
        tied = sorted(group, key=lambda token: (len(token).bit_count() > 1, len(token)))
        longest = max(map(len, tied))
        runs = {tied[0][:1] * size for size in range(2, longest + 1)}
        if len(tied) > 1 and (runs != set(tied) or longest.bit_count() > 1):
            raise Refused(f"its tokens {tied[0].decode()!r} and {tied[1].decode()!r} have the same score")
        found += tied
    return found


class EveryPair(UserDict[tuple[bytes, ...], int]):
    """Merges of every pair that makes a token, whose rank is that of the token."""

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        super().__init__()
        self._ranks = ranks

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and b"".join(pair) in self._ranks

    def __getitem__(self, pair: tuple[bytes, ...]) -> int:
        return self._ranks[b"".join(pair)]


def is_made_of(token: bytes, known: frozenset[bytes]) -> bool:
    """Return whether a token has several characters, and each of them is a token or ASCII."""
    characters = characters_of(token)
    return len(characters) > 1 and all(len(one) == 1 or one in known for one in characters)


def characters_of(token: bytes) -> list[bytes]:
    return [character.encode() for character in token.decode()]


def bytes_of(token: bytes) -> list[bytes]:
    return [*map(SINGLE.__getitem__, token)]


def merged_tokens(
    tokens: Iterable[bytes],
    merges: Merges,
    pattern: str,
    parts_of: Callable[[bytes], list[bytes]] = bytes_of,
) -> list[bytes]:
    """Return the tokens that can be merged, by the rank of the pair that makes them; then those found whole.

    `pattern` is the pre-split if a piece that is a token is not merged, else empty. `parts_of` returns what
    merging starts with.
    """
    rank_of: dict[bytes, int] = {}
    found_whole = []
    for token in tokens:
        pair = last_pair(parts_of(token), merges)
        if pair in merges:
            rank_of[token] = merges[pair]
        elif pattern and can_be_piece(token, pattern):
            if pair:
                # The encoders would merge the two wherever they meet.
                raise NotExact(f"the token {token!r} is found whole, but {pair!r} is not merged to it")
            found_whole.append(token)
    return [*sorted(rank_of, key=rank_of.__getitem__), *sorted(found_whole)]


def can_be_piece(token: bytes, pattern: str) -> bool:
    """Return whether a pre-split can make a piece of exactly these bytes."""
    import regex

    try:
        text = token.decode()
    except UnicodeDecodeError:
        return False
    match = regex.match(pattern, text)
    # Where white space ends depends on what follows it.
    return text.isspace() or match is None or bool(match.end() == len(text))


def last_pair(parts: list[bytes], merges: Merges) -> tuple[bytes, ...]:
    """Encode the parts of a token by themselves. Return the last two; empty if there are always more."""
    rank = merges.get
    pairs = [*map(rank, pairwise(parts), repeat(NO_RANK))]
    while len(parts) > 2:
        lowest = min(pairs)
        if lowest == NO_RANK:
            return ()
        place = pairs.index(lowest)
        part = parts[place] = parts[place] + parts.pop(place + 1)
        del pairs[place]
        if place < len(pairs):
            pairs[place] = rank((part, parts[place + 1]), NO_RANK)
        if place:
            pairs[place - 1] = rank((parts[place - 1], part), NO_RANK)
    return parts[0], parts[1]


# By the encoder of a vocabulary.
ORDERS = {"byte_pair": ordered_by_bytes, "sentencepiece": ordered_by_characters}
