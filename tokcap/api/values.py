"""Values that tools and commands return: their JSON, and a part of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

# Among more parts than this no string is looked for.
MOST_PARTS = 500


def is_structure(value: object) -> bool:
    """Return whether a value is written as a JSON object or array."""
    return isinstance(value, list | tuple | set | frozenset | Mapping) or is_typed(value)


def is_typed(value: object) -> bool:
    """Return whether a value is a dataclass or a model, whose members have types."""
    is_record = dataclasses.is_dataclass(value) or hasattr(value, "model_dump")
    return is_record and not isinstance(value, type)


def as_json(value: object) -> bytes:
    """Return a value as compact JSON; raise `TypeError` or `ValueError` if it has none."""
    import orjson

    try:
        # A number that JSON does not have, such as NaN, becomes null.
        options = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
        return orjson.dumps(value, default=to_json_type, option=options)
    except TypeError:
        # A large integer, or really no JSON.
        pass
    try:
        return dumped(value, ascii_only=False).encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, but it has a JSON escape.
        return dumped(value, ascii_only=True).encode()


def dumped(value: object, *, ascii_only: bool) -> str:
    return json.dumps(value, default=to_json_type, ensure_ascii=ascii_only, separators=(",", ":"))


def to_json_type(value: Any) -> object:
    """Convert a value that a JSON encoder does not support."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value.value if isinstance(value, Enum) else str(value)


def longest_text(value: Any) -> tuple[tuple[Any, ...], str]:
    """Return the longest string in a JSON value of few parts, and the keys and positions that lead to it."""
    found: tuple[tuple[Any, ...], str] = ((), "")
    parts: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    for _ in range(MOST_PARTS):
        if not parts:
            break
        path, part = parts.pop()
        if isinstance(part, str) and len(part) > len(found[1]):
            found = path, part
        elif isinstance(part, dict):
            parts += (((*path, key), each) for key, each in part.items())
        elif isinstance(part, list):
            parts += (((*path, place), each) for place, each in enumerate(part))
    return found


def with_part(value: Any, path: Sequence[Any], part: object) -> Any:
    """Return a JSON value with another value at a path."""
    if not path:
        return part
    first, *rest = path
    if isinstance(value, dict):
        return {**value, first: with_part(value[first], rest, part)}
    return [*value[:first], with_part(value[first], rest, part), *value[first + 1 :]]
