"""A word that nobody knows in, the one that was probably meant out."""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# How alike two words have to be; below this a suggestion is a guess.
LIKENESS = 0.7


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like it; empty if none is."""
    import difflib

    return next(iter(difflib.get_close_matches(word, [*known], n=1, cutoff=LIKENESS)), "")
