"""The protocol of the filters in `FILTERS`."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Filter

    class StreamFilter(Filter, Protocol):
        """A filter of one stream. It also counts what the reader has to know about."""

        # Counts by kind, such as the kinds of secrets that were masked.
        found: dict[str, int]

        def __init__(self) -> None: ...

        @staticmethod
        def notice(counts: dict[str, int]) -> Notice:
            """Return the notice for what was found in all streams together."""
            ...
