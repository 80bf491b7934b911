"""What the formats have in common that give each token its rank, as tiktoken does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.tokens.sources.base import MOST_TOKENS, Published, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable


def ranked(tokens: Iterable[tuple[bytes, int]], pre_split: str) -> Published:
    """Return a vocabulary in which the rank of a token is the rank of every pair that makes it."""
    ranks: dict[bytes, int] = {}
    for token, rank in tokens:
        if token in ranks:
            raise Refused(f"the token of rank {rank} has a rank already")
        ranks[token] = rank
    if len(set(ranks.values())) != len(ranks):
        raise Refused("two of its tokens have the same rank")
    if len(ranks) > MOST_TOKENS:
        raise Refused(f"it has {len(ranks)} tokens; no vocabulary has more than {MOST_TOKENS}")
    return Published(
        tokens=frozenset(ranks),
        merges=None,
        ranks=ranks,
        whole_pieces_first=True,
        pre_split=pre_split,
        normalizer="none",
    )
