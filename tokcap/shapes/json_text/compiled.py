"""Check and divide JSON with a compiled parser. Only documents that are large enough load it.

The parser refuses half surrogate pairs and deep nesting, which the grammar allows: what it refuses has to be
checked by `grammar`. It accepts text that is not UTF-8, so that is checked here.
"""

from __future__ import annotations

import msgspec

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from tokcap.shapes.json_text.scanner import View

    Text: TypeAlias = View | memoryview

# Text is checked for its encoding in blocks of this size.
BLOCK_BYTES = 1 << 20

VALUE = msgspec.json.Decoder(msgspec.Raw)
ELEMENTS = msgspec.json.Decoder(list[msgspec.Raw])
MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
REFUSALS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Refused(ValueError):
    """The parser does not accept the text. It may be JSON all the same.

    If some of it was accepted, `accepted` says where that ends and which containers are open there, by their
    opening signs.
    """

    accepted: tuple[int, bytes] | None = None


def check_document(text: Text) -> None:
    """Raise `Refused` unless the text is one JSON value."""
    check_encoding(text)
    try:
        VALUE.decode(text)
    except REFUSALS as error:
        raise Refused(str(error)) from None


def count_elements(text: Text) -> int:
    """Return the length of an array; `Refused` if the text is something else."""
    check_encoding(text)
    try:
        return len(ELEMENTS.decode(text))
    except REFUSALS as error:
        raise Refused(str(error)) from None


def members_of(text: Text) -> Mapping[str, memoryview]:
    """Return the source of each member of an object; the last one, if a key occurs twice."""
    check_encoding(text)
    try:
        return {key: memoryview(value) for key, value in MEMBERS.decode(text).items()}
    except REFUSALS as error:
        raise Refused(str(error)) from None


def members_of_piece(text: bytes) -> Sequence[memoryview]:
    """Return the value of each member of an object, also of those whose keys are equal."""
    check_encoding(text)
    try:
        short = msgspec.json.format(text, indent=-1)
        members = MEMBERS.decode(short)
    except REFUSALS as error:
        raise Refused(str(error)) from None
    values = [memoryview(value) for value in members.values()]
    # A member has quotes, a colon, and a comma or a brace, and there is one brace more.
    size = sum(map(len, values)) + len("".join(members).encode()) + 4 * len(members) + 1
    if size == len(short):
        return values
    # Equal keys or escapes in keys make the text longer.
    from tokcap.shapes.json_text import scanner

    return [memoryview(short)[start:end] for _, (start, end) in scanner.members(short, 0)]


def values_of(lines: bytes) -> Sequence[memoryview]:
    """Return the source of each value in some lines."""
    check_encoding(lines)
    try:
        return [memoryview(value) for value in VALUE.decode_lines(lines)]
    except REFUSALS as error:
        raise Refused(str(error)) from None


def check_encoding(text: Text) -> None:
    """Raise `Refused` unless the text is UTF-8."""
    if isinstance(text, bytes) and text.isascii():
        return
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for place in range(0, len(text), BLOCK_BYTES):
            decoder.decode(text[place : place + BLOCK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise Refused(str(error)) from None
