"""Add or remove one element of an array or object in the text of a JSON file.

Text is inserted and deleted at the positions that `jsonc` found, so comments, order and formatting survive.
"""

from __future__ import annotations

from tokcap.hooks.jsonc import skip_blanks
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.hooks.jsonc import Node


def with_element(text: str, container: Node, key: str | None, value: object) -> str:
    """Return the text with one more element at the end of a container, formatted as the text is."""
    import json

    newline = "\r\n" if "\r\n" in text else "\n"
    on_lines = "\n" in text.strip()
    base = indentation(text, container.start)
    spans = container.spans()
    step = indentation_step(text)
    inner = indentation(text, spans[0][0]) if spans and starts_line(text, spans[0][0]) else base + step
    prefix = "" if key is None else json.dumps(key) + ": "
    shown = json.dumps(value, ensure_ascii=False, indent=step if on_lines else None)
    shown = prefix + shown.replace("\n", newline + inner)

    closing = container.end - 1
    last = len(text[:closing].rstrip())
    comma = spans[-1][1] if spans and not followed_by_comma(text, spans[-1][1]) else None
    # Text inserted after a `//` comment must begin on a new line.
    if on_lines or ends_in_line_comment(text, spans[-1][1] if spans else container.start + 1, last):
        after = "" if "\n" in text[last:closing] else newline + base
        addition = newline + inner + shown + after
    else:
        addition = (" " if spans else "") + shown
    result = text[:last] + addition + text[last:]
    return result if comma is None else result[:comma] + "," + result[comma:]


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


def starts_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def followed_by_comma(text: str, at: int) -> bool:
    return text.startswith(",", skip_blanks(text, at))


def ends_in_line_comment(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]` is white space and comments, with a `//` comment among them."""
    return skip_blanks(text[:end], start) == end and "//" in text[start:end]
