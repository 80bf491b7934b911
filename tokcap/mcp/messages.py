"""JSON-RPC 2.0 as MCP uses it: read and make messages, and run the calls that they ask for."""

from __future__ import annotations

import json
import threading
import time

from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from tokcap.mcp.connection import OutgoingLines

    Message: TypeAlias = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

# In these revisions of the protocol, a handshake agrees on one. In modern ones, every request names its own.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
# The members of `_meta` that every modern request has, and the one that results should have.
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

TOO_DEEP = "the message is nested too deeply, or has a number with too many digits"
# JSON can write half of a surrogate pair, as `"\ud800"`, but nothing can be done with it.
NOT_TEXT = "half of a surrogate pair is not text"
# Enough for the id and the method of any real request.
LONGEST_HEAD_TOKENS = 10_000
# How long calls may take to end when the client closes the connection, before they are stopped; and how long
# their commands may take then. They get KILL after a second. A client waits two seconds.
GRACE_SECONDS = 0.3
END_SECONDS = 1.5
STOPPED = "the call was stopped, because the connection was closed"
PROGRESS_SECONDS = 2.0


class BadMessage(Exception):
    """A message that cannot be answered as it asks. `number` is its id, if that is known."""

    def __init__(self, code: int, message: str, number: Any = None, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.number = number
        self.data = data


def read_line(line: bytes) -> Any:
    """Return the value of a line; `BadMessage` if it is not JSON, or not JSON that Python can hold."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        head = head_of(line)
        if head is None:
            raise BadMessage(PARSE_ERROR, "the line is not JSON") from None
        raise BadMessage(INVALID_REQUEST, TOO_DEEP, head.get("id")) from None


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


def problem_in(message: Any) -> str:
    """Return why a value that was read cannot be written again; empty if it can."""
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return NOT_TEXT
    except RecursionError:
        return TOO_DEEP
    return ""


def line_of(message: Message | list[Message]) -> bytes:
    """Return a message as a line, without the line end."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def meta_of(params: Any) -> Message:
    """Return what a request says about itself."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta if isinstance(meta, dict) else {}


def is_modern(params: Any) -> bool:
    """Return whether a request names its revision itself; `BadMessage` if that one is not known."""
    meta = meta_of(params)
    if VERSION_KEY not in meta:
        return False
    version = meta[VERSION_KEY]
    if not isinstance(version, str) or not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise BadMessage(INVALID_PARAMS, f"params._meta needs {VERSION_KEY} and {CAPABILITIES_KEY}")
    if version not in MODERN_VERSIONS:
        supported = [*HANDSHAKE_VERSIONS, *MODERN_VERSIONS]
        data = {"supported": supported, "requested": version}
        raise BadMessage(UNSUPPORTED_VERSION, "unsupported protocol version", data=data)
    return True


def result_message(number: Any, result: Message, stamp: Message | None = None) -> Message:
    """Return a result as a message. That of a modern request has a type and a stamp."""
    if stamp is not None:
        result = {"resultType": "complete", **result, **stamp}
    return {"jsonrpc": "2.0", "id": number, "result": result}


def error_message(number: Any, code: int, message: str, data: Any = None) -> Message:
    error = {"code": code, "message": message}
    return {"jsonrpc": "2.0", "id": number, "error": error if data is None else {**error, "data": data}}


def is_identifier(number: Any) -> bool:
    """Return whether an answer can name a request by this."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number or (isinstance(number, str) and not problem_in(number))


def key_of(number: Any) -> str:
    """Return an id as a key of a dict. 1 and "1" differ, 1 and 1.0 do not, and every type is possible."""
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return json.dumps(number, sort_keys=True)


class Cancellation:
    """Says whether a call is still wanted, and stops what it waits for if it is not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], object] | None = None
        self.is_requested = False
        # Whether the call ends because the connection does: the client may still wait for an answer.
        self.is_end = False

    def request(self, *, is_end: bool = False) -> None:
        """Stop the call. Its result is no longer wanted."""
        with self._lock:
            self.is_requested = True
            self.is_end = is_end
            stop = self._stop
        if stop:
            stop()

    def stops(self, stop: Callable[[], object]) -> None:
        """Call `stop` when the call is cancelled, or at once if it already was."""
        with self._lock:
            self._stop = stop
            is_late = self.is_requested
        if is_late:
            stop()


class RunningCalls:
    """The calls that are running. Each has its own thread, and progress if the client asked for it."""

    def __init__(self, outgoing: OutgoingLines) -> None:
        self._outgoing = outgoing
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[Cancellation, threading.Thread]] = {}

    def start(self, number: Any, token: Any, work: Callable[[Cancellation], None]) -> None:
        """Do the work of a request in a thread. `token` is that of its progress; None: nobody asked."""
        cancellation, done, key = Cancellation(), threading.Event(), key_of(number)

        def run() -> None:
            try:
                work(cancellation)
            finally:
                done.set()
                with self._lock:
                    if self._calls.get(key, (None,))[0] is cancellation:
                        del self._calls[key]

        thread = threading.Thread(target=run, name="tokcap.mcp.call", daemon=True)
        with self._lock:
            self._calls[key] = cancellation, thread
        thread.start()
        if token is not None:
            threading.Thread(target=self._report, args=(token, done), daemon=True).start()

    def cancel(self, number: Any) -> bool:
        """Stop one call; return whether it was running."""
        with self._lock:
            found = self._calls.get(key_of(number))
        if found:
            found[0].request()
        return found is not None

    def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """Wait a moment for all calls, then stop them, and wait until their commands have ended."""
        with self._lock:
            running = [*self._calls.values()]
        wait_for_threads([thread for _, thread in running], grace_seconds)
        for cancellation, _ in running:
            cancellation.request(is_end=True)
        wait_for_threads([thread for _, thread in running], END_SECONDS)

    def _report(self, token: Any, done: threading.Event) -> None:
        """Tell the client from time to time that the call is running, so that it goes on waiting."""
        started = time.monotonic()
        while not done.wait(PROGRESS_SECONDS):
            seconds = round(time.monotonic() - started)
            params = {"progressToken": token, "progress": seconds, "message": f"running for {seconds} s"}
            progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            self._outgoing.send(line_of(progress))


def wait_for_threads(threads: Sequence[threading.Thread], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
