"""Check and divide JSON with a compiled parser, which keeps the source of each value.

Small payloads do not load it. The parser refuses half surrogate pairs and deep nesting, which the grammar
allows: text that it refuses is checked by `json_grammar` and divided by the scanner. It accepts text that is
not UTF-8, so that is checked here.
"""

from __future__ import annotations

import codecs

import msgspec

from tokcap.shapes import json_scanner as scanner
from tokcap.shapes.json_parts import Objects, ScannedParts
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

VALUE = msgspec.json.Decoder(msgspec.Raw)
ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
ARRAYS = msgspec.json.Decoder(list[list[msgspec.Raw]])
OBJECTS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
ENCODER = msgspec.json.Encoder()
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
# A long text is checked for its encoding in blocks of this size.
BLOCK_BYTES = 1 << 20


class Refused(ValueError):
    """The parser does not accept the text. It may be JSON all the same.

    If some of it was accepted, `accepted` says where that ends and which containers are open there, by their
    opening signs.
    """

    accepted: tuple[int, bytes] | None = None


def check_document(text: bytes | memoryview) -> None:
    """Raise `Refused` unless the text is one JSON value."""
    check_encoding(text)
    try:
        VALUE.decode(text)
    except REFUSALS as error:
        raise Refused(str(error)) from None


def check_encoding(text: bytes | memoryview) -> None:
    """Raise `Refused` unless the text is UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for place in range(0, len(text), BLOCK_BYTES):
            decoder.decode(text[place : place + BLOCK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Refused(str(error)) from None


def checked_elements(text: bytes | memoryview) -> Sequence[msgspec.Raw]:
    """Return the elements of an array; `Refused` if the text is something else."""
    check_encoding(text)
    try:
        return ELEMENTS.decode(text)
    except REFUSALS as error:
        raise Refused(str(error)) from None


def last_members(text: bytes | memoryview) -> dict[str, memoryview]:
    """Return the members of a valid object; the last one, if a key occurs twice."""
    return {key: memoryview(value) for key, value in MEMBERS.decode(text).items()}


def checked_members(text: bytes) -> Sequence[bytes]:
    """Return the value of each member of an object; `Refused` if the text is something else."""
    check_encoding(text)
    try:
        short = msgspec.json.format(text, indent=-1)
        members = MEMBERS.decode(short)
    except REFUSALS as error:
        raise Refused(str(error)) from None
    if ENCODER.encode(members) == short:
        return [*map(bytes, members.values())]
    # A key occurs twice or has escapes.
    return [short[start:end] for _, (start, end) in scanner.members(short, 0)]


def checked_lines(lines: bytes) -> Sequence[bytes]:
    """Return the value in each line; `Refused` if a line is not valid. Several values may be in one line."""
    try:
        lines.decode()
        return [bytes(value) for value in VALUE.decode_lines(lines)]
    except REFUSALS as error:
        raise Refused(str(error)) from None


class CompiledParts(ScannedParts):
    """Parts that the compiled parser finds, if it does not refuse the text."""

    def compact(self, text: bytes) -> bytes:
        try:
            return msgspec.json.format(text, indent=-1)
        except REFUSALS:
            return super().compact(text)

    def elements(self, arrays: Sequence[bytes]) -> Sequence[Sequence[bytes]]:
        try:
            found = ARRAYS.decode(b"[%b]" % b",".join(arrays))
        except REFUSALS:
            return super().elements(arrays)
        return [[*map(bytes, array)] for array in found]

    def objects(self, sources: Sequence[bytes]) -> Objects:
        return read_objects(b"[%b]" % b",".join(sources)) or super().objects(sources)

    def objects_in(self, array: bytes) -> Objects | None:
        return read_objects(array) or super().objects_in(array)

    def values(self, text: bytes) -> Sequence[bytes]:
        # If a line does not have exactly one value, this is not an array.
        array = b"[%b]" % text.strip(b" \t\r\n").replace(b"\n", b",")
        try:
            return [*map(bytes, ELEMENTS.decode(msgspec.json.format(array, indent=-1)))]
        except REFUSALS:
            return super().values(text)


def read_objects(array: bytes) -> CompiledObjects | None:
    """Return the elements of an array; None if they are not objects with keys as the parser writes them."""
    try:
        found = OBJECTS.decode(array)
    except REFUSALS:
        return None
    # A key that occurs twice, or has escapes, is lost. Then the text is not the same as before.
    return CompiledObjects(found) if ENCODER.encode(found) == array else None


class CompiledObjects(Objects):
    """Objects whose keys are all different, and written as the parser writes them."""

    has_unique_keys = True

    def __init__(self, objects: Sequence[dict[str, msgspec.Raw]]) -> None:
        self._maps = objects

    @property
    def names(self) -> dict[str, None]:
        found: dict[str, None] = {}
        for members in self._maps:
            if not members.keys() <= found.keys():
                found.update(dict.fromkeys(members))
        return found

    @property
    def sizes(self) -> Sequence[int]:
        return [*map(len, self._maps)]

    @property
    def all_values(self) -> Sequence[bytes]:
        return [bytes(value) for members in self._maps for value in members.values()]

    def only(self, names: Collection[str]) -> Objects:
        return CompiledObjects(
            [{name: members[name] for name in members if name in names} for members in self._maps]
        )

    def values(self, name: str) -> Sequence[bytes]:
        return [bytes(members[name]) for members in self._maps if name in members]

    def replace(self, name: str, values: Sequence[bytes]) -> None:
        holders = [members for members in self._maps if name in members]
        for members, value in zip(holders, values, strict=True):
            if value:
                members[name] = msgspec.Raw(value)
            else:
                del members[name]

    def lines(self, name: str) -> bytes:
        return b"\n".join([members.get(name, b"") for members in self._maps])

    def written(self) -> Sequence[bytes]:
        return ENCODER.encode_lines(self._maps).split(b"\n")[:-1]
