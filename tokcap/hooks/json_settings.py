"""Additions to settings in JSON with comments and trailing commas.

The text is read into a tree with the position of every value, and changed at these positions. So comments,
order and formatting survive. The grammar is that of `shapes.json_scanner`: comments and the comma after the
last child of a container are blanks to it.
"""

from __future__ import annotations

import json
import os
import re

from tokcap.shapes import json_scanner as scanner
from tokcap.shapes.json_grammar import validated_value
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

MAX_DEPTH = 200
STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
# A string, or a comment in group 1; a string, or a comma after a last child in group 1.
COMMENT = re.compile(STRING + rb"|(//[^\n]*|/\*.*?\*/)", re.DOTALL)
LAST_COMMA = re.compile(STRING + rb"|(,)(?=\s*[\]}])", re.DOTALL)


class Node(Record):
    """One value, at `text[start:end]`. Positions are those of characters."""

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


class JsonAddition(Record):
    """An element in the object or list below some keys. Missing containers are made."""

    # The command, or the path.
    value: str = ""

    def place(self) -> tuple[tuple[str, ...], str | None]:
        """Return the keys of the container, and the key in it; None if it is a list."""
        raise NotImplementedError

    def element(self) -> object:
        """Return what is added to the container."""
        raise NotImplementedError

    def chain(self, root: Node) -> list[tuple[Node, int]]:
        """Return the containers around our value, from the root on, each with the position in it."""
        raise NotImplementedError

    def value_at(self, node: Node) -> str:
        """Return our value in the innermost element of the chain."""
        raise NotImplementedError

    def find(self, text: str) -> str | None:
        chain = self.chain(parse_root(text))
        return self.value_at(inner(*chain[-1])) if chain else None

    def added(self, text: str) -> str:
        keys, last = self.place()
        element = self.element()
        if last is not None:
            keys = (*keys, last)
        elif not text.strip():
            element = [element]
        if not text.strip():
            return json.dumps(nested(keys, element), indent=2, ensure_ascii=False) + "\n"
        node = parse_root(text)
        for number, key in enumerate(keys):
            found = node.member(key)
            if found is None:
                rest = [element] if last is None else element
                return with_element(text, node, key, nested(keys[number + 1 :], rest))
            is_last = number == len(keys) - 1
            if is_last and last is not None:
                shown = str(found.plain())[:80]
                raise ValueError(f"{'.'.join(keys)} is {shown!r} already; remove it first")
            node = container(found, key, is_list=is_last)
        return with_element(text, node, None, element)

    def cut(self, text: str) -> str:
        """Return the text without our element, and without the containers that it leaves empty."""
        chain = self.chain(parse_root(text))
        while len(chain) > 1 and len(chain[-1][0].spans()) == 1:
            chain.pop()
        return without_element(text, *chain[-1])


class JsonValue(JsonAddition):
    """The path of a file of ours, under a key at the top, or in an object of the top.

    A value is ours if it is in the directory of that file. Another one belongs to the user.
    """

    keys: tuple[str, ...] = ()

    def place(self) -> tuple[tuple[str, ...], str]:
        return self.keys[:-1], self.keys[-1]

    def element(self) -> str:
        return self.value

    def chain(self, root: Node) -> list[tuple[Node, int]]:
        chain: list[tuple[Node, int]] = []
        node = root
        for key in self.keys:
            found = node.member(key)
            if found is None:
                return []
            chain.append((node, node.keys().index(key)))
            node = found
        is_ours = isinstance(node.value, str) and os.path.dirname(node.value) == os.path.dirname(self.value)
        return chain if is_ours else []

    def value_at(self, node: Node) -> str:
        return str(node.value)


class HookEntry(JsonAddition):
    """A command for an event: `{"hooks": {EVENT: [{"matcher", "hooks": [{"command"}]}]}}`."""

    agent: str = ""
    # The key below "hooks", and the tools that the command is for.
    event: str = ""
    matcher: str = ""
    # In the agent's own unit.
    timeout: int = 0

    def place(self) -> tuple[tuple[str, ...], None]:
        return ("hooks", self.event), None

    def element(self) -> dict[str, Any]:
        hook = {"type": "command", "command": self.value, "timeout": self.timeout}
        return {"matcher": self.matcher, "hooks": [hook]}

    def chain(self, root: Node) -> list[tuple[Node, int]]:
        hooks = root.member("hooks")
        groups = container(hooks, "hooks", is_list=False).member(self.event) if hooks else None
        if hooks is None or groups is None:
            return []
        for number, group in enumerate(container(groups, self.event, is_list=True).items or ()):
            listed = group.member("hooks")
            if listed is None:
                continue
            for position, hook in enumerate(container(listed, "hooks", is_list=True).items or ()):
                if is_own_command(self.value_at(hook), self.agent):
                    around = [(root, root.keys().index("hooks")), (hooks, hooks.keys().index(self.event))]
                    return [*around, (groups, number), (listed, position)]
        return []

    def value_at(self, node: Node) -> str:
        command = node.member("command")
        return str(command.value) if command else ""


