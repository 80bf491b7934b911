"""Search for the largest candidate that fits into a limit."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Costs grow nearly in proportion to what is shown, so a few proportional guesses come close.
PROPORTIONAL_GUESSES = 4


def largest_fit(number: int, cost: Callable[[int], int], limit: int) -> int | None:
    """Return the largest of the candidates 0 … `number` - 1 whose cost is within the limit.

    Candidates are ordered by size. Costs need not grow strictly (joined texts can cost a token more
    or less). The candidate returned always fits; None means that the first does not.
    """
    fitting, too_large = -1, number
    candidate = number - 1
    guesses = 0
    while fitting + 1 < too_large:
        tokens = cost(candidate)
        if tokens <= limit:
            fitting = candidate
        else:
            too_large = candidate
        guesses += 1
        if guesses <= PROPORTIONAL_GUESSES and tokens:
            candidate = (candidate + 1) * limit // tokens - 1
        else:
            candidate = (fitting + too_large) // 2
        candidate = min(max(candidate, fitting + 1), too_large - 1)
    return fitting if fitting >= 0 else None
