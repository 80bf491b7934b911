"""The fake MCP server over HTTP, in the process of the test. It notes every request."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.support import fake_mcp_server as fake

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSION = "session-1"


class Noted:
    """What a server was asked, and what it sends by itself."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.messages: list[object] = []
        self.answers_of_client = threading.Semaphore(0)
        self.may_finish = threading.Event()
        self.ended = threading.Event()
        self.offers_stream = True
        self.url = ""

    def headers_of(self, method: str) -> list[dict[str, str]]:
        return [headers for each, _, headers in self.requests if each == method]


def handler_of(noted: Noted) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def note(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            noted.requests.append((self.command, self.path, headers))

        def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def begin_events(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def event(self, message: object, number: str = "") -> None:
            lines = f"id: {number}\n" if number else ""
            self.wfile.write(f": comment\n{lines}event: message\r\ndata: {json.dumps(message)}\n\n".encode())
            self.wfile.flush()

        def do_POST(self) -> None:  # the name that the library calls
            self.note()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/old":
                self.reply(307, Location="/mcp")
                return
            message = json.loads(body)
            noted.messages.append(message)
            method, number = message.get("method"), message.get("id")
            if method == "initialize":
                result = {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "fake", "version": "1"},
                }
                whole = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, indent=2)
                self.reply(200, whole.encode(), Content_Type="application/json", Mcp_Session_Id=SESSION)
            elif self.headers.get("Mcp-Session-Id") != SESSION:
                self.reply(404, b"no such session")
            elif number is None or not method:
                noted.answers_of_client.release()
                self.reply(202)
            elif method == "tools/list":
                result = {"tools": [{"name": "text", "inputSchema": {}, "outputSchema": {}}]}
                self.json_answer(number, result)
            else:
                self.call(number, message["params"]["name"], message["params"].get("arguments") or {})

        def json_answer(self, number: object, result: object) -> None:
            body = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
            self.reply(200, body, Content_Type="application/json")

        def call(self, number: object, name: str, arguments: dict) -> None:
            answer = {"jsonrpc": "2.0", "id": number}
            if name == "stream":
                self.begin_events()
                progress = {"progressToken": "p", "progress": 1}
                self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
                self.event({**answer, "result": fake.result_of("text", {})})
            elif name == "broken_stream":
                # The answer is in another stream, which continues this one.
                self.begin_events()
                self.wfile.write(b"retry: 10\n\n")
                self.event({"jsonrpc": "2.0", "method": "notifications/x"}, json.dumps(number))
            elif name == "wait":
                noted.may_finish.wait(60)
                self.json_answer(number, fake.result_of("echo", {"text": "waited"}))
            elif name == "refuse":
                self.reply(500, b"it is broken")
            elif name == "error_body":
                problem = {**answer, "error": {"code": -32001, "message": "own words"}}
                self.reply(400, json.dumps(problem).encode(), Content_Type="application/json")
            else:
                self.json_answer(number, fake.result_of(name, arguments))

        def do_GET(self) -> None:  # as above
            self.note()
            last = self.headers.get("Last-Event-ID")
            if last:
                self.begin_events()
                result = fake.result_of("echo", {"text": "resumed"})
                self.event({"jsonrpc": "2.0", "id": json.loads(last), "result": result})
            elif noted.offers_stream:
                self.begin_events()
                self.event({"jsonrpc": "2.0", "id": "s1", "method": "roots/list"})
                noted.ended.wait(60)
            else:
                self.reply(405)

        def do_DELETE(self) -> None:  # as above
            self.note()
            noted.ended.set()
            self.reply(200)

    return Handler


@contextmanager
def http_server() -> Iterator[Noted]:
    """Serve on a free port of this machine."""
    noted = Noted()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(noted))
    server.daemon_threads = True
    noted.url = f"http://127.0.0.1:{server.server_port}/mcp"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield noted
    finally:
        noted.ended.set()
        noted.may_finish.set()
        server.shutdown()
        thread.join()
        server.server_close()
