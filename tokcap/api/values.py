"""Values that tools and commands return: their JSON, and a part of it."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any


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


def strings_in(value: Any, most_parts: int = sys.maxsize) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Yield the strings in this many parts of a JSON value, and the keys and positions that lead to them."""
    parts: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    while parts and most_parts:
        most_parts -= 1
        path, part = parts.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, dict | list):
            members = part.items() if isinstance(part, dict) else enumerate(part)
            parts += (((*path, place), each) for place, each in members)


def with_part(value: Any, path: Sequence[Any], part: object) -> Any:
    """Return a JSON value with another value at a path."""
    if not path:
        return part
    first, *rest = path
    if isinstance(value, dict):
        return {**value, first: with_part(value[first], rest, part)}
    return [*value[:first], with_part(value[first], rest, part), *value[first + 1 :]]
