"""A word that nobody knows in, the one that was probably meant out."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# How alike two words have to be; below this a suggestion is a guess.
LIKENESS = 0.7
# Letters that tell what somebody has begun to write.
LEAST_BEGINNING = 2


def nearest(word: str, known: Iterable[str], likeness: float = LIKENESS) -> str:
    """The known word that alone begins with it, else the one that is most like it; empty if none is."""
    import difflib

    words = [*known]
    longer = [one for one in words if one.startswith(word)]
    if len(longer) == 1 and len(word.lstrip("-")) >= LEAST_BEGINNING:
        return longer[0]
    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=likeness)), "")
