"""Values that tools and commands return: their JSON, and the same value with less in it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import islice
from typing import Any

# A part of a structure keeps this many members of each object for its first element, and this many characters
# of each string for every element of a list.
LEAST_MEMBERS, CHARACTERS_PER_ELEMENT = 32, 16
# A shorter string may be a name that a schema lists, and gets no mark.
LEAST_MARKED_CHARACTERS = 12
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


def names_of(value: Any) -> list[str]:
    """Return the names of the members of a dataclass or a model."""
    if hasattr(value, "model_copy"):
        return [*type(value).model_fields]
    return [field.name for field in dataclasses.fields(value) if field.init]


def with_members(value: Any, changes: dict[str, Any]) -> Any:
    """Return a dataclass or a model with other members."""
    if hasattr(value, "model_copy"):
        return value.model_copy(update=changes)
    return dataclasses.replace(value, **changes)


def longest_text(value: Any) -> tuple[tuple[Any, ...], str]:
    """Return the longest string in a structure of few parts, and the keys and positions that lead to it."""
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
        elif is_typed(part):
            parts += (((*path, name), getattr(part, name)) for name in names_of(part))
    return found


def with_part(value: Any, path: Sequence[Any], part: object) -> Any:
    """Return a structure with another value at a path."""
    if not path:
        return part
    first, *rest = path
    if isinstance(value, dict):
        return {**value, first: with_part(value[first], rest, part)}
    if isinstance(value, list):
        return [*value[:first], with_part(value[first], rest, part), *value[first + 1 :]]
    return with_members(value, {first: with_part(getattr(value, first), rest, part)})


class Shortened:
    """A value with at most `most` elements in each list, shorter strings, and a mark in one of them.

    Every object keeps its members, and every member its type, so the value still has its schema.
    """

    def __init__(self, value: object, most: int, mark: str, sentinel: str) -> None:
        """If the value has no string for the mark, `is_marked` is False."""
        self._most, self._most_characters = most, most * CHARACTERS_PER_ELEMENT
        # The first string that is cut gets the mark, later ones get the sentinel.
        self._mark, self._sentinel = mark, sentinel
        self._longest = 0
        # The length of a string that gets the mark though it is whole.
        self._marked_length: int | None = None
        self.value = self._part(value)
        if self._mark == mark and self._longest >= LEAST_MARKED_CHARACTERS:
            self._marked_length = self._longest
            self.value = self._part(self.value)
        self.is_marked = self._mark != mark

    def _part(self, value: Any) -> Any:
        if isinstance(value, str) and not isinstance(value, Enum):
            return self._text(value)
        if type(value) in (list, tuple):
            return type(value)(self._part(element) for element in value[: self._most])
        if isinstance(value, dict):
            members = islice(value.items(), max(self._most, LEAST_MEMBERS))
            return {name: self._part(member) for name, member in members}
        if not is_typed(value):
            return value
        return with_members(value, {name: self._part(getattr(value, name)) for name in names_of(value)})

    def _text(self, text: str) -> str:
        self._longest = max(self._longest, len(text))
        is_cut = len(text) > self._most_characters and self._marked_length is None
        if not is_cut and len(text) != self._marked_length:
            return text
        mark, self._mark = self._mark, self._sentinel
        if self._marked_length is not None:
            self._marked_length = -1
        return f"{text[: self._most_characters]} {mark}"
