"""What surveys of JSON values and of rows have in common. A subclass says what its units are.

Implements `core.cut.WholeMaterial` together with the subclass.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.cut import Choice, Cost, Part, Ranges
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap


class RecordSurvey:
    """The units of a structured payload and one limit."""

    both_ends_required = False
    one_end_allowed = True
    gaps_are_marked = True
    # What a gap costs.
    gap_tokens: int

    def __init__(
        self,
        payload: Payload,
        count: int,
        tokens: TokenMap,
        limit: int,
        parts_of: Callable[[Ranges], tuple[Part, ...]],
        cost: Cost,
    ) -> None:
        self.payload = payload
        self.count = count
        self.limit = limit
        self._tokens = tokens
        self._parts_of = parts_of
        self._cost = cost

    def head_ends(self) -> range:
        return range(1, self.count)

    def tail_starts(self, hidden_from: int) -> range:
        return range(self.count - 1, hidden_from, -1)

    def with_names(self, shown: Ranges) -> Ranges:
        """Add the units that tell what the chosen ones belong to."""
        return shown

    def price(self, shown: Ranges) -> int:
        return self._cost(self._parts_of(shown))

    def price_of(self, choice: Choice) -> int:
        return self.price(self.with_names(choice.shown))
