"""Stand between a client and a server. Everything passes unchanged, except three kinds of messages:

results of tools are capped, the list of tools gets one more, and calls of that one are answered here.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from tokcap import exits
from tokcap.api.charged_session import Hold
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import TokcapError
from tokcap.mcp.connection import IncomingLines, OutgoingLines, RaisedSignals, SignalReceived
from tokcap.mcp.messages import (
    INTERNAL_ERROR,
    SERVER_KEY,
    VERSION_KEY,
    RunningCalls,
    error_message,
    head_of,
    key_of,
    line_of,
    meta_of,
    result_message,
)
from tokcap.mcp.tool_table import LARGEST_RESULT, PROXY_TOOL
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from tokcap.mcp.messages import Cancellation, Message
    from tokcap.mcp.settings import ServerSettings
    from tokcap.mcp.tools import ProxyTools

    class Upstream(Protocol):
        """The server behind the proxy."""

        def start(self, receive: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
            """Pass on each line that the server sends, from any thread, and say when it has ended."""
            ...

        def send(self, line: bytes) -> None:
            """Send a line to the server."""
            ...

        def finish(self) -> int:
            """End the connection; return the exit status of the server."""
            ...

        def stop(self, number: int) -> None:
            """End the connection because of a signal."""
            ...


CALL, LIST = "tools/call", "tools/list"
# What reaches the context of a model: the member of a result, by method. The second one fetches the result
# of a call that was made as a task.
CONTENT_OF = {
    CALL: "content",
    "tasks/result": "content",
    "resources/read": "contents",
    "prompts/get": "messages",
}


class Waiting(Record):
    """A request of the client that waits for the answer of the server."""

    method: str
    # The name of the tool, if it is one.
    name: Any
    # With the rule for the tool.
    settings: ServerSettings
    # What the answer may use, reserved before the server gets the request; None: the client has cancelled it.
    hold: Hold | None
    # What an answer of the proxy needs; None before the modern revisions of the protocol.
    stamp: Message | None


def wrap(settings: ServerSettings, open_upstream: Callable[[], Upstream]) -> int:
    """Serve until the client or the server ends, or a signal arrives. Return the exit status."""
    incoming = IncomingLines(STDIN)
    signals = RaisedSignals()
    # A signal now must not leave a server behind that nobody ends.
    signals.hold()
    upstream = open_upstream()
    proxy = Proxy(settings, upstream, OutgoingLines(STDOUT, incoming.stop))
    try:
        with signals:
            upstream.start(proxy.from_server, incoming.stop)
            for line in incoming:
                proxy.from_client(line)
    except SignalReceived as received:
        upstream.stop(received.number)
        return exits.SIGNAL_BASE + received.number
    proxy.close()
    return upstream.finish()


class Proxy:
    """Passes messages on, and remembers which requests wait for results of tools."""

    def __init__(self, settings: ServerSettings, upstream: Upstream, outgoing: OutgoingLines) -> None:
        self._settings = settings
        self._upstream = upstream
        self._outgoing = outgoing
        self._calls = RunningCalls(outgoing)
        # By id.
        self._waiting: dict[str, Waiting] = {}
        # The name of the server in rules.
        self._server = ""
        # The output schemas of the tools that were listed; False: it has none.
        self._schemas: dict[Any, Any] = {}
        # Whether the server has a tool of the same name. Then it is left alone.
        self._is_shadowed = False
        self._loaded: ProxyTools | None = None
        self._loading = threading.Lock()

    def from_client(self, line: bytes) -> None:
        """Pass on a line of the client, or answer it here."""
        message = value_of(line)
        if isinstance(message, list):
            rest = [each for each in message if not self._takes(each)]
            if len(rest) < len(message):
                if rest:
                    self._upstream.send(line_of(rest))
                return
        elif self._takes(message):
            return
        self._upstream.send(line)

    def from_server(self, line: bytes) -> None:
        """Pass on a line of the server, changed if it is too large for a model, or the list of tools."""
        message = value_of(line)
        if isinstance(message, list):
            changed = [self._changed(each, b"") or each for each in message]
            is_same = all(new is old for new, old in zip(changed, message, strict=True))
            self._outgoing.send(line if is_same else line_of(changed))
        else:
            answer = self._changed(message, line)
            self._outgoing.send(line if answer is None else line_of(answer))

    def close(self) -> None:
        """Stop the calls that are answered here, and free what the others hold."""
        self._calls.close()
        for waiting in [*self._waiting.values()]:
            if waiting.hold:
                waiting.hold.release()

    def _takes(self, message: Any) -> bool:
        """Return whether a message of the client is answered here, and note what others wait for."""
        if not isinstance(message, dict):
            return False
        method, params = message.get("method"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            if self._calls.cancel(given.get("requestId")):
                return True
            # The server need not answer it any more. If it does, the client does not wait for it.
            self._release(given.get("requestId"))
        if method in ("initialize", "server/discover"):
            # While the server starts, load what the first result will need.
            threading.Thread(target=self._load, name="tokcap.mcp.load", daemon=True).start()
        if "id" not in message or method not in (*CONTENT_OF, LIST):
            return False
        number, name = message["id"], given.get("name")
        stamp: Message | None = {} if VERSION_KEY in meta_of(given) else None
        if method == CALL and name == PROXY_TOOL.name and not self._is_shadowed:
            self._show(number, given, stamp)
            return True
        settings = self._settings
        try:
            if method == CALL:
                settings = settings.for_tool((f"{self._server}/{name}",))
            hold = None if method == LIST else settings.hold()
        except TokcapError as error:
            self._outgoing.send(line_of(self._refusal(number, method, error, stamp)))
            return True
        self._waiting[key_of(number)] = Waiting(
            method, name if method == CALL else None, settings, hold, stamp
        )
        return False

    def _refusal(self, number: Any, method: str, error: TokcapError, stamp: Message | None) -> Message:
        """Return the answer to a request that the session cannot pay for."""
        from tokcap.mcp.results import error_result

        result = error_result(error, self._settings.limit_tokens, self._settings)
        if CONTENT_OF[method] == "content":
            return result_message(number, result, stamp)
        return error_message(number, INTERNAL_ERROR, result["content"][0]["text"])

    def _release(self, number: Any) -> None:
        waiting = self._waiting.get(key_of(number))
        if waiting and waiting.hold:
            self._waiting[key_of(number)] = waiting.replace(hold=None)
            waiting.hold.release()

    def _show(self, number: Any, params: Message, stamp: Message | None) -> None:
        """Answer a call of the tool of the proxy."""
        arguments = params.get("arguments")
        given = arguments if isinstance(arguments, dict) else {}

        def work(cancellation: Cancellation) -> None:
            result = self._load().call(PROXY_TOOL.name, given, cancellation)
            if result is not None:
                self._outgoing.send(line_of(result_message(number, result, stamp)))

        self._calls.start(number, None, work)

    def _changed(self, message: Any, line: bytes) -> Message | None:
        """Return what the client gets instead of a message of the server; None if it is passed on."""
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return None
        number = message["id"]
        waiting = self._waiting.pop(key_of(number), None)
        try:
            return self._answer(message, waiting, line)
        except Exception as error:
            if waiting and waiting.hold:
                waiting.hold.release()
            return error_message(number, INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}")

    def _answer(self, message: Message, waiting: Waiting | None, line: bytes) -> Message | None:
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict):
            if not self._server and isinstance(
                about := result.get("serverInfo") or meta_of(result).get(SERVER_KEY), dict
            ):
                self._server = str(about.get("name", "")).replace(" ", "-")
            if waiting and waiting.method == LIST:
                listed = self._listed(result)
                return None if listed is None else {**message, "result": listed}
        if not isinstance(error, dict) and (waiting is None or waiting.method == LIST):
            # The client waits for the answer to its first request, so nothing is loaded for it.
            return None
        self._load()
        from tokcap.mcp.capping import Capper, text_item

        settings = waiting.settings if waiting else self._settings
        capper, hold = Capper(settings), (waiting and waiting.hold) or Hold(settings.limit_tokens)
        if isinstance(error, dict) or waiting is None:
            shown, cost = capper.error(error or {}, hold.tokens)
            hold.settle(cost)
            return None if shown == error else {**message, "error": shown}
        key = CONTENT_OF[waiting.method]
        schema = self._schemas.get(waiting.name) if isinstance(waiting.name, str) else None
        if isinstance(result, dict):
            capped, cost = capper.result(key, result, hold, schema)
            answer = None if capped is None else {**message, "result": capped}
        else:
            # Python cannot hold it, so that only its head was read. The whole line becomes text.
            whole = {key: [text_item({}, key, line.decode("utf-8", "replace"))]}
            capped, cost = capper.result(key, whole, hold)
            answer = result_message(message["id"], capped or whole, waiting.stamp)
        hold.settle(cost)
        return answer

    def _listed(self, result: Message) -> Message | None:
        """Return the list of tools with the tool of the proxy at its end, and note their output schemas."""
        tools = result.get("tools")
        if not isinstance(tools, list):
            return None
        listed = []
        for tool in tools:
            if isinstance(tool, dict):
                self._schemas[str(tool.get("name"))] = tool.get("outputSchema", False)
                self._is_shadowed |= tool.get("name") == PROXY_TOOL.name
                tool = {**tool, "_meta": {**(tool.get("_meta") or {}), **LARGEST_RESULT}}
            listed.append(tool)
        if not self._is_shadowed and not result.get("nextCursor"):
            listed.append(PROXY_TOOL.listed())
        return {**result, "tools": listed}

    def _load(self) -> ProxyTools:
        """Load what shows and what cuts, once. A result that comes early waits for it."""
        with self._loading:
            if self._loaded is None:
                from tokcap.mcp.tools import ProxyTools

                self._loaded = ProxyTools(self._settings)
            return self._loaded


def value_of(line: bytes) -> Any:
    """Return the value of a line; None if it is not JSON. Of what Python cannot hold, only the head."""
    try:
        return json.loads(line, parse_float=finite)
    except (ValueError, RecursionError):
        # Servers write other things to stdout, too.
        return head_of(line) if line.lstrip()[:1] == b"{" else None


def finite(text: str) -> float:
    """Return a number; `ValueError` for one like 1E400, which cannot be written again."""
    value = float(text)
    if value - value:
        raise ValueError(text)
    return value
