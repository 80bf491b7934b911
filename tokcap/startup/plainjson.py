"""Read and write small JSON documents without importing `json`.

Importing `json` or orjson takes half to twice as long as starting Python. The C functions that `json` uses
can be imported without it.
"""

from __future__ import annotations

from tokcap.startup.accelerators import json
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

BLANKS = " \t\r\n"
# What changes a screen or the order of a line, and what some programs take for the end of a line.
UNSAFE = (*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
ESCAPES = {code: f"\\u{code:04x}" for code in UNSAFE}


def quoted(text: str) -> bytes:
    """Return a text as a JSON string. It must not have lone surrogates."""
    return json.encode_basestring(text).encode()


def compact(value: object) -> bytes:
    """Return a value as JSON without blanks, safe to print. Bytes in it are JSON already and are copied."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return json.encode_basestring(value).translate(ESCAPES).encode()
    if isinstance(value, dict):
        return b"{" + b",".join(quoted(key) + b":" + compact(member) for key, member in value.items()) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(compact, value)) + b"]"
    return dumps(value).encode()


def dumps(value: object, indent: str = "\n") -> str:
    """Return a value as indented JSON in ASCII, which preserves lone surrogates."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.encode_basestring_ascii(value)
    deeper = indent + " "
    if isinstance(value, dict):
        members = [f"{dumps(str(key))}: {dumps(member, deeper)}" for key, member in value.items()]
        return "{" + deeper + f",{deeper}".join(members) + indent + "}" if members else "{}"
    assert isinstance(value, list | tuple), value
    elements = [dumps(element, deeper) for element in value]
    return "[" + deeper + f",{deeper}".join(elements) + indent + "]" if elements else "[]"


def loads(text: str, *, numbers: bool = True) -> Any:
    """Parse a document; `ValueError` if it is not JSON, `RecursionError` if it is nested too deeply.

    With `numbers=False` numbers stay text: one may have more digits than Python converts.
    """
    begin = len(text) - len(text.lstrip(BLANKS))
    try:
        value, end = json.make_scanner(ScannerSettings(numbers))(text, begin)  # type: ignore[arg-type]  # stubs know one class
    except StopIteration as stopped:
        raise ValueError(f"not JSON at character {stopped.value}") from None
    except SystemError:
        # Python 3.11 tries to raise an error of `json.decoder`, which is not loaded.
        raise ValueError("not JSON") from None
    if text[end:].strip(BLANKS):
        raise ValueError(f"not JSON at character {end}")
    return value


class ScannerSettings:
    """The attributes that the C scanner reads from its argument."""

    strict = True
    object_hook = None
    object_pairs_hook = None

    def __init__(self, numbers: bool) -> None:
        self.parse_int = int if numbers else str
        self.parse_float = float if numbers else str

    @staticmethod
    def parse_constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")
