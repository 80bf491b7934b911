"""Read a settings file, JSON with comments and trailing commas, into a tree with the position of every value.

Positions are those of characters. The grammar is the tolerant mode of `shapes.json_text`; nothing is scanned
here.
"""

from __future__ import annotations

from tokcap.lean.plainjson import loads
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes.json_text import scanner
from tokcap.shapes.json_text.grammar import validated_value

if TYPE_CHECKING:
    from typing import Any

MAX_DEPTH = 200


class Node(Record):
    """One value, at `text[start:end]`."""

    start: int
    end: int
    # The elements of an array.
    items: tuple[Node, ...] | None = None
    # The members of an object: the key, where the key starts, and the value.
    members: tuple[tuple[str, int, Node], ...] | None = None
    # Any other value.
    value: object = None

    def member(self, key: str) -> Node | None:
        """Return the value of a key; `ValueError` if the key occurs twice."""
        found = [node for name, _, node in self.members or () if name == key]
        if len(found) > 1:
            raise ValueError(f"the key {key!r} occurs twice")
        return found[0] if found else None

    def keys(self) -> list[str]:
        """Return the keys of an object, in order."""
        return [key for key, _, _ in self.members or ()]

    def plain(self) -> Any:
        """Return the value as Python objects."""
        if self.members is not None:
            return {key: node.plain() for key, _, node in self.members}
        if self.items is not None:
            return [node.plain() for node in self.items]
        return self.value

    def spans(self) -> list[tuple[int, int]]:
        """Return the start and end of each element; members start at their keys."""
        if self.members is not None:
            return [(start, node.end) for _, start, node in self.members]
        return [(node.start, node.end) for node in self.items or ()]


def parse(text: str) -> Node:
    """Return the value in a text; `ValueError` if the text is not one value."""
    data = as_ascii(text)
    try:
        start, end = validated_value(data, 0, tolerant=True)
    except scanner.NotJson as error:
        raise ValueError(f"the error is at character {error.place}") from None
    if skip_blanks(text, end) != len(text):
        raise ValueError("there is more text after the value")
    return node_at(text, data, start, end, 0)


def skip_blanks(text: str, at: int) -> int:
    """Return the offset after white space and comments."""
    return scanner.skip_blanks(as_ascii(text), at, tolerant=True)


def as_ascii(text: str) -> bytes:
    """Return a text of the same length that the scanner reads: JSON has other characters only in strings."""
    return text.encode("ascii", "replace")


def node_at(text: str, data: bytes, start: int, end: int, depth: int) -> Node:
    """Return the tree of a valid value; `data` is the text in ASCII."""
    if depth > MAX_DEPTH:
        raise ValueError("values are nested too deeply")
    opening = data[start : start + 1]
    if opening == b"{":
        members = [
            (loads(text[slice(*key)]), key[0], node_at(text, data, *value, depth + 1))
            for key, value in scanner.members(data, start, tolerant=True)
        ]
        return Node(start, end, members=tuple(members))
    if opening == b"[":
        spans = scanner.elements(data, start, tolerant=True)
        return Node(start, end, items=tuple(node_at(text, data, *span, depth + 1) for span in spans))
    return Node(start, end, value=loads(text[start:end]))
