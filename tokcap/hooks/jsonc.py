"""Parse JSON with comments and trailing commas into a tree that knows the position of every value.

The rest of the package uses only `parse`, `skip_blanks` and `Node`.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

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
    node = Parser(text).value(skip_blanks(text, 0), 0)
    if skip_blanks(text, node.end) != len(text):
        raise ValueError("there is more text after the value")
    return node


def skip_blanks(text: str, at: int) -> int:
    """Return the offset after white space and comments."""
    while at < len(text):
        if text[at] in " \t\r\n":
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise ValueError("a comment does not end")
            at = end + 2
        else:
            break
    return at


class Parser:
    """Parse the values of one text."""

    def __init__(self, text: str) -> None:
        from json import decoder

        self.text = text
        self.decode = decoder.JSONDecoder().raw_decode

    def value(self, at: int, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise ValueError("values are nested too deeply")
        opening = self.text[at : at + 1]
        if opening == "{":
            return self.container(at, "}", depth)
        if opening == "[":
            return self.container(at, "]", depth)
        if not opening or opening not in '"-0123456789tfnNI':
            raise ValueError(f"no value at character {at}")
        value, end = self.decode(self.text, at)
        return Node(at, end, value=value)

    def container(self, start: int, closing: str, depth: int) -> Node:
        items: list[Node] = []
        members: list[tuple[str, int, Node]] = []
        at = skip_blanks(self.text, start + 1)
        while not self.text.startswith(closing, at):
            if closing == "}":
                key = self.value(at, depth + 1)
                colon = skip_blanks(self.text, key.end)
                if not isinstance(key.value, str) or not self.text.startswith(":", colon):
                    raise ValueError(f"no key at character {at}")
                node = self.value(skip_blanks(self.text, colon + 1), depth + 1)
                members.append((key.value, at, node))
            else:
                node = self.value(at, depth + 1)
                items.append(node)
            at = skip_blanks(self.text, node.end)
            if self.text.startswith(",", at):
                at = skip_blanks(self.text, at + 1)
            elif not self.text.startswith(closing, at):
                raise ValueError(f"neither a comma nor {closing} at character {at}")
        if closing == "}":
            return Node(start, at + 1, members=tuple(members))
        return Node(start, at + 1, items=tuple(items))
