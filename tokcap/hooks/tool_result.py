"""Cap the longest text in the result of a tool. The result keeps its form, because agents check it."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.base import Cap


def capped_result(result: Any, cap: Cap) -> Any:
    """Return the result with its longest text capped; None if nothing changes."""
    place = longest(result)
    if place is None:
        return None
    before = at(result, place)
    is_list = isinstance(before, list)
    text = "\n".join(before) if is_list else before
    after = cap(text)
    if after.rstrip("\n") == text.rstrip("\n"):
        return None
    return with_value(result, place, after.splitlines() if is_list else after)


def longest(result: Any) -> tuple[Any, ...] | None:
    """Return the keys that lead to the longest text, or to the list with the most text."""
    best: tuple[int, tuple[Any, ...]] = (0, ())
    stack: list[tuple[tuple[Any, ...], Any]] = [((), result)]
    while stack:
        place, value = stack.pop()
        if isinstance(value, str):
            best = max(best, (len(value), place), key=lambda pair: pair[0])
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            best = max(best, (sum(map(len, value)), place), key=lambda pair: pair[0])
        elif isinstance(value, list):
            stack += [((*place, number), item) for number, item in enumerate(value)]
        elif isinstance(value, dict) and value.get("type") not in ("image", "base64"):
            stack += [((*place, key), item) for key, item in value.items()]
    return best[1] if best[0] else None


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
