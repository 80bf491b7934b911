"""Records as a type of the compiled parser: objects whose keys are known, with their values as source text.

A type says nothing about the order of keys, and nothing about keys that occur twice. So a text is written
again from what was read: only if that gives the same text, its records are as the type says.
"""

from __future__ import annotations

import msgspec

from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.json_text.compiled import ELEMENTS, REFUSALS, Refused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The value of a key that a record does not have.
MISSING = msgspec.Raw(b"")
ENCODER = msgspec.json.Encoder()
ARRAYS = msgspec.json.Decoder(list[list[msgspec.Raw]])
OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
# Objects with more keys are maps, not records.
MOST_KEYS = 200


def compacted(text: bytes | memoryview) -> bytes:
    """Return JSON without insignificant white space."""
    try:
        return msgspec.json.format(text, indent=-1)
    except REFUSALS as error:
        raise Refused(str(error)) from None


def parts_of(text: bytes) -> Sequence[bytes]:
    """Return the elements of an array."""
    try:
        return [bytes(value) for value in ELEMENTS.decode(text)]
    except REFUSALS as error:
        raise Refused(str(error)) from None


def arrays_of(text: bytes) -> Sequence[Sequence[msgspec.Raw]]:
    """Return the elements of each array in an array of arrays."""
    try:
        return ARRAYS.decode(text)
    except REFUSALS as error:
        raise Refused(str(error)) from None


def keys_of(text: bytes, known: Sequence[str] = ()) -> tuple[Sequence[str], Sequence[str]]:
    """Return all keys of the objects in an array: in an order that fits each of them, and as they were met.

    If no order fits, the first one fits some of them. `known` keys are in it, too.
    """
    order = list(known)
    met: dict[str, None] = {}
    seen = set(order)
    try:
        records = OBJECTS.decode(text)
    except REFUSALS as error:
        raise Refused(str(error)) from None
    for record in records:
        if record.keys() <= met.keys():
            continue
        met.update(dict.fromkeys(record))
        place = 0
        for key in record:
            if key in seen:
                place = order.index(key) + 1
                continue
            order.insert(place, key)
            seen.add(key)
            place += 1
        if len(order) > MOST_KEYS:
            raise Refused("too many keys")
    return order, list(met)


class RecordType:
    """Objects with these keys, in this order."""

    def __init__(self, keys: Iterable[str], *, only: bool = False) -> None:
        """`only`: other keys are left out, not refused."""
        self.attributes = {key: f"_{number}" for number, key in enumerate(keys)}
        struct = msgspec.defstruct(
            "Record",
            [(name, msgspec.Raw, MISSING) for name in self.attributes.values()],
            rename={name: key for key, name in self.attributes.items()},
            omit_defaults=True,
            forbid_unknown_fields=not only,
            gc=False,
        )
        self._decoder = msgspec.json.Decoder(list[struct])  # type: ignore[valid-type]  # made at run time

    def read(self, text: bytes) -> Sequence[object]:
        """Return the records of an array; `Refused` if they are not as the type says."""
        try:
            return self._decoder.decode(text)
        except (*REFUSALS, msgspec.ValidationError) as error:
            raise Refused(str(error)) from None

    def read_faithfully(self, text: bytes) -> Sequence[object]:
        """Return the same; `Refused` as well if the text has anything that the records do not have."""
        records = self.read(text)
        if ENCODER.encode(records) != text:
            raise Refused("the order of keys differs")
        return records


def written(records: object) -> bytes:
    """Return records as an array, or one record."""
    return ENCODER.encode(records)


def written_lines(records: Sequence[object]) -> bytes:
    """Return records as lines."""
    return ENCODER.encode_lines(records)


def has_value(records: Sequence[object], attribute: str) -> bool:
    """Return whether one of the records has a value there."""
    return any(getattr(record, attribute) is not MISSING for record in records)


def values_in(records: Sequence[object], attribute: str) -> Sequence[bytes]:
    """Return one value of each record; nothing where a record has none."""
    from operator import attrgetter

    return [*map(bytes, map(attrgetter(attribute), records))]


def replace_column(records: Sequence[object], attribute: str, values: Sequence[bytes]) -> None:
    """Give each record another value; none if the value is empty."""
    for record, value in zip(records, values, strict=True):
        setattr(record, attribute, msgspec.Raw(value) if value else MISSING)


def column(records: Sequence[object], attribute: str) -> bytes:
    """Return one value of each record, one per line; an empty line where a record has none."""
    from operator import attrgetter

    return b"\n".join(map(attrgetter(attribute), records))
