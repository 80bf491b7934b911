"""Select members of JSON text, with the containers around them. Values are copied from the source."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.base import Selected
from tokcap.shapes.json_text.scanner import (
    CLOSED,
    CLOSERS,
    OPENED,
    compact,
    printable,
    start_of_text,
    string_text,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.json_text.scanner import Span


class Level:
    """A container that is copied in part."""

    __slots__ = ("closer", "filled", "wanted", "where")

    def __init__(self, closer: bytes, wanted: Sequence[tuple[FieldPath, FieldPath]], where: str) -> None:
        self.closer = closer
        # Whole paths, and what is left of each from here on.
        self.wanted = wanted
        self.where = where
        self.filled = False


class Filling(Record):
    """What is wanted of the content of an empty container."""

    # Where in the output it belongs, and how many names were seen before it.
    place: int
    names: int
    # Whole paths, and what is left of each; empty: everything is wanted.
    wanted: Sequence[tuple[FieldPath, FieldPath]] = ()
    # The names that lead to it.
    where: str = ""


def select_members(payload: Payload, paths: Sequence[FieldPath], shape: str) -> Selected:
    """Return the members at these paths. A path goes through arrays."""
    if payload.seek_points.bytes:
        # Only a large payload has an index.
        from tokcap.shapes.json_record_fields import select_from_pieces

        if (selected := select_from_pieces(payload, paths, shape)) is not None:
            return selected
    return select_from(payload.read(0, payload.size), paths)


def select_from(data: bytes, paths: Sequence[FieldPath]) -> Selected:
    """Return the same of a text, by walking over all values."""
    selector = Selector(data, paths)
    selector.run()
    return Selected(b"".join(selector.out), selector.found, list(selector.names))


class Selector:
    """Walks over the payload once and copies what is wanted.

    `empty` is where a container begins whose content is not there. `filling` says what of it is wanted.
    """

    def __init__(self, data: bytes, paths: Sequence[FieldPath], empty: int = -1) -> None:
        self._data = data
        self._paths = paths
        self._empty = empty
        self.filling: Filling | None = None
        self.out: list[bytes] = []
        self.found: set[FieldPath] = set()
        # Names that were seen where one was searched for, in order.
        self.names: dict[str, None] = {}
        self._levels: list[Level] = []

    def run(self) -> None:
        # Containers that are copied whole or left out: how many are open, and where a copy starts (-1: left
        # out).
        skipped, copied_from = 0, -1
        for event, key, start, end in walk(self._data, start_of_text(self._data)):
            if skipped:
                skipped += (event == OPENED) - (event == CLOSED)
                if start == self._empty and copied_from >= 0:
                    self._copy_up_to_filling(copied_from)
                    copied_from = end
                if not skipped and copied_from >= 0:
                    self.out.append(compact(self._data[copied_from:end]))
            elif event == CLOSED:
                self._close()
            else:
                wanted, where = self._wanted(key)
                if key is not None and any(not rest for _, rest in wanted):
                    self.found.update(path for path, rest in wanted if not rest)
                    self._begin(key)
                    if event == OPENED:
                        skipped, copied_from = 1, start
                        if start == self._empty:
                            self._copy_up_to_filling(copied_from)
                            copied_from = end
                    else:
                        self.out.append(self._data[start:end])
                elif event == OPENED and wanted:
                    self._begin(key)
                    self.out.append(self._data[start:end])
                    if start == self._empty:
                        self.filling = Filling(len(self.out), len(self.names), wanted, where)
                    self._levels.append(Level(CLOSERS[self._data[start:end]], wanted, where))
                elif event == OPENED:
                    skipped, copied_from = 1, -1

    def _copy_up_to_filling(self, begin: int) -> None:
        """Copy what is before the content of the empty container. All of the content is wanted."""
        self.out.append(compact(self._data[begin : self._empty + 1]))
        self.filling = Filling(len(self.out), len(self.names))

    def _wanted(self, key: Span | None) -> tuple[Sequence[tuple[FieldPath, FieldPath]], str]:
        """Return the paths that lead to a value or through it, and its own name."""
        level = self._levels[-1] if self._levels else None
        wanted = level.wanted if level else [(path, path) for path in self._paths]
        where = level.where if level else ""
        if key is None:
            return wanted, where
        name = string_text(self._data[slice(*key)])
        where = f"{where}.{name}" if where else name
        self.names[printable(where)] = None
        return [(path, rest[1:]) for path, rest in wanted if rest and rest[0] == name], where

    def _begin(self, key: Span | None) -> None:
        """Write what precedes a value: a comma, its key."""
        if not self._levels:
            return
        if self._levels[-1].filled:
            self.out.append(b",")
        self._levels[-1].filled = True
        if key is not None:
            self.out += (self._data[slice(*key)], b":")

    def _close(self) -> None:
        self.out.append(self._levels.pop().closer)
        if not self._levels:
            self.out.append(b"\n")
