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

from itertools import pairwise, repeat
from typing import TYPE_CHECKING

from tokcap.tokens.buckets import NO_RANK
from tokcap.tokens.pre_split import PRE_SPLIT
from tokcap.tokens.small_text import SINGLE
from tokcap.tokens.sources.base import Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokcap.tokens.sources.base import Published

    Merges = Mapping[tuple[bytes, ...], int]

# Encoding a token takes time by the square of its length. Real vocabularies have a tenth of this in all.
MOST_SQUARED_BYTES = 1 << 28
LONGEST_TOKEN_BYTES = 255
# Bytes that never occur in UTF-8. Text that is not UTF-8 is replaced before it is counted.
NEVER_IN_TEXT = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))


def ordered_tokens(published: Published) -> list[bytes]:
    """Return the tokens that text can have, in order of rank: first all bytes, then what is merged."""
    tokens = published.tokens
    missing = [byte for byte in range(0x100) if SINGLE[byte] not in tokens and byte not in NEVER_IN_TEXT]
    if missing:
        raise Refused(f"it has no token for the byte {missing[0]:#04x}")
    longer = [token for token in tokens if len(token) > 1 and NEVER_IN_TEXT.isdisjoint(token)]
    if sum(len(token) ** 2 for token in longer) > MOST_SQUARED_BYTES or not longer:
        raise Refused("its tokens are too long, or there are none")
    if max(map(len, longer)) > LONGEST_TOKEN_BYTES:
        raise Refused(f"it has a token of more than {LONGEST_TOKEN_BYTES} bytes")
    if published.merges is None:
        assert published.ranks is not None
        return [*SINGLE, *sorted(longer, key=published.ranks.__getitem__)]
    pattern = PRE_SPLIT[published.pre_split] if published.whole_pieces_first else ""
    return [*SINGLE, *merged_tokens(longer, published.merges, pattern)]


def merged_tokens(tokens: Iterable[bytes], merges: Merges, pattern: str) -> list[bytes]:
    """Return the tokens that can be merged, by the rank of the pair that makes them; then those found whole.

    `pattern` is the pre-split if a piece that is a token is not merged, else empty.
    """
    rank_of: dict[bytes, int] = {}
    found_whole = []
    for token in tokens:
        pair = last_pair(token, merges)
        if pair in merges:
            rank_of[token] = merges[pair]
        elif pattern and can_be_piece(token, pattern):
            if pair:
                # The encoders would merge the two wherever they meet.
                raise Refused(f"the token {token!r} is found whole, but {pair!r} is not merged to it")
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


def last_pair(token: bytes, merges: Merges) -> tuple[bytes, ...]:
    """Encode a token by itself. Return its last two parts; empty if it always has more than two."""
    rank = merges.get
    parts = [*map(SINGLE.__getitem__, token)]
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
