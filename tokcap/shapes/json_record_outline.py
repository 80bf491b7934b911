"""The outline of many records, read piece by piece and column by column with the compiled parser.

It is the outline that `json_outline.read` returns. That function reads a piece that the parser refuses.
"""

from __future__ import annotations

from operator import itemgetter

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes import json_outline
from tokcap.shapes.json_outline import DEEPEST, MOST_KEYS, Place, widest
from tokcap.shapes.json_pieces import PIECES, borders_of, main_container
from tokcap.shapes.json_text.compiled import Refused, members_of, members_of_piece
from tokcap.shapes.json_text.record_type import RecordType, arrays_of, column, compacted, keys_of, parts_of
from tokcap.shapes.value_summary import DISTINCT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from tokcap.core.payload import Payload
    from tokcap.shapes.json_pieces import ArrayPieces, MainContainer

OBJECT, ARRAY = b"{["
CONTAINERS = frozenset((OBJECT, ARRAY))
FIRST = itemgetter(0)
NUMBER_SIGNS = frozenset(b"-0123456789")


def read(payload: Payload, borders: Sequence[int], shape: str) -> Place:
    """Return the values between the first and the last of the borders by their paths."""
    root, pieces, count = Place(0), PIECES[shape], 0
    reader = OutlineReader()
    for piece in pieces.read(payload, borders):
        try:
            values = parts_of(compacted(pieces.as_array(piece)))
            reader.add(values, into := Place(1))
            number = len(values)
        except Refused:
            into, number = read_slowly(piece, pieces)
        root.element().join(into)
        count += number
    root.arrays, root.lengths = 1, (count, count)
    return root


def read_indexed(payload: Payload, shape: str, most_bytes: int) -> tuple[Place | None, int]:
    """Return the outline of an indexed payload, and how many bytes it is of; None if there are no pieces."""
    borders = [place for place in borders_of(payload, shape) if place <= most_bytes]
    if len(borders) > 1:
        return read(payload, borders, shape), borders[-1]
    main = main_container(payload) if shape == "json" else None
    if main is None:
        return None, most_bytes
    last = max(place for place in main.borders if place <= most_bytes)
    # Few members are not a map, and have to be named.
    is_map = not main.pieces.has_records
    if not last or (is_map and sum(map(len, map(members_of, texts(main, last)))) <= MOST_KEYS):
        return None, most_bytes
    size = payload.size if last == main.part.size else main.part.start + last
    return read_document(main, last), size


def texts(main: MainContainer, most_bytes: int) -> Iterator[bytes]:
    return map(main.pieces.as_text, main.read(most_bytes))


def read_document(main: MainContainer, most_bytes: int) -> Place:
    """Return the values of a document by their paths; of its main container only so many bytes are read."""
    inside, reader, count = Place(main.depth), OutlineReader(), 0
    is_map = not main.pieces.has_records
    for text in texts(main, most_bytes):
        values = [bytes(value) for value in children_of(text, is_map=is_map)]
        try:
            reader.add(values, into := Place(main.depth + 1))
        except Refused:
            into = json_outline.read(b"[" + b",".join(values) + b"]", many=False).element()
        inside.element().join(into)
        count += len(values)
    if is_map:
        inside.objects, inside.sizes, inside.mapped = 1, (count, count), True
    else:
        inside.arrays, inside.lengths = 1, (count, count)
    return json_outline.read(main.around, many=False, filling=(main.place, inside))


def children_of(text: bytes, *, is_map: bool) -> Sequence[bytes | memoryview]:
    """Return the elements of an array, or the values of the members of an object."""
    return members_of_piece(text) if is_map else parts_of(compacted(text))


def read_slowly(piece: bytes, pieces: ArrayPieces) -> tuple[Place, int]:
    """Return what the elements of a piece hold, and their number."""
    found = json_outline.read(pieces.as_text(piece), many=pieces.are_lines)
    return found.element(), found.lengths[0] if found.lengths else 0


class OutlineReader:
    """Reads values that are at the same place. It remembers the keys that objects there have."""

    def __init__(self) -> None:
        self._types: dict[str, RecordType] = {}

    def add(self, values: Sequence[bytes], place: Place, path: str = "") -> None:
        """Add values to a place."""
        signs = set(map(FIRST, values))
        if OBJECT in signs:
            self._add_objects(those_with(OBJECT, values, signs), place, path)
        if ARRAY in signs:
            self._add_arrays(those_with(ARRAY, values, signs), place, path)
        if not signs <= CONTAINERS:
            scalars = values
            if signs & CONTAINERS:
                scalars = [value for value in values if value[0] not in CONTAINERS]
            add_scalars(scalars, place)

    def _add_arrays(self, arrays: Sequence[bytes], place: Place, path: str) -> None:
        found = arrays_of(b"[" + b",".join(arrays) + b"]")
        lengths = [*map(len, found)]
        place.arrays += len(arrays)
        place.lengths = widest(place.lengths, (min(lengths), max(lengths)))
        inside = [bytes(value) for array in found for value in array]
        if inside and place.depth < DEEPEST:
            self.add(inside, place.element(), f"{path}/*")

    def _add_objects(self, objects: Sequence[bytes], place: Place, path: str) -> None:
        text = b"[" + b",".join(objects) + b"]"
        known = self._types.get(path)
        try:
            if known is None:
                raise Refused("nothing is known about these objects")
            records, in_order = known.read_faithfully(text), list(place.keys)
        except Refused:
            keys, met = keys_of(text, tuple(known.attributes) if known else ())
            if len({*keys, *place.keys}) > MOST_KEYS:
                raise Refused("the keys are those of a map") from None
            known = self._types[path] = RecordType(keys)
            records, in_order = known.read_faithfully(text), [*met]
        columns = {key: column(records, name).split(b"\n") for key, name in known.attributes.items()}
        sizes = sizes_of(list(columns.values()), len(records))
        place.objects += len(records)
        place.sizes = widest(place.sizes, (min(sizes), max(sizes)))
        if place.depth >= DEEPEST:
            return
        for key in {**dict.fromkeys(in_order), **columns}:
            present = columns.get(key, [])
            if b"" in present:
                present = [value for value in present if value]
            if present:
                self.add(present, place.member(key), f"{path}/{key}")


def those_with(sign: int, values: Sequence[bytes], signs: Collection[int]) -> Sequence[bytes]:
    """Return the values that begin with a sign; `signs` are those that there are."""
    return values if len(signs) == 1 else [value for value in values if value[0] == sign]


def sizes_of(columns: Sequence[Sequence[bytes]], number: int) -> Sequence[int]:
    """Return how many members each record has."""
    if not any(b"" in values for values in columns):
        return [len(columns)] * number
    return [sum(map(bool, row)) for row in zip(*columns, strict=True)] or [0] * number


def add_scalars(values: Sequence[bytes], place: Place) -> None:
    """Add scalars to a place, equal ones at once. Where there are many, only some are named."""
    from collections import Counter
    from itertools import islice

    scalars, counts = place.scalars, Counter(values)
    named = {*islice(counts, DISTINCT), *(word.encode() for word in scalars.values)}
    times = number_times = 0
    numbers = []
    for text, often in counts.items():
        is_number = text[0] in NUMBER_SIGNS
        if text in named:
            scalars.add(text.decode("utf-8", "replace"), often, number=is_number)
            continue
        times += often
        if is_number:
            number_times += often
            numbers.append(text)
    if times:
        scalars.add_unnamed(times, [number.decode() for number in numbers], number_times)
