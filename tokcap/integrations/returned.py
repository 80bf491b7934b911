"""What a command returned in, the bytes that it would have printed out."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from typing import Any


def printed(value: object) -> bytes:
    """Text as it is, structures as JSON; nothing for all else, which was not meant to be read."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        text = value if value.endswith("\n") or not value else f"{value}\n"
    elif isinstance(value, dict | list | tuple) or is_record(value):
        text = as_json(value, ascii_only=False)
        if not is_utf8(text):
            # Half a character is none, but has an escape.
            text = as_json(value, ascii_only=True)
    else:
        return b""
    return text.encode("utf-8", "surrogatepass")


def as_json(value: object, *, ascii_only: bool) -> str:
    return json.dumps(value, default=plain, ensure_ascii=ascii_only, separators=(",", ":")) + "\n"


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_record(value: object) -> bool:
    """A dataclass, or a model of pydantic's or of something like it."""
    is_class = isinstance(value, type)
    return not is_class and (dataclasses.is_dataclass(value) or hasattr(value, "model_dump"))


def plain(value: Any) -> object:
    """Something that JSON does not know, as something that it does."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value.value if isinstance(value, Enum) else str(value)
