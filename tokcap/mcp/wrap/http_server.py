"""A server that is reached over streamable HTTP: messages are posted, answers come as JSON or as events."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import TYPE_CHECKING, Any

from tokcap import exits
from tokcap.mcp.messages import INTERNAL_ERROR, error_message, key_of, line_of
from tokcap.mcp.wrap.event_stream import events_in
from tokcap.mcp.wrap.http_connections import Connections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ACCEPTED = "application/json, text/event-stream"
EVENTS = "text/event-stream"
SESSION = "Mcp-Session-Id"
VERSION = "MCP-Protocol-Version"
RETRY_SECONDS = 1.0
MOST_RETRIES = 5
# How long to wait at the end until the server has forgotten the session.
END_SECONDS = 1.0
LONGEST_REASON_CHARACTERS = 300


class HttpServer:
    """A session with a server. Each request is posted in a thread of its own."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._connections = Connections(url)
        self._headers = dict(headers)
        self._session: dict[str, str] = {}
        self._receive: Callable[[bytes], None] = lambda _: None
        self._is_listening = False
        self._ended = threading.Event()
        # Events come from several threads, and the client reads whole lines.
        self._lock = threading.Lock()

    def start(self, receive: Callable[[bytes], None], _on_end: Callable[[], None]) -> None:
        """Pass on what the server sends. It has no end of its own."""
        self._receive = receive

    def send(self, line: bytes) -> None:
        """Post a line. A request may take long, so it does not keep the next line waiting."""
        if not line.strip():
            return
        waiting = requests_in(line)
        if not waiting:
            # Kept in order: the server must know that the client is ready before the next request.
            self._post(line, waiting)
            if b"notifications/initialized" in line and not self._is_listening:
                self._is_listening = True
                threading.Thread(target=self._listen, daemon=True).start()
            return
        threading.Thread(target=self._post, args=(line, waiting), daemon=True).start()

    def finish(self) -> int:
        """Tell the server that the session has ended."""
        self._ended.set()
        if SESSION in self._session:
            ending = threading.Thread(target=self._delete, daemon=True)
            ending.start()
            ending.join(END_SECONDS)
        return exits.OK

    def stop(self, _number: int) -> None:
        self.finish()

    def _post(self, line: bytes, waiting: dict[str, Any]) -> None:
        """Post a line, and pass on the answers. A request that gets none is answered with an error."""
        headers = self._all_headers(Accept=ACCEPTED, **{"Content-Type": "application/json"})
        try:
            connection, response = self._connections.request("POST", headers, line.strip())
            with_session = response.getheader(SESSION)
            if with_session:
                self._session[SESSION] = with_session
            kind = (response.getheader("Content-Type") or "").partition(";")[0].strip().lower()
            if response.status < 300 and kind == EVENTS:
                last = self._pass_events(response, waiting)
                self._connections.done(connection, response)
                self._resume(last, waiting)
            else:
                body = response.read()
                self._connections.done(connection, response)
                self._pass_body(body, response, waiting)
            problem = "the server has not answered"
        except (OSError, http.client.HTTPException) as error:
            problem = f"the server cannot be reached: {error}"
        for number in waiting.values():
            self._deliver(line_of(error_message(number, INTERNAL_ERROR, problem)), {})

    def _pass_body(self, body: bytes, response: http.client.HTTPResponse, waiting: dict[str, Any]) -> None:
        """Pass on an answer that is no stream, or what a failed one says."""
        if response.status < 300:
            if body.strip():
                self._deliver(body, waiting)
            return
        try:
            is_answer = key_of(json.loads(body)["id"]) in waiting
        except (ValueError, RecursionError, TypeError, KeyError):
            is_answer = False
        if is_answer:
            self._deliver(body, waiting)
        reason = body.decode("utf-8", "replace").strip()[:LONGEST_REASON_CHARACTERS]
        problem = f"HTTP status {response.status} {response.reason}: {reason}".rstrip(": ")
        for number in [*waiting.values()]:
            self._deliver(line_of(error_message(number, INTERNAL_ERROR, problem)), waiting)

    def _pass_events(self, response: http.client.HTTPResponse, waiting: dict[str, Any]) -> Resumption:
        """Pass on the messages of a stream. Return where to continue if it was interrupted."""
        last = Resumption()
        try:
            for event in events_in(response.readline):
                last.note(event.identifier, event.retry_seconds)
                if event.data:
                    self._deliver(event.data, waiting)
        except (OSError, http.client.HTTPException, ValueError):
            pass
        return last

    def _resume(self, last: Resumption, waiting: dict[str, Any]) -> None:
        """Continue a stream that ended before all requests were answered, if the server can do that."""
        for _ in range(MOST_RETRIES):
            if not waiting or last.identifier is None or self._ended.wait(last.seconds):
                return
            headers = self._all_headers(Accept=EVENTS, **{"Last-Event-ID": last.identifier})
            try:
                connection, response = self._connections.request("GET", headers)
            except OSError:
                continue
            if response.status != 200:
                connection.close()
                return
            more = self._pass_events(response, waiting)
            connection.close()
            last.note(more.identifier, more.retry_seconds)

    def _listen(self) -> None:
        """Pass on what the server sends by itself, if it offers such a stream, until the session ends."""
        last = Resumption()
        while not self._ended.is_set():
            resumed = {} if last.identifier is None else {"Last-Event-ID": last.identifier}
            started = time.monotonic()
            try:
                connection, response = self._connections.request(
                    "GET", self._all_headers(Accept=EVENTS, **resumed)
                )
                if response.status != 200:
                    connection.close()
                    return
                more = self._pass_events(response, {})
                connection.close()
                last.note(more.identifier, more.retry_seconds)
            except OSError:
                # A server that is gone for long is not asked all the time.
                last.fails()
            if self._ended.wait(max(last.seconds - (time.monotonic() - started), RETRY_SECONDS / 10)):
                return

    def _delete(self) -> None:
        try:
            connection, _ = self._connections.request("DELETE", self._all_headers())
            connection.close()
        except (OSError, http.client.HTTPException):
            # The server will notice by itself.
            pass

    def _deliver(self, body: bytes, waiting: dict[str, Any]) -> None:
        """Pass on one message, or a list of them, as one line, and note what it answers."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        messages = value if isinstance(value, list) else [value]
        for message in messages:
            if not isinstance(message, dict) or "method" in message or "id" not in message:
                continue
            waiting.pop(key_of(message["id"]), None)
            result = message.get("result")
            if isinstance(result, dict) and isinstance(result.get("protocolVersion"), str):
                self._session[VERSION] = result["protocolVersion"]
        # Line breaks between the tokens of a message are allowed in a body, but not in a line.
        line = line_of(value) if b"\n" in body.strip() and value is not None else body.strip()
        with self._lock:
            self._receive(line.replace(b"\r", b"").replace(b"\n", b" "))

    def _all_headers(self, **more: str) -> dict[str, str]:
        return {**self._headers, **self._session, **more}


class Resumption:
    """Where to continue an interrupted stream, and how long to wait before that."""

    def __init__(self) -> None:
        self.identifier: str | None = None
        self.retry_seconds: float | None = None
        self._failures = 0

    def note(self, identifier: str | None, retry_seconds: float | None) -> None:
        if identifier is not None:
            self.identifier = identifier
        if retry_seconds is not None:
            self.retry_seconds = retry_seconds
        self._failures = 0

    def fails(self) -> None:
        self._failures += 1

    @property
    def seconds(self) -> float:
        given = RETRY_SECONDS if self.retry_seconds is None else self.retry_seconds
        return min(given * float(1 << min(self._failures, 6)), 60.0)


def requests_in(line: bytes) -> dict[str, Any]:
    """Return the ids of the requests in a line, by key."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    messages = value if isinstance(value, list) else [value]
    return {
        key_of(message["id"]): message["id"]
        for message in messages
        if isinstance(message, dict) and "method" in message and "id" in message
    }
