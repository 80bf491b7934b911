"""`tokcap mcp wrap --url`: the proxy in front of servers that are reached over streamable HTTP."""

import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Annotated

import pytest

from tests.support.mcp_client import ENVELOPE, Answer, Wire
from tests.support.processes import wait_for

LIMIT = 200


class RealServer:
    """A server of the official package, in a thread of the test."""

    def __init__(self, *, answers_as_json: bool) -> None:
        import uvicorn
        from mcp.server import MCPServer
        from mcp.server.mcpserver import Context
        from pydantic import Field

        self.may_finish = threading.Event()
        self.headers: list[dict[str, str]] = []
        self.deleted: list[str] = []
        server = MCPServer("real")

        @server.tool()
        def text(count: int = 3000) -> str:
            return "".join(f"line {number}\n" for number in range(count))

        @server.tool()
        def place(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
            return region

        @server.tool()
        async def wait(context: Context) -> str:
            import anyio.to_thread

            await context.report_progress(1, 2)
            await anyio.to_thread.run_sync(self.may_finish.wait)
            return "waited"

        self._app = server.streamable_http_app(json_response=answers_as_json)
        self._uvicorn = uvicorn.Server(
            uvicorn.Config(self._note, port=0, log_level="error", interface="asgi3")
        )
        self._thread = threading.Thread(target=self._uvicorn.run)

    async def _note(self, scope, receive, send) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            self.headers.append(headers)
            if scope["method"] == "DELETE":
                self.deleted.append(headers["mcp-session-id"])
        await self._app(scope, receive, send)

    def __enter__(self):
        self._thread.start()
        wait_for(lambda: self._uvicorn.started)
        port = self._uvicorn.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/mcp"
        return self

    def __exit__(self, *_: object) -> None:
        self.may_finish.set()
        self._uvicorn.should_exit = self._uvicorn.force_exit = True
        self._thread.join(60)


@pytest.fixture(params=[True, False], ids=["as JSON", "as events"])
def real(request):
    pytest.importorskip("mcp", reason="the package mcp is not installed: pip install '.[nightly]'")
    with RealServer(answers_as_json=request.param) as server:
        yield server


def connected(tmp_path, url, *options, **how) -> Wire:
    return Wire(tmp_path, "wrap", "-n", str(LIMIT), "--url", url, *options, **how)


@pytest.mark.nightly
class TestRealServer:
    def test_results_are_capped_and_the_rest_is_read(self, tmp_path, real):
        with connected(tmp_path, real.url) as wire:
            assert wire.hello["serverInfo"]["name"] == "real"
            tools = wire.request("tools/list", {})["result"]["tools"]
            assert [tool["name"] for tool in tools] == ["text", "place", "wait", "tokcap_show"]
            assert "outputSchema" in tools[0]
            answer = wire.call("text")
            assert answer.tokens <= LIMIT
            assert "; tokcap_show handle=" in answer.text
            found = wire.call("tokcap_show", handle=answer.handle, pattern="^line 2345$")
            assert found.text.endswith(":line 2345\n")
        assert wire.server.returncode == 0

    def test_modern_requests_are_repeated_in_headers(self, tmp_path, real):
        with connected(tmp_path, real.url, hello=None) as wire:
            for method in ("server/discover", "tools/list"):
                assert wire.request(method, {"_meta": ENVELOPE})["result"]["resultType"] == "complete"
            params = {"name": "place", "arguments": {"region": "naïve"}, "_meta": ENVELOPE}
            result = wire.request("tools/call", params)["result"]
            assert Answer.of_result(result).texts == ["naïve"]
        last = real.headers[-1]
        assert (last["mcp-method"], last["mcp-name"]) == ("tools/call", "place")
        assert last["mcp-param-region"].startswith("=?base64?")

    def test_a_long_call_does_not_block_others_and_its_progress_arrives(self, tmp_path, real):
        with connected(tmp_path, real.url) as wire:
            params = {"name": "wait", "arguments": {}, "_meta": {"progressToken": "p"}}
            slow = wire.begin("tools/call", params)
            quick = wire.begin_call("text", count=1)
            seen = []
            while not any(each.get("id") == quick for each in seen):
                seen.append(wire.receive())
            real.may_finish.set()
            while seen[-1].get("id") != slow:
                seen.append(wire.receive())
            assert Answer.of_result(seen[-1]["result"]).texts == ["waited"]
            noted = [each["params"]["progressToken"] for each in seen if "progress" in each.get("method", "")]
            # In a single JSON document there is no place for progress.
            assert noted in (["p"], [])

    def test_a_secret_header_is_sent_and_not_in_the_list_of_processes(self, tmp_path, real):
        given = ("Authorization: Bearer ${SECRET}", "X-Plain: a")
        options = [word for header in given for word in ("--header", header)]
        with connected(tmp_path, real.url, *options, env={"SECRET": "s3cret"}) as wire:
            assert b"s3cret" not in Path(f"/proc/{wire.server.pid}/cmdline").read_bytes()
        for headers in real.headers:
            assert headers["authorization"] == "Bearer s3cret"
            assert headers["x-plain"] == "a"


@contextmanager
def broken_server():
    """A server that answers every request with an error of HTTP."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # the name that the library calls
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(500)
            self.end_headers()
            self.wfile.write(b"it is broken")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/mcp"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.nightly
def test_failures_of_http_are_errors_with_the_words_of_the_server(tmp_path):
    pytest.importorskip("mcp")
    with broken_server() as url, connected(tmp_path, url, hello=None) as wire:
        for _ in range(2):
            answer = wire.request("initialize", {})
            assert answer["error"]["message"] == "HTTP status 500 Internal Server Error: it is broken"
    with connected(tmp_path, "http://127.0.0.1:1/mcp", hello=None) as wire:
        for _ in range(2):
            assert "the server cannot be reached" in wire.request("initialize", {})["error"]["message"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--header", "no colon s3cret"], "--header: 'Name: value' is expected"),
        (["--header", "Authorization: ${NOT_SET}"], "--header: the variable NOT_SET is not set"),
        (["--header", "X: naïve"], "--header: the value of X has characters that cannot be sent"),
        (["--url", "ftp://x/"], "--url: 'ftp://x/' is not a URL such as https://example.com/mcp"),
        (["--url", "http://me:s3cret@x/"], "--url: a password in a URL is not supported; use --header"),
    ],
)
@pytest.mark.nightly
def test_a_bad_header_or_url_is_refused_and_not_repeated(inside, words, problem):
    pytest.importorskip("mcp")
    ran = inside("mcp", "wrap", "--url", "http://127.0.0.1:1/", *words)
    assert (ran.status, ran.err.decode()) == (2, f"tokcap: mcp wrap: {problem}\n")


def test_without_the_package_the_command_that_installs_it_is_named(inside, monkeypatch):
    monkeypatch.delitem(sys.modules, "tokcap.mcp.http_server", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    ran = inside("mcp", "wrap", "--url", "http://127.0.0.1:1/")
    assert ran.status == 2
    assert ran.err.startswith(b"tokcap: mcp wrap: --url needs a package; install it: ")
