"""What windows over JSON and tables have in common: they read units until the choice is certain.

A subclass reads units, prices ranges of them and makes the cut. It implements `core.cut.Material`.
"""

from __future__ import annotations

from tokcap.core.seek_points import ShapeSeekPoints
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.cut import Ask, Cost, Cut
    from tokcap.core.payload import Payload
    from tokcap.core.tokenizer import TokenMap

# How much of the source is read for a window at first, and how that grows while there is room.
FIRST_BYTES = 1024
BYTES_PER_TOKEN = 8
GROWTH = 4


class RecordWindow:
    """One structured payload and one limit."""

    # There is only one division into units: the policy chooses what it can get, and every gap has a mark.
    both_ends_required = False
    one_end_allowed = True
    gaps_are_marked = True
    # The number of units that were read. The first `head_count` are at the beginning of the window, the
    # others at the payload's end.
    count = 0
    head_count = 0
    # Whether no unit is unread.
    complete = True

    def __init__(self, payload: Payload, tokens: TokenMap, ask: Ask, cost: Cost, shape: str) -> None:
        self._payload = payload
        self._data = payload.view()
        # Called for every range of `_data` that decides about the window.
        self._check = payload.check
        self._seek_points = ShapeSeekPoints(payload.seek_points, shape, self._data)
        self._tokens = tokens
        self._ask = ask
        self.limit = ask.limit or 0
        self._cost = cost
        self._first_token = tokens.reach(ask.offset)
        self._first_byte = tokens.byte_at(ask.offset)

    def cut(self) -> Cut:
        """Return as much as fits into the limit."""
        limit = self._ask.limit
        if self._ask.offset == 0 and (limit is None or self._tokens.reach(limit + 1) <= limit):
            whole = self._whole()
            if limit is None or self._cost(whole.parts) <= limit:
                return whole
        if limit is None:
            return self._rest()
        surveyed = self._surveyed() if self._ask.keep.survey else None
        if surveyed:
            return surveyed
        size = FIRST_BYTES + BYTES_PER_TOKEN * limit
        while True:
            self._read(size)
            found = self._largest()
            if found is not None:
                return found
            size *= GROWTH

    def head_ends(self) -> Sequence[int]:
        # Nothing is known about what follows the last unit that was read, unless nothing follows.
        all_known = self.head_count < self.count or self.complete
        return range(1, self.head_count + all_known)

    def _surveyed(self) -> Cut | None:
        """Return what the survey of the policy chooses; None if there is no room for it."""
        raise NotImplementedError

    def _whole(self) -> Cut:
        """Return all of the payload."""
        raise NotImplementedError

    def _rest(self) -> Cut:
        """Return everything from the offset on."""
        raise NotImplementedError

    def _read(self, size: int) -> None:
        """Read the units in `size` bytes at each end of the window that the policy needs."""
        raise NotImplementedError

    def _largest(self) -> Cut | None:
        """Return the cut that the policy chooses; None if more must be read first."""
        raise NotImplementedError
