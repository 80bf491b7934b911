"""The pairs that a model merges, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.tokens.sources.base import MOST_MERGES, Refused, member

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping


def merges_of(
    model: Mapping[str, Any], tokens: Mapping[str, bytes], *, may_miss: bool = False
) -> Mapping[tuple[bytes, ...], int]:
    """Return the rank of each pair that is merged.

    `may_miss`: `tokens` has only those that text can have, so merges of others are left out.
    """
    merges = member(model, "merges", list)
    if len(merges) > MOST_MERGES:
        raise Refused(f"it has {len(merges)} merges; no vocabulary has more than {MOST_MERGES}")
    pairs = (merge.split(" ") if isinstance(merge, str) else merge for merge in merges)
    return ranks_of_pairs(pairs, tokens, model["vocab"] if may_miss else tokens)


def ranks_of_pairs(
    pairs: Iterable[Any], tokens: Mapping[str, bytes], vocabulary: Container[str]
) -> Mapping[tuple[bytes, ...], int]:
    """Return the rank of each pair of these tokens. `vocabulary` may have tokens that no text has."""
    found: dict[tuple[bytes, ...], int] = {}
    for rank, pair in enumerate(pairs):
        try:
            left, right = pair
            # A merge of tokens that do not exist, or to one, is an error in `tokenizers` too.
            if not (left in vocabulary and right in vocabulary and left + right in vocabulary):
                raise KeyError(pair)
        except (KeyError, TypeError, ValueError):
            raise Refused(f"merge {rank + 1} is not a pair of its tokens") from None
        if left in tokens and right in tokens:
            if left + right not in tokens:
                raise Refused(f"merge {rank + 1} makes the token of a byte")
            found[tokens[left], tokens[right]] = rank
    return found
