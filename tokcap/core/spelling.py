"""Find the known word that a misspelt word probably means."""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# How similar two words must be, from 0 to 1. With a lower value suggestions become guesses.
LEAST_SIMILARITY = 0.7
# How many letters of a word must be written before it can be completed.
LEAST_PREFIX_CHARACTERS = 2


def nearest(word: str, known: Iterable[str], similarity: float = LEAST_SIMILARITY) -> str:
    """Return the only known word that begins with this one, else the most similar word; empty if none is."""
    import difflib

    words = [*known]
    longer = [candidate for candidate in words if candidate.startswith(word)]
    if len(longer) == 1 and len(word.lstrip("-")) >= LEAST_PREFIX_CHARACTERS:
        return longer[0]
    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=similarity)), "")
