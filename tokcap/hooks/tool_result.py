"""Cap the longest text in the result of a tool. The result keeps its form, because agents check it.

The text blocks of an MCP result count as one text.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.base import Cap, Installation


def is_named(tool: str, wanted: Installation) -> bool:
    """Return whether the results of a tool are to be capped."""
    from re import fullmatch

    return any(fullmatch(name, tool) for name in wanted.option("--tools").split(",") if name)


def whole_text(text: str, path: str) -> str:
    """Return what an agent has saved in a file because it was too long, or else the text."""
    if not path:
        return text
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return text


def capped_text(event: dict[str, Any], cap: Cap) -> dict[str, Any] | None:
    """Return the answer to an event of a plug-in in JavaScript, or None if the text stays as it is."""
    text = str(event.get("text") or "")
    capped = cap(whole_text(text, str(event.get("file") or ""))).rstrip("\n")
    return None if capped == text.rstrip("\n") else {"text": capped}


def capped_result(result: Any, cap: Cap) -> Any:
    """Return the result with its longest text capped, and without large media; None if nothing changes."""
    smaller = [described(item, cap) for item in result] if isinstance(result, list) else result
    place = longest(smaller)
    if place is not None:
        before = at(smaller, place)
        text = text_of(before)
        after = cap(text)
        if after.rstrip("\n") != text.rstrip("\n"):
            return with_value(smaller, place, in_form_of(before, after))
    return None if smaller == result else smaller


def described(item: Any, cap: Cap) -> Any:
    """Return a block of an MCP result, or a text about the image or audio in it that is too large."""
    given = item.get("source", item) if isinstance(item, dict) else None
    if not isinstance(given, dict) or not isinstance(data := given.get("data"), str):
        return item
    kind = given.get("mimeType") or given.get("media_type") or f"{item.get('type')}/*"
    line = cap(data, media=str(kind))
    return {"type": "text", "text": line} if line else item


def text_of(value: Any) -> str:
    """Return the text of a string, of a list of strings or of the blocks of an MCP result."""
    if isinstance(value, str):
        return value
    parts = [item["text"] if isinstance(item, dict) else item for item in value if is_text(item)]
    return "\n".join(parts)


def in_form_of(before: Any, text: str) -> Any:
    """Return a text in the form that another one had."""
    if isinstance(before, str):
        return text
    if all(isinstance(item, str) for item in before):
        return text.splitlines()
    first = next(item for item in before if is_text(item))
    return [{**first, "text": text}, *(item for item in before if not is_text(item))]


def is_text(item: Any) -> bool:
    """Return whether an item of a list is a text, or a block with one."""
    if isinstance(item, dict):
        return item.get("type") == "text" and isinstance(item.get("text"), str)
    return isinstance(item, str)


def longest(result: Any) -> tuple[Any, ...] | None:
    """Return the keys that lead to the longest text, or to the list with the most text."""
    best: tuple[int, tuple[Any, ...]] = (0, ())
    stack: list[tuple[tuple[Any, ...], Any]] = [((), result)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, str):
            best = max(best, (len(value), place), key=lambda pair: pair[0])
        elif isinstance(value, list) and is_one_text(value):
            best = max(best, (len(text_of(value)), place), key=lambda pair: pair[0])
        elif isinstance(value, list):
            stack += [((*place, number), item) for number, item in enumerate(value)]
        elif isinstance(value, dict) and value.get("type") not in ("image", "base64"):
            stack += [((*place, key), item) for key, item in value.items()]
    return best[1] if best[0] else None


def is_one_text(items: list[Any]) -> bool:
    """Return whether a list has lines, or the blocks of an MCP result with some text."""
    if items and all(isinstance(item, str) for item in items):
        return True
    blocks = all(isinstance(item, dict) and "type" in item for item in items)
    return blocks and any(is_text(item) for item in items)


def at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def with_value(whole: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value at a place."""
    if not place:
        return value
    key, *rest = place
    copy = list(whole) if isinstance(whole, list) else dict(whole)
    copy[key] = with_value(whole[key], tuple(rest), value)
    return copy
