"""JSON-RPC 2.0 messages: read a line, and make the line of an answer. Nothing here knows a method."""

from __future__ import annotations

import json

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Message: TypeAlias = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

# Enough for the id and the method of any real request.
LONGEST_HEAD_TOKENS = 10_000


class BadMessage(Exception):
    """A message that cannot be answered as it asks. `number` is its id, if that is known."""

    def __init__(self, code: int, message: str, number: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.number = number


def read_line(line: bytes) -> Any:
    """Return the value of a line; `BadMessage` if it is not JSON, or not JSON that Python can hold."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        head = head_of(line)
        if head is None:
            raise BadMessage(PARSE_ERROR, "the line is not JSON") from None
        problem = "the message is nested too deeply, or has a number with too many digits"
        raise BadMessage(INVALID_REQUEST, problem, head.get("id")) from None


def head_of(line: bytes) -> Message | None:
    """Return id and method of a message, read by a scanner that has no limit of depth."""
    from tokcap.api.calls import cap
    from tokcap.errors import TokcapError

    try:
        found = cap(line, LONGEST_HEAD_TOKENS, shape="json", fields="id,method", sentinel="")
        head = json.loads(found.text)
    except (ValueError, RecursionError, TokcapError):
        return None
    return head if isinstance(head, dict) and head else None


def line_of(message: Message | list[Message]) -> bytes:
    """Return a message as a line, without the line end."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be sent.
    return text.encode("utf-8", "replace")


def result_message(number: Any, result: Message | None) -> Message:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def error_message(number: Any, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}


def notification(method: str, params: Message) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def is_identifier(number: Any) -> bool:
    """Return whether an answer can name a request by this."""
    if isinstance(number, str):
        return not has_half_pair(number)
    return isinstance(number, int | float) and not isinstance(number, bool)


def key_of(number: Any) -> str:
    """Return an id as a key of a dict. 1 and "1" differ, 1 and 1.0 do not, and every type is possible."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return json.dumps(number, sort_keys=True)


def problem_in(message: Message) -> str:
    """Return which part of a message is not text; empty if all of it is.

    Half of a surrogate pair is such a part: it can be written in JSON, as `"\\ud800"`, but is not text.
    """
    waiting: list[tuple[str, Any]] = [("", message)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and has_half_pair(value):
            return f"{place}: half of a surrogate pair is not text"
        if isinstance(value, dict):
            if any(map(has_half_pair, value)):
                return f"{place or 'the request'}: a name with half of a surrogate pair is not text"
            waiting += [(f"{place}.{key}".lstrip("."), part) for key, part in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}.{number}", part) for number, part in enumerate(value)]
    return ""


def has_half_pair(text: str) -> bool:
    # Most text has none, and encoding is fast.
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
