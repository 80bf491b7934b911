"""Stand between a client and a server. Everything passes unchanged, except three kinds of messages:

results of tools are capped, the list of tools gets one more, and calls of that one are answered here.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from tokcap import exits
from tokcap.environment import STDIN, STDOUT
from tokcap.mcp.ending_signals import RaisedSignals, SignalReceived
from tokcap.mcp.line_streams import IncomingLines, OutgoingLines
from tokcap.mcp.messages import head_of, key_of, line_of, result_message
from tokcap.mcp.running_calls import RunningCalls
from tokcap.mcp.wrap.show_tool import NAME, SHOW_TOOL, call_show_tool, open_tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from tokcap.mcp.cancellation import Cancellation
    from tokcap.mcp.messages import Message
    from tokcap.mcp.server_settings import ServerSettings
    from tokcap.mcp.stored_tools import StoredTools
    from tokcap.mcp.wrap.capping import Capper

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
        # The methods of requests that wait for an answer, by id.
        self._waiting: dict[str, str] = {}
        self._own_calls: set[str] = set()
        # Whether the server has a tool of the same name. Then it is left alone.
        self._is_shadowed = False
        self._tools: StoredTools | None = None
        self._capper: Capper | None = None
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
            answers = [self._changed(each, b"") for each in message]
            if any(answer is not None for answer in answers):
                both = zip(answers, message, strict=True)
                line = line_of([old if new is None else new for new, old in both])
        elif (changed := self._changed(message, line)) is not None:
            line = line_of(changed)
        self._outgoing.send(line)

    def close(self) -> None:
        """Stop the calls that are answered here."""
        self._calls.close()

    def _takes(self, message: Any) -> bool:
        """Return whether a message of the client is answered here, and note what others wait for."""
        if not isinstance(message, dict):
            return False
        method, params = message.get("method"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled" and key_of(given.get("requestId")) in self._own_calls:
            self._calls.cancel(given.get("requestId"))
            return True
        if method == "initialize":
            # While the server starts, load what the first result will need.
            threading.Thread(target=self._loaded, name="tokcap.mcp.load", daemon=True).start()
        if "id" not in message or method not in (*CALLS, LIST):
            return False
        key = key_of(message["id"])
        if method == CALLS[0] and given.get("name") == NAME and not self._is_shadowed:
            self._call_own(key, message["id"], given)
            return True
        if method == CALLS[0] and (refusal := self._refusal()) is not None:
            self._outgoing.send(line_of(result_message(message["id"], refusal)))
            return True
        self._waiting[key] = method
        return False

    def _refusal(self) -> Message | None:
        """Return the answer to a call that the session cannot pay for; None if it can."""
        session = self._settings.session
        if session is None:
            return None
        from tokcap.errors import TokcapError

        try:
            session.hold(self._settings.limit_tokens).release()
        except TokcapError as error:
            return self._loaded().refused(error)
        return None

    def _call_own(self, key: str, number: Any, params: Message) -> None:
        arguments = params.get("arguments")
        given = arguments if isinstance(arguments, dict) else {}
        self._own_calls.add(key)

        def work(cancellation: Cancellation) -> None:
            try:
                result = call_show_tool(self._loaded(), given, cancellation)
            finally:
                self._own_calls.discard(key)
            if result is not None and not cancellation.is_requested:
                self._outgoing.send(line_of(result_message(number, result)))

        self._calls.start(number, None, work)

    def _changed(self, message: Any, line: bytes) -> Message | None:
        """Return what the client gets instead of a message of the server; None if it is passed on."""
        if not isinstance(message, dict) or "method" in message or "id" not in message:
            return None
        method = self._waiting.pop(key_of(message["id"]), None)
        if method is None:
            return None
        if "result" not in message and "error" not in message:
            # Too deep for Python, so that only its head was read. The whole line becomes text.
            return result_message(message["id"], self._capped(self._as_text(line)) or self._as_text(line))
        if "error" in message:
            return self._changed_error(message) if method in CALLS else None
        result = message["result"]
        if not isinstance(result, dict):
            return None
        changed = self._listed(result) if method == LIST else self._capped(result)
        return None if changed is None else {**message, "result": changed}

    def _changed_error(self, message: Message) -> Message | None:
        error = message["error"]
        text = error.get("message") if isinstance(error, dict) else None
        if not isinstance(text, str):
            return None
        self._loaded()
        assert self._capper is not None
        shown = self._capper.message(text)
        data = error.get("data")
        fits = data is None or self._capped(self._as_text(json.dumps(data).encode())) is None
        if shown == text and fits:
            return None
        kept = {name: value for name, value in error.items() if fits or name != "data"}
        return {**message, "error": {**kept, "message": shown}}

    def _capped(self, result: Message) -> Message | None:
        self._loaded()
        assert self._capper is not None
        return self._capper.result(result)

    def _listed(self, result: Message) -> Message | None:
        """Return the list of tools without output schemas, and with the tool of the proxy at its end.

        A client refuses a result without structured content if the tool has an output schema, and a result
        that is cut has none.
        """
        tools = result.get("tools")
        if not isinstance(tools, list):
            return None
        listed = [
            {name: value for name, value in tool.items() if name != "outputSchema"}
            if isinstance(tool, dict)
            else tool
            for tool in tools
        ]
        if any(isinstance(tool, dict) and tool.get("name") == NAME for tool in listed):
            self._is_shadowed = True
        if not self._is_shadowed and not result.get("nextCursor"):
            listed.append(SHOW_TOOL.listed(structured=False))
        return None if listed == tools else {**result, "tools": listed}

    @staticmethod
    def _as_text(line: bytes) -> Message:
        return {"content": [{"type": "text", "text": line.decode("utf-8", "replace")}]}

    def _loaded(self) -> StoredTools:
        """Load what cuts and shows, once. A result that comes early waits for it."""
        with self._loading:
            if self._tools is None:
                from tokcap.mcp.wrap.capping import Capper

                tools = open_tools(self._settings)
                tools.warm_up()
                self._capper = Capper(self._settings)
                self._tools = tools
            return self._tools


def value_of(line: bytes) -> Any:
    """Return the value of a line; None if it is not JSON. Of what is too deep for Python, only the head."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        # Servers write other things to stdout, too.
        return head_of(line) if line.lstrip()[:1] == b"{" else None
