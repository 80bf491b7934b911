"""Divide JSON text into elements and members, each as its source text.

All texts are valid. `ScannedParts` uses the scanner; `json_compiled.CompiledParts` does the same with a
compiled parser, which is worth loading from `LIGHT_BYTES` on.
"""

from __future__ import annotations

from tokcap.shapes import json_scanner as scanner
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_index import MainContainer


# Up to this size, dividing a text takes less time than loading the compiled parser.
LIGHT_BYTES = 1 << 18


class ScannedParts:
    """Parts that the scanner finds, in text of any depth."""

    def compact(self, text: bytes) -> bytes:
        """Return a value without insignificant white space."""
        return scanner.compact(text)

    def elements(self, arrays: Sequence[bytes]) -> Sequence[Sequence[bytes]]:
        """Return the elements of each array."""
        return [[array[start:end] for start, end in scanner.elements(array, 0)] for array in arrays]

    def objects(self, sources: Sequence[bytes]) -> Objects:
        """Return objects by their members. Their texts have no insignificant white space."""
        names: dict[bytes, str] = {}
        return Objects(
            [
                [
                    (name_of(source[slice(*key)], names), source[slice(*key)], source[slice(*value)])
                    for key, value in scanner.members(source, 0)
                ]
                for source in sources
            ]
        )

    def objects_in(self, array: bytes) -> Objects | None:
        """Return the elements of an array without insignificant white space; None if one is no object."""
        return objects_of(self.elements([array])[0], self)

    def values(self, text: bytes) -> Sequence[bytes]:
        """Return the values of JSON Lines without insignificant white space."""
        return [scanner.compact(text[start:end]) for start, end in scanner.values(text, 0)]


def objects_of(values: Sequence[bytes], parts: ScannedParts) -> Objects | None:
    """Return values by their members; None if one is no object."""
    return parts.objects(values) if all(value[:1] == b"{" for value in values) else None


def name_of(source: bytes, known: dict[bytes, str]) -> str:
    """Return the name that a key is; `known` remembers it."""
    name = known.get(source)
    if name is None:
        name = known[source] = scanner.string_text(source)
    return name


class Objects:
    """Some objects, each as a list of members in order: name, source of the key, source of the value.

    A key may occur twice in one object.
    """

    def __init__(self, objects: Sequence[list[tuple[str, bytes, bytes]]]) -> None:
        self._objects = objects

    @property
    def names(self) -> dict[str, None]:
        """The names of all members, in order."""
        return dict.fromkeys(name for members in self._objects for name, _, _ in members)

    @property
    def sizes(self) -> Sequence[int]:
        """How many members each object has."""
        return [*map(len, self._objects)]

    @property
    def has_unique_keys(self) -> bool:
        return all(len({name for name, _, _ in members}) == len(members) for members in self._objects)

    @property
    def all_values(self) -> Sequence[bytes]:
        """The values of all members, in order."""
        return [value for members in self._objects for _, _, value in members]

    def only(self, names: Collection[str]) -> Objects:
        """Return the objects with only these members."""
        return Objects([[each for each in members if each[0] in names] for members in self._objects])

    def values(self, name: str) -> Sequence[bytes]:
        """Return the values of this name, in order."""
        return [value for members in self._objects for other, _, value in members if other == name]

    def replace(self, name: str, values: Sequence[bytes]) -> None:
        """Replace these values. Members for which an empty one is given are removed."""
        new = iter(values)
        for members in self._objects:
            replaced = [(own, key, next(new) if own == name else value) for own, key, value in members]
            members[:] = [each for each in replaced if each[2]]

    def lines(self, name: str) -> bytes:
        """Return the value of this name in each object, one per line; empty where there is none."""
        return b"\n".join(
            next((value for other, _, value in members if other == name), b"") for members in self._objects
        )

    def written(self) -> Sequence[bytes]:
        """Return each object as JSON."""
        return [
            b"{%b}" % b",".join([key + b":" + value for _, key, value in members])
            for members in self._objects
        ]


def parts_of(size: int) -> ScannedParts:
    """Return what divides a text of this size."""
    if size <= LIGHT_BYTES:
        return ScannedParts()
    from tokcap.shapes.json_compiled import CompiledParts

    return CompiledParts()


def opened(payload: Payload, *, lines: bool) -> tuple[ScannedParts, MainContainer | None]:
    """Return what divides a payload, and its main container; None if it was not indexed."""
    main = None
    if payload.seek_points.bytes:
        # Only a payload of some size has an index.
        from tokcap.shapes.json_index import main_container

        main = main_container(payload, "jsonl" if lines else "json")
    return parts_of(payload.size), main


def values_of(payload: Payload, parts: ScannedParts, *, lines: bool) -> Sequence[bytes]:
    """Return the values of a payload without insignificant white space: one, if it is a document."""
    data = payload.read(0, payload.size)
    text = data[scanner.start_of_text(data) :]
    return parts.values(text) if lines else [parts.compact(text)]
