"""Select members of JSON text, with the containers around them. All of it is copied from the source."""

from __future__ import annotations

from tokcap.core.payload import SCRATCH_BYTES, Spool
from tokcap.shapes.base import Selected
from tokcap.shapes.json_parts import opened, values_of
from tokcap.shapes.json_scanner import printable, string_text
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from tokcap.core.payload import Payload
    from tokcap.shapes.base import FieldPath
    from tokcap.shapes.json_index import MainContainer
    from tokcap.shapes.json_parts import Objects, ScannedParts

    # Whole paths, and what is left of each below the values that are looked at.
    Wanted: TypeAlias = Sequence[tuple[FieldPath, FieldPath]]

OBJECT, ARRAY = b"{", b"["
# A path does not go through more arrays that are directly in each other.
MOST_ARRAYS = 50
# No more names of members are collected: a message shows only some.
MOST_NAMES = 1000


def select_members(payload: Payload, paths: Sequence[FieldPath], *, lines: bool) -> Selected:
    """Return the members at these paths. A path goes through arrays."""
    parts, main = opened(payload, lines=lines)
    fields, out = Fields(paths, parts), Spool(SCRATCH_BYTES)
    if main is None:
        for kept in fields.of(values_of(payload, parts, lines=lines)):
            out.write(kept and kept + b"\n")
    elif lines:
        for piece in main.pieces():
            out.write(b"".join([kept + b"\n" for kept in fields.of(parts.values(piece)) if kept]))
    else:
        for block in fields_of_pieces(main, fields, parts):
            out.write(block)
    return Selected(out.into_text(), fields.found, list(fields.names))


def fields_of_pieces(main: MainContainer, fields: Fields, parts: ScannedParts) -> Iterator[bytes]:
    """Yield the fields of a document that is read in pieces. Only what is around them is read at once."""
    keys = tuple(map(string_text, main.keys))
    depth = len(keys)
    inside = [(path, path[depth:]) for path in fields.paths if path[:depth] == keys and path != keys]
    is_whole = any(keys[: len(path)] == path for path in fields.paths)
    fields.stand_in = stand_in = main.stand_in
    (selected,) = fields.of([parts.compact(main.around)])
    before, found, after = selected.partition(stand_in)
    if not found:
        yield selected and selected + b"\n"
        return
    closer = main.after[:1]
    yield before + main.kind
    separator = b""
    for piece in main.pieces():
        children = parts.compact(main.kind + piece + closer)
        if not is_whole:
            (children,) = fields.of([children], inside, ".".join(keys))
        if children[1:-1]:
            yield separator + children[1:-1]
            separator = b","
    yield closer + after + b"\n"


class Fields:
    """Some fields of many values."""

    def __init__(self, paths: Sequence[FieldPath], parts: ScannedParts) -> None:
        self.paths = paths
        self._parts = parts
        # A string in place of the container that is read in pieces: it is kept as that would be.
        self.stand_in = b""
        self.found: set[FieldPath] = set()
        # Names that were seen where one was looked for, in order.
        self.names: dict[str, None] = {}

    def of(self, values: Sequence[bytes], wanted: Wanted | None = None, where: str = "") -> Sequence[bytes]:
        """Return what is wanted of each value, which has no blanks; nothing of a scalar."""
        return self._inside(
            values, [(path, path) for path in self.paths] if wanted is None else wanted, where
        )

    def _inside(
        self, values: Sequence[bytes], wanted: Wanted, where: str, arrays_around: int = 0
    ) -> Sequence[bytes]:
        if len(values) == 1 and values[0][:1] == ARRAY and (records := self._parts.objects_in(values[0])):
            return [b"[%b]" % b",".join(self._members(records, wanted, where))]
        kept = [value if value == self.stand_in else b"" for value in values]
        objects = [number for number, value in enumerate(values) if value[:1] == OBJECT]
        if objects:
            sources = [values[number] for number in objects]
            found = self._members(self._parts.objects(sources), wanted, where)
            for number, members in zip(objects, found, strict=True):
                kept[number] = members
        arrays = [number for number, value in enumerate(values) if value[:1] == ARRAY]
        if arrays and arrays_around < MOST_ARRAYS:
            elements = self._parts.elements([values[number] for number in arrays])
            flat = iter(
                self._inside(
                    [element for array in elements for element in array], wanted, where, arrays_around + 1
                )
            )
            for number, array in zip(arrays, elements, strict=True):
                kept[number] = b"[%b]" % b",".join([own for _, own in zip(array, flat, strict=False) if own])
        return kept

    def _members(self, objects: Objects, wanted: Wanted, where: str) -> Sequence[bytes]:
        """Return the members that are wanted of each object."""
        steps: dict[str, list[tuple[FieldPath, FieldPath]]] = {}
        for path, rest in wanted:
            steps.setdefault(rest[0], []).append((path, rest[1:]))
        seen = objects.names
        if len(self.names) < MOST_NAMES:
            self.names.update((printable(f"{where}.{name}" if where else name), None) for name in seen)
        kept = objects.only(steps)
        for name, inside in steps.items():
            whole = [path for path, rest in inside if not rest]
            if whole and name in seen:
                self.found.update(whole)
            elif name in seen:
                chosen = self._inside(kept.values(name), inside, f"{where}.{name}" if where else name)
                kept.replace(name, chosen)
        return kept.written()
