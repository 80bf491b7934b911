"""The MCP server: it speaks the protocol over stdin and stdout until the client closes the connection.

The protocol is a few methods in JSON, so no package is needed for it. A client waits for the answer to
`initialize`, so only what that needs is loaded before it; a thread loads the rest.
"""

from __future__ import annotations

import threading

from tokcap import __version__, exits
from tokcap.environment import STDIN, STDOUT
from tokcap.mcp.connection import IncomingLines, OutgoingLines, RaisedSignals, SignalReceived
from tokcap.mcp.messages import (
    GRACE_SECONDS,
    HANDSHAKE_VERSIONS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN_VERSIONS,
    SERVER_KEY,
    STOPPED,
    BadMessage,
    RunningCalls,
    error_message,
    is_identifier,
    is_modern,
    line_of,
    meta_of,
    problem_in,
    read_line,
    result_message,
)
from tokcap.mcp.tool_table import TOOLS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from tokcap.mcp.messages import Cancellation, Message
    from tokcap.mcp.settings import ServerSettings
    from tokcap.mcp.tools import ServerTools

    # Takes the answer to one request; None if it has none.
    Reply: TypeAlias = Callable[[Message | None], None]

INSTRUCTIONS = "Output that is cut has a mark with the next call, such as: show handle=lake917365018@464"
# What a client is told about the server.
ABOUT = {
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "tokcap", "version": __version__},
    "instructions": INSTRUCTIONS,
}
# What a modern client is told with every result, and with those that it may keep because they never change.
STAMP = {"_meta": {SERVER_KEY: ABOUT["serverInfo"]}}
CACHED = {"ttlMs": 3_600_000, "cacheScope": "public"}


def serve(settings: ServerSettings) -> int:
    """Serve until the client closes the connection or a signal arrives. Return the exit status."""
    incoming = IncomingLines(STDIN)
    server = Server(settings, OutgoingLines(STDOUT, incoming.stop))
    status, grace_seconds = exits.OK, GRACE_SECONDS
    try:
        with RaisedSignals():
            for line in incoming:
                if line.strip():
                    server.take(line)
    except SignalReceived as received:
        status, grace_seconds = exits.SIGNAL_BASE + received.number, 0.0
    server.close(grace_seconds)
    return status


class Server:
    """Answers messages. Calls of tools run in threads, everything else is answered at once."""

    def __init__(self, settings: ServerSettings, outgoing: OutgoingLines) -> None:
        self._settings = settings
        self._outgoing = outgoing
        self._calls = RunningCalls(outgoing)
        self._tools: ServerTools | None = None
        self._loading = threading.Lock()

    def take(self, line: bytes) -> None:
        """Answer one line: a message, or several in a list, as version 2025-03-26 allows."""
        try:
            message = read_line(line)
        except BadMessage as error:
            number = error.number if is_identifier(error.number) else None
            self._send(error_message(number, error.code, str(error)))
            return
        if isinstance(message, list) and message:
            batch = Batch(len(message), self._outgoing)
            for each in message:
                self._answer(each, batch.add)
        else:
            self._answer(message, self._send)

    def close(self, grace_seconds: float) -> None:
        """Stop all calls that do not end within a moment."""
        self._calls.close(grace_seconds)
        if self._tools:
            self._tools.close()

    def _send(self, message: Message | None) -> None:
        if message is not None:
            self._outgoing.send(line_of(message))

    def _answer(self, message: Any, reply: Reply) -> None:
        """Answer one message. The connection must survive everything that is in it."""
        number = message.get("id") if isinstance(message, dict) else None
        number = number if is_identifier(number) else None
        try:
            self._dispatch(message, number, reply)
        except BadMessage as error:
            reply(error_message(number, error.code, str(error), error.data))
        except Exception as error:
            reply(error_message(number, INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}"))

    def _dispatch(self, message: Any, number: Any, reply: Reply) -> None:
        if not isinstance(message, dict):
            raise BadMessage(INVALID_REQUEST, "the line is not a JSON-RPC message")
        method, params = message.get("method"), message.get("params", {})
        is_answer = "method" not in message and ("result" in message or "error" in message)
        if is_answer or ("id" not in message and isinstance(method, str)):
            # The server asks nothing, so an answer means nothing. A notification is never answered.
            if method == "notifications/cancelled" and isinstance(params, dict):
                self._calls.cancel(params.get("requestId"))
            reply(None)
            return
        if not isinstance(method, str):
            raise BadMessage(INVALID_REQUEST, "method is missing")
        if number is None:
            raise BadMessage(INVALID_REQUEST, "id must be a string or a number")
        if not isinstance(params, dict):
            raise BadMessage(INVALID_PARAMS, "params must be an object")
        problem = problem_in(message)
        if method == "tools/call":
            self._call(number, params, problem, reply)
            return
        if problem:
            raise BadMessage(INVALID_REQUEST, problem)
        if method in ("initialize", "server/discover"):
            # A client waits for the answer, and calls a tool soon.
            threading.Thread(target=self._load, name="tokcap.mcp.load", daemon=True).start()
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
            reply(result_message(number, {"protocolVersion": version, **ABOUT}))
            return
        stamp = STAMP if is_modern(params) else None
        if method == "server/discover":
            found = {"supportedVersions": [*HANDSHAKE_VERSIONS, *MODERN_VERSIONS], **ABOUT, **CACHED}
            reply(result_message(number, found, STAMP))
        elif method == "ping":
            reply(result_message(number, {}, stamp))
        elif method == "tools/list":
            listed = {"tools": [tool.listed() for tool in TOOLS]}
            reply(result_message(number, {**listed, **CACHED} if stamp else listed, stamp))
        else:
            raise BadMessage(METHOD_NOT_FOUND, f"unknown method {method}")

    def _call(self, number: Any, params: Message, problem: str, reply: Reply) -> None:
        name, arguments = params.get("name"), params.get("arguments")
        given = {} if arguments is None else arguments
        if not isinstance(name, str):
            raise BadMessage(INVALID_PARAMS, "params.name must be the name of a tool")
        if not isinstance(given, dict):
            raise BadMessage(INVALID_PARAMS, "params.arguments must be an object")
        stamp = STAMP if is_modern(params) else None

        def work(cancellation: Cancellation) -> None:
            # A problem is the result of the tool: a model reads it, and can do better.
            result = self._load().call(name, given, cancellation, problem)
            if result is not None:
                reply(result_message(number, result, stamp))
            else:
                reply(error_message(number, INTERNAL_ERROR, STOPPED) if cancellation.is_end else None)

        self._calls.start(number, meta_of(params).get("progressToken"), work)

    def _load(self) -> ServerTools:
        """Load the tools, once. A call that comes early waits for it."""
        with self._loading:
            if self._tools is None:
                from tokcap.mcp.tools import ServerTools

                self._tools = ServerTools(self._settings)
            return self._tools


class Batch:
    """Collects the answers to a list of messages, and sends them as one list."""

    def __init__(self, size: int, outgoing: OutgoingLines) -> None:
        self._missing = size
        self._outgoing = outgoing
        self._answers: list[Message] = []
        self._lock = threading.Lock()

    def add(self, answer: Message | None) -> None:
        with self._lock:
            self._missing -= 1
            if answer is not None:
                self._answers.append(answer)
            if self._missing or not self._answers:
                return
        self._outgoing.send(line_of(self._answers))
