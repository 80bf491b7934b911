"""Filters change the bytes of a stream. The result does not depend on how the bytes are divided into blocks.

To add a filter, write a module with a `StreamFilter` and add one line to `FILTERS`.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from tokcap.core.payload import Filter
    from tokcap.core.request import View
    from tokcap.core.response import Notice

    class StreamFilter(Filter, Protocol):
        """A filter of one stream. It also counts what the reader has to know about."""

        # Counts by kind, such as the kinds of secrets that were masked.
        found: dict[str, int]

        def __init__(self, variables: Mapping[str, str]) -> None: ...

        @staticmethod
        def notice(counts: dict[str, int]) -> Notice:
            """Return the notice for what was found in all streams together."""
            ...


# By the option that turns each on, in the order in which they apply: clean first, so that no escape sequence
# divides a secret.
FILTERS: Table[type[StreamFilter]] = Table(
    clean="tokcap.filters.clean:Cleaner",
    redact="tokcap.filters.redact:Redactor",
)


def chain(request: View, variables: Mapping[str, str]) -> Sequence[StreamFilter]:
    """Return new filters for one stream, in the order in which they apply. `variables` may have secrets."""
    return [FILTERS[option](variables) for option in FILTERS if getattr(request, option, False)]


def notices_of(*chains: Sequence[StreamFilter]) -> tuple[Notice, ...]:
    """Return one notice for each kind of filter that found something in any stream."""
    notices = []
    # Every stream has the same filters in the same order.
    for filters in zip(*chains, strict=True):
        counts: dict[str, int] = {}
        for one in filters:
            for kind, number in one.found.items():
                counts[kind] = counts.get(kind, 0) + number
        if counts:
            notices.append(filters[0].notice(counts))
    return tuple(notices)
