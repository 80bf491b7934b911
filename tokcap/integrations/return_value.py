"""Turn the return value of a command into the bytes that are shown, if the command printed nothing."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from typing import Any


def printed(value: object) -> bytes:
    """Return text as it is and structures as JSON. Other values, such as numbers, are not output."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        text = value if value.endswith("\n") or not value else f"{value}\n"
    elif isinstance(value, dict | list | tuple) or is_record(value):
        text = as_json(value, ascii_only=False)
        if not is_utf8(text):
            # A lone surrogate has no UTF-8 form, but it has a JSON escape.
            text = as_json(value, ascii_only=True)
    else:
        return b""
    return text.encode("utf-8", "surrogatepass")


def as_json(value: object, *, ascii_only: bool) -> str:
    return json.dumps(value, default=to_json_type, ensure_ascii=ascii_only, separators=(",", ":")) + "\n"


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_record(value: object) -> bool:
    """Return whether a value is an instance of a dataclass or of a Pydantic-like model."""
    is_class = isinstance(value, type)
    return not is_class and (dataclasses.is_dataclass(value) or hasattr(value, "model_dump"))


def to_json_type(value: Any) -> object:
    """Convert a value that the JSON encoder does not support."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value.value if isinstance(value, Enum) else str(value)
