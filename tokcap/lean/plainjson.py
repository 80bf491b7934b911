"""JSON for the start-up path: what we write on every run, and small documents that we read.

The standard library's modules and orjson do the same, and take from half as long to twice as long to load as
Python to start. The C functions of the standard library, which do the work there, need neither.
"""

from __future__ import annotations

from _json import encode_basestring, make_scanner
from _json import encode_basestring_ascii as ascii_quoted

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

BLANKS = " \t\r\n"


def quoted(text: str) -> bytes:
    """A text as a JSON string. It has no lone surrogates: UTF-8 has none."""
    return encode_basestring(text).encode()


def compact(value: object) -> bytes:
    """Nested dicts, lists, strings, numbers, booleans and None, without blanks; bytes are JSON already."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return b"{" + b",".join(quoted(key) + b":" + compact(member) for key, member in value.items()) + b"}"
    if isinstance(value, list | tuple):
        return b"[" + b",".join(map(compact, value)) + b"]"
    return dumps(value).encode()


def dumps(value: object, indent: str = "\n") -> str:
    """The same for people: one member to a line. Only ASCII, so that what is no text comes back as it was."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return ascii_quoted(value)
    deeper = indent + " "
    if isinstance(value, dict):
        members = [f"{ascii_quoted(str(key))}: {dumps(member, deeper)}" for key, member in value.items()]
        return "{" + deeper + f",{deeper}".join(members) + indent + "}" if members else "{}"
    assert isinstance(value, list | tuple), value
    elements = [dumps(element, deeper) for element in value]
    return "[" + deeper + f",{deeper}".join(elements) + indent + "]" if elements else "[]"


def loads(text: str, *, numbers: bool = True) -> Any:
    """The document that a text is; `ValueError` or `RecursionError` if it is none, or nested too deeply.

    Without `numbers` they stay texts: one may have more digits than Python converts.
    """
    begin = len(text) - len(text.lstrip(BLANKS))
    try:
        value, end = make_scanner(Settings(numbers))(text, begin)  # type: ignore[arg-type]  # stubs know one class
    except StopIteration as stopped:
        raise ValueError(f"no JSON at character {stopped.value}") from None
    except SystemError:
        # Python 3.11 wants to raise an error of `json.decoder`, and finds none where that is not loaded.
        raise ValueError("no JSON") from None
    if text[end:].strip(BLANKS):
        raise ValueError(f"no JSON at character {end}")
    return value


class Settings:
    """How the scanner of the standard library is told what it is to do."""

    strict = True
    object_hook = None
    object_pairs_hook = None

    def __init__(self, numbers: bool) -> None:
        self.parse_int = int if numbers else str
        self.parse_float = float if numbers else str

    @staticmethod
    def parse_constant(word: str) -> None:
        raise ValueError(f"{word} is no JSON")
