"""JSON with comments and trailing commas -> a tree that knows where everything stands in the text.

Settings files are edited by inserting and deleting text at those places, so that comments, order and
formatting survive.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

DEEPEST = 200


class Node(Record):
    """One value: from `start` up to `end` in the text."""

    start: int
    end: int
    # Of arrays and objects: what is inside, in order. Of all others: the value itself.
    items: tuple[Node, ...] | None = None
    members: tuple[tuple[str, int, Node], ...] | None = None
    value: object = None

    def member(self, key: str) -> Node | None:
        """The value of a key; `ValueError` if it stands there twice: it is unclear which one counts."""
        found = [node for name, _, node in self.members or () if name == key]
        if len(found) > 1:
            raise ValueError(f"the key {key!r} stands there twice")
        return found[0] if found else None

    def plain(self) -> Any:
        """The value as Python has it."""
        if self.members is not None:
            return {key: node.plain() for key, _, node in self.members}
        if self.items is not None:
            return [node.plain() for node in self.items]
        return self.value

    def spans(self) -> list[tuple[int, int]]:
        """Where its elements stand, keys included."""
        if self.members is not None:
            return [(start, node.end) for _, start, node in self.members]
        return [(node.start, node.end) for node in self.items or ()]


def parse(text: str) -> Node:
    """The one value in a text; `ValueError` if it is none."""
    reader = Reader(text)
    node = reader.value(reader.skip(0), 0)
    if reader.skip(node.end) != len(text):
        raise ValueError("something follows the value")
    return node


class Reader:
    """Reads one text. Positions are handed on, nothing is remembered."""

    def __init__(self, text: str) -> None:
        from json import decoder

        self.text = text
        self.decode = decoder.JSONDecoder().raw_decode

    def skip(self, at: int) -> int:
        """Past blanks and comments."""
        text = self.text
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

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise ValueError("it is nested too deep")
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
        at = self.skip(start + 1)
        while not self.text.startswith(closing, at):
            if closing == "}":
                key = self.value(at, depth + 1)
                colon = self.skip(key.end)
                if not isinstance(key.value, str) or not self.text.startswith(":", colon):
                    raise ValueError(f"no key at character {at}")
                node = self.value(self.skip(colon + 1), depth + 1)
                members.append((key.value, at, node))
            else:
                node = self.value(at, depth + 1)
                items.append(node)
            at = self.skip(node.end)
            if self.text.startswith(",", at):
                at = self.skip(at + 1)
            elif not self.text.startswith(closing, at):
                raise ValueError(f"neither a comma nor {closing} at character {at}")
        if closing == "}":
            return Node(start, at + 1, members=tuple(members))
        return Node(start, at + 1, items=tuple(items))


def with_element(text: str, container: Node, key: str | None, value: object) -> str:
    """The text with one more element at the end of an array or object, in the style of the text."""
    import json

    newline = "\r\n" if "\r\n" in text else "\n"
    on_lines = "\n" in text.strip()
    base = indentation(text, container.start)
    spans = container.spans()
    inner = indentation(text, spans[0][0]) if spans and starts_line(text, spans[0][0]) else base + unit(text)
    prefix = "" if key is None else json.dumps(key) + ": "
    shown = json.dumps(value, ensure_ascii=False, indent=unit(text) if on_lines else None)
    shown = prefix + shown.replace("\n", newline + inner)

    closing = container.end - 1
    last = len(text[:closing].rstrip())
    comma = spans[-1][1] if spans and not followed_by_comma(text, spans[-1][1]) else None
    # A comment to the end of the line must not swallow what is inserted behind it.
    if on_lines or in_line_comment(text, spans[-1][1] if spans else container.start + 1, last):
        after = "" if "\n" in text[last:closing] else newline + base
        addition = newline + inner + shown + after
    else:
        addition = (" " if spans else "") + shown
    result = text[:last] + addition + text[last:]
    return result if comma is None else result[:comma] + "," + result[comma:]


def without_element(text: str, container: Node, place: int) -> str:
    """The text without one element of an array or object, and without the comma that goes with it."""
    spans = container.spans()
    start, end = spans[place]
    reader = Reader(text)
    after = reader.skip(end)
    if text.startswith(",", after):
        text = text[:after] + text[after + 1 :]
    elif place:
        before = reader.skip(spans[place - 1][1])
        text = text[:before] + text[before + 1 :]
        start, end = start - 1, end - 1
    line, rest = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    if line and rest >= 0 and not text[line:start].strip() and not text[end:rest].strip():
        return text[:line] + text[rest + 1 :]
    return text[:start].rstrip(" ") + text[end:]


def unit(text: str) -> str:
    """What one step of indentation is here."""
    for line in text.splitlines():
        blank = line[: len(line) - len(line.lstrip(" \t"))]
        if blank and line.strip() and not line.strip().startswith(("//", "/*", "*")):
            return blank
    return "  "


def indentation(text: str, at: int) -> str:
    """The blanks with which the line of that place begins."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def followed_by_comma(text: str, at: int) -> bool:
    return text.startswith(",", Reader(text).skip(at))


def in_line_comment(text: str, start: int, end: int) -> bool:
    """Whether a comment that ends with the line stands at the end of that blank part of the text."""
    return Reader(text[:end]).skip(start) == end and "//" in text[start:end]
