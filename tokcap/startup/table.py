"""A family of interchangeable parts as one table: names, and where each member is defined.

A member is imported when it is first used, so that a call pays only for the members it needs. To add one,
write its module and add one line to the family's table.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Generic, TypeVar

    Member = TypeVar("Member")
else:
    # Importing `typing` would cost too much, and one more class would too. At run time `Generic[Member]` is
    # `object`, and `Table[Shape]` is `Table`.
    Member = None
    Generic = {Member: object}


class Table(Generic[Member]):
    """The members of one family, by name and in order."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, _):
            return cls

    def __init__(self, **places: str) -> None:
        # Where each member is defined, as `module:attribute`.
        self._places = places
        self._members: dict[str, Member] = {}

    def __getitem__(self, name: str) -> Member:
        """Return the member of this name; `KeyError` if there is none."""
        if name not in self._members:
            module, _, attribute = self._places[name].partition(":")
            # `importlib` is slower to import than this is to write.
            self._members[name] = getattr(__import__(module, fromlist=[attribute]), attribute)
        return self._members[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def add(self, name: str, place: str) -> None:
        """Add a member that is defined elsewhere, as `module:attribute`."""
        self._places[name] = place
        self._members.pop(name, None)

    def remove(self, name: str) -> None:
        """Remove a member."""
        del self._places[name]
        self._members.pop(name, None)
