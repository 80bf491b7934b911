"""Answer lines that are not valid messages. The package drops them, and their sender would wait forever.

A line with half of a surrogate pair is one of them: `"\\ud800"` can be written in JSON, but is not text.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCResponse
from pydantic import ValidationError

from tokcap.api.calls import cap
from tokcap.errors import TokcapError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context
    from typing import Self

    from mcp.types import CallToolResult

CALL = "tools/call"
# Enough for the id and the method of any real request.
LONGEST_HEAD_TOKENS = 10_000


class AnsweredLines:
    """The incoming messages, as the package reads them. Lines that are no messages are answered here."""

    def __init__(self, incoming: Any, outgoing: Any, refuse: Callable[[TokcapError], CallToolResult]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._refuse = refuse

    @property
    def last_context(self) -> Context | None:
        """The context in which the last message was sent. The package asks for it."""
        found: Context | None = self._incoming.last_context
        return found

    async def receive(self) -> SessionMessage:
        while True:
            item = await self._incoming.receive()
            if isinstance(item, SessionMessage):
                return item
            try:
                reply = reply_to(item, self._refuse)
            except Exception as error:
                # The connection must survive whatever is in a line.
                reply = error_reply(None, PARSE_ERROR, f"the line cannot be read: {type(error).__name__}")
            if reply is not None:
                await self._outgoing.send(SessionMessage(reply))

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._incoming.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def reply_to(
    rejected: Exception, refuse: Callable[[TokcapError], CallToolResult]
) -> JSONRPCResponse | JSONRPCError | None:
    """Return the answer to a line that the package has rejected; None if nobody waits for one."""
    if not isinstance(rejected, ValidationError):
        return error_reply(None, PARSE_ERROR, f"the line cannot be read: {type(rejected).__name__}")
    problems = rejected.errors(include_url=False)
    if problems[0]["type"] == "json_invalid":
        request = read_leniently(str(problems[0]["input"]))
    else:
        # A message may be of several kinds. Some of the complaints are about the whole of it.
        wholes = [each["input"] for each in problems if isinstance(each["input"], dict)]
        request = next((whole for whole in wholes if "jsonrpc" in whole), {})
    if not isinstance(request, dict) or not request:
        return error_reply(None, PARSE_ERROR, "the line is not a JSON-RPC message")
    if "method" in request and "id" not in request:
        # A notification, which is never answered.
        return None
    if "method" not in request and ("result" in request or "error" in request):
        return None
    number = request.get("id")
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    if isinstance(known, str) and has_half_pair(known):
        known = None
    message = (
        problem_in(request).removeprefix("params.arguments.") or f"not a valid request: {problems[0]['msg']}"
    )
    if request.get("method") == CALL and known is not None:
        result = refuse(UsageError(message)).model_dump(mode="json", by_alias=True, exclude_none=True)
        return JSONRPCResponse(jsonrpc="2.0", id=known, result=result)
    return error_reply(known, INVALID_REQUEST, message)


def error_reply(number: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=message))


def read_leniently(line: str) -> Any:
    """Return the value of a line that is JSON for Python; {} if it is not even that."""
    try:
        return json.loads(line)
    except RecursionError:
        pass
    except ValueError:
        return {}
    try:
        # Our own scanner has no limit of depth.
        return json.loads(cap(line, LONGEST_HEAD_TOKENS, shape="json", fields="id,method", sentinel="").text)
    except (ValueError, RecursionError, TokcapError):
        return {}


def problem_in(request: dict[str, Any]) -> str:
    """Return which part of a request is not text; empty if all of it is."""
    waiting: list[tuple[str, Any]] = [("", request)]
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
    return any("\ud800" <= ch <= "\udfff" for ch in text)