def is_own_command(command: object, agent: str) -> bool:
    """Return whether a command is `tokcap hook run AGENT`, with any path and options."""
    program, _, rest = str(command).partition(" hook run ")
    return program.strip("'\"").endswith("tokcap") and rest.split()[:1] == [agent]


def inner(node: Node, position: int) -> Node:
    """Return an element of a container."""
    return (node.items or [member for _, _, member in node.members or ()])[position]


def container(node: Node, key: str, *, is_list: bool) -> Node:
    """Return a node if it is a container of this kind."""
    if (node.items if is_list else node.members) is None:
        raise ValueError(f"{key} is not {'a list' if is_list else 'an object'}")
    return node


def nested(keys: tuple[str, ...], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def parse_root(text: str) -> Node:
    """Parse a settings file, which must contain an object."""
    try:
        root = parse(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if root.members is None:
        raise ValueError("not a JSON object")
    return root


def parse(text: str) -> Node:
    """Return the value in a text; `ValueError` if the text is not one value."""
    data = LAST_COMMA.sub(without_last_comma, without_comments(text))
    try:
        start, end = validated_value(data, 0)
    except scanner.NotJson as error:
        raise ValueError(f"the error is at character {error.place}") from None
    if skip_blanks(text, end) != len(text):
        raise ValueError("there is more text after the value")
    return node_at(text, data, start, end, 0)


def skip_blanks(text: str, at: int) -> int:
    """Return the offset after white space and comments."""
    return scanner.skip_blanks(without_comments(text), at)


def without_comments(text: str) -> bytes:
    """Return a text of the same length in ASCII with blanks for comments.

    JSON has other characters only in strings.
    """
    return COMMENT.sub(
        lambda found: b" " * len(found[0]) if found[1] else found[0], text.encode("ascii", "replace")
    )


def without_last_comma(found: re.Match[bytes]) -> bytes:
    """Return a blank for the comma after a last child; nothing else that `LAST_COMMA` matches is changed."""
    before = found.string[: found.start()].rstrip()[-1:]
    return b" " if found[1] and before not in b"[{,:" else found[0]


def node_at(text: str, data: bytes, start: int, end: int, depth: int) -> Node:
    """Return the tree of a valid value; `data` is the text as `parse` reads it."""
    if depth > MAX_DEPTH:
        raise ValueError("values are nested too deeply")
    opening = data[start : start + 1]
    if opening == b"{":
        members = [
            (loads(text[slice(*key)]), key[0], node_at(text, data, *value, depth + 1))
            for key, value in scanner.members(data, start)
        ]
        return Node(start, end, members=tuple(members))
    if opening == b"[":
        spans = scanner.elements(data, start)
        return Node(start, end, items=tuple(node_at(text, data, *span, depth + 1) for span in spans))
    return Node(start, end, value=loads(text[start:end]))


def with_element(text: str, container: Node, key: str | None, value: object) -> str:
    """Return the text with one more element at the beginning of a container, formatted as the text is."""
    newline = "\r\n" if "\r\n" in text else "\n"
    on_lines = "\n" in text.strip()
    base, step = indentation(text, container.start), indentation_step(text)
    shown = json.dumps(value, ensure_ascii=False, indent=step if on_lines else None)
    shown = ("" if key is None else json.dumps(key) + ": ") + shown.replace("\n", newline + base + step)
    before, rest = text[: container.start + 1], text[container.start + 1 :]
    is_empty = not container.spans()
    if on_lines:
        before += newline + base + step
        shown += "" if is_empty else ","
        if not rest.lstrip(" \t").startswith(("\n", "\r\n")):
            shown += newline + base + ("" if is_empty else step)
    elif not is_empty:
        shown += ", "
    return before + shown + rest


def without_element(text: str, container: Node, position: int) -> str:
    """Return the text without one element of a container and without its comma."""
    spans = container.spans()
    start, end = spans[position]
    after = skip_blanks(text, end)
    if text.startswith(",", after):
        text = text[:after] + text[after + 1 :]
    elif position:
        before = skip_blanks(text, spans[position - 1][1])
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    line, rest = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if line and rest >= 0 and not text[line:start].strip() and not text[end:rest].strip():
        return text[:line] + text[rest + 1 :]
    return text[:start].rstrip(" ") + text[end:]


def indentation_step(text: str) -> str:
    """Return the white space of one indentation level."""
    for line in text.splitlines():
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip() and not line.strip().startswith(("//", "/*", "*")):
            return blank
    return "  "


def indentation(text: str, at: int) -> str:
    """Return the white space at the beginning of the line that contains this offset."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
