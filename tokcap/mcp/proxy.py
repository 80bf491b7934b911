"""Stand between a client and a server. Everything passes unchanged, except three kinds of messages:

results of tools are capped, the list of tools gets one more, and calls of that one are answered here.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from tokcap import exits
from tokcap.environment import STDIN, STDOUT
from tokcap.errors import TokcapError
from tokcap.mcp.connection import IncomingLines, OutgoingLines, RaisedSignals, SignalReceived
from tokcap.mcp.messages import VERSION_KEY, RunningCalls, head_of, key_of, line_of, meta_of, result_message
from tokcap.mcp.tool_table import PROXY_TOOL
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from tokcap.mcp.capping import Capper
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


# Their results are those of tools. The second one fetches the result of a call that was made as a task.
CALLS = ("tools/call", "tasks/result")
LIST = "tools/list"


class Waiting(Record):
    """A request of the client that waits for the answer of the server."""

    method: str
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
        # Whether the server has a tool of the same name. Then it is left alone.
        self._is_shadowed = False
        self._loaded: tuple[ProxyTools, Capper] | None = None
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
        """Pass on a line of the server, changed if it is the result of a tool or the list of tools."""
        message = value_of(line)
        if isinstance(message, list):
            changed = [self._changed(each, b"") or each for each in message]
            is_same = all(new is old for new, old in zip(changed, message, strict=True))
            self._outgoing.send(line if is_same else line_of(changed))
        else:
            answer = self._changed(message, line)
            self._outgoing.send(line if answer is None else line_of(answer))

    def close(self) -> None:
        """Stop the calls that are answered here."""
        self._calls.close()

    def _takes(self, message: Any) -> bool:
        """Return whether a message of the client is answered here, and note what others wait for."""
        if not isinstance(message, dict):
            return False
        method, params = message.get("method"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled" and self._calls.cancel(given.get("requestId")):
            return True
        if method in ("initialize", "server/discover"):
            # While the server starts, load what the first result will need.
            threading.Thread(target=self._load, name="tokcap.mcp.load", daemon=True).start()
        if "id" not in message or method not in (*CALLS, LIST):
            return False
        number = message["id"]
        stamp: Message | None = {} if VERSION_KEY in meta_of(given) else None
        if method == CALLS[0] and given.get("name") == PROXY_TOOL.name and not self._is_shadowed:
            self._show(number, given, stamp)
        elif method == CALLS[0] and (refusal := self._refusal()) is not None:
            self._outgoing.send(line_of(result_message(number, refusal, stamp)))
        else:
            self._waiting[key_of(number)] = Waiting(method, stamp)
            return False
        return True

    def _refusal(self) -> Message | None:
        """Return the answer to a call that the session cannot pay for; None if it can."""
        try:
            self._settings.hold().release()
        except TokcapError as error:
            from tokcap.mcp.results import error_result

            return error_result(error, self._settings.limit_tokens, self._settings)
        return None

    def _show(self, number: Any, params: Message, stamp: Message | None) -> None:
        """Answer a call of the tool of the proxy."""
        arguments = params.get("arguments")
        given = arguments if isinstance(arguments, dict) else {}

        def work(cancellation: Cancellation) -> None:
            result = self._load()[0].call(PROXY_TOOL.name, given, cancellation)
            if result is not None:
                self._outgoing.send(line_of(result_message(number, result, stamp)))

        self._calls.start(number, None, work)

    def _changed(self, message: Any, line: bytes) -> Message | None:
        """Return what the client gets instead of a message of the server; None if it is passed on."""
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return None
        waiting = self._waiting.pop(key_of(message["id"]), None)
        if waiting is None:
            return None
        result, error = message.get("result"), message.get("error")
        if waiting.method == LIST:
            listed = self._listed(result) if isinstance(result, dict) else None
            return None if listed is None else {**message, "result": listed}
        if "result" not in message and "error" not in message:
            # Too deep for Python, so that only its head was read. The whole line becomes text.
            whole = text_of(line)
            return result_message(message["id"], self._load()[1].result(whole) or whole, waiting.stamp)
        if isinstance(error, dict):
            shown = self._load()[1].error(error)
            return None if shown == error else {**message, "error": shown}
        capped = self._load()[1].result(result) if isinstance(result, dict) else None
        return None if capped is None else {**message, "result": capped}

    def _listed(self, result: Message) -> Message | None:
        """Return the list of tools without output schemas, and with the tool of the proxy at its end.

        A client refuses a result without structured content if the tool has an output schema, and a result
        that is cut has none.
        """
        tools = result.get("tools")
        if not isinstance(tools, list):
            return None
        listed = [without(tool, "outputSchema") if isinstance(tool, dict) else tool for tool in tools]
        if any(isinstance(tool, dict) and tool.get("name") == PROXY_TOOL.name for tool in listed):
            self._is_shadowed = True
        if not self._is_shadowed and not result.get("nextCursor"):
            listed.append(PROXY_TOOL.listed())
        return None if listed == tools else {**result, "tools": listed}

    def _load(self) -> tuple[ProxyTools, Capper]:
        """Load what shows and what cuts, once. A result that comes early waits for it."""
        with self._loading:
            if self._loaded is None:
                from tokcap.mcp.capping import Capper
                from tokcap.mcp.tools import ProxyTools

                self._loaded = ProxyTools(self._settings), Capper(self._settings)
            return self._loaded


def value_of(line: bytes) -> Any:
    """Return the value of a line; None if it is not JSON. Of what is too deep for Python, only the head."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        # Servers write other things to stdout, too.
        return head_of(line) if line.lstrip()[:1] == b"{" else None


def text_of(line: bytes) -> Message:
    """Return a line as the result of a tool."""
    return {"content": [{"type": "text", "text": line.decode("utf-8", "replace")}]}


def without(message: Message, name: str) -> Message:
    return {key: value for key, value in message.items() if key != name}
