"""`tokcap mcp wrap --url`: the proxy in front of a server that is reached over streamable HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fake_mcp_http import SESSION, http_server
from tests.support.mcp_client import Answer, Wire
from tests.support.processes import wait_for
from tokcap.errors import UsageError
from tokcap.mcp.wrap.event_stream import Event, events_in
from tokcap.mcp.wrap.headers import headers_of

LIMIT = 200


@pytest.fixture
def noted():
    with http_server() as noted:
        noted.offers_stream = False
        yield noted


def connected(tmp_path, noted, *options, **how) -> Wire:
    return Wire(tmp_path, "wrap", "-n", str(LIMIT), "--url", noted.url, *options, **how)


def test_results_are_capped_and_the_rest_is_read(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        assert wire.hello["serverInfo"]["name"] == "fake"
        tools = wire.request("tools/list", {})["result"]["tools"]
        assert [tool["name"] for tool in tools] == ["text", "tokcap_show"]
        assert "outputSchema" not in tools[0]
        answer = wire.call("text")
        assert answer.tokens <= LIMIT
        assert "; tokcap_show handle=" in answer.text
        found = wire.call("tokcap_show", handle=answer.handle, pattern="^line 2345$")
        assert found.text.endswith(":line 2345\n")
    assert wire.server.returncode == 0


def test_a_stream_of_events_is_passed_on_and_its_result_capped(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        number = wire.begin_call("stream")
        assert wire.receive()["method"] == "notifications/progress"
        answer = wire.receive()
        assert answer["id"] == number
        assert Answer.of_result(answer["result"]).tokens <= LIMIT


def test_an_interrupted_stream_is_continued(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        number = wire.begin_call("broken_stream")
        assert wire.receive()["method"] == "notifications/x"
        answer = wire.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == (number, "resumed")


def test_a_long_call_does_not_block_others(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        slow = wire.begin_call("wait")
        assert wire.call("echo", text="meanwhile").texts == ["meanwhile"]
        noted.may_finish.set()
        assert wire.receive()["id"] == slow


def test_the_session_and_the_version_are_named_and_the_session_is_ended(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        wire.call("echo", text="x")
    first, *others = noted.headers_of("POST")
    assert "mcp-session-id" not in first
    assert {each["mcp-session-id"] for each in others} == {SESSION}
    assert {each["mcp-protocol-version"] for each in others} == {"2025-06-18"}
    assert "text/event-stream" in first["accept"]
    assert [each["mcp-session-id"] for each in noted.headers_of("DELETE")] == [SESSION]


def test_requests_of_the_server_arrive_over_a_stream_of_its_own(tmp_path, noted):
    noted.offers_stream = True
    with connected(tmp_path, noted) as wire:
        asked = wire.receive()
        assert (asked["id"], asked["method"]) == ("s1", "roots/list")
        reply = {"jsonrpc": "2.0", "id": "s1", "result": {"roots": []}}
        wire.send(reply)
        wait_for(lambda: reply in noted.messages)


def test_failures_of_the_server_are_errors_with_its_words(tmp_path, noted):
    with connected(tmp_path, noted) as wire:
        number = wire.begin_call("refuse")
        answer = wire.receive()
        assert answer["id"] == number
        assert answer["error"]["message"] == "HTTP status 500 Internal Server Error: it is broken"
        wire.begin_call("error_body")
        assert wire.receive()["error"] == {"code": -32001, "message": "own words"}


def test_a_server_that_cannot_be_reached_is_an_error(tmp_path):
    with Wire(tmp_path, "wrap", "--url", "http://127.0.0.1:1/mcp", hello=None) as wire:
        answer = wire.request("initialize", {})
        assert "cannot be reached" in answer["error"]["message"]


def test_a_redirect_on_the_same_server_is_followed(tmp_path, noted):
    noted.url = noted.url.replace("/mcp", "/old")
    with connected(tmp_path, noted) as wire:
        assert wire.call("echo", text="x").texts == ["x"]


def test_a_secret_header_is_sent_and_not_in_the_list_of_processes(tmp_path, noted):
    file = tmp_path / "headers"
    file.write_text("X-From-File: from file\n\n")
    options = (
        "--header",
        "Authorization: Bearer ${SECRET}",
        "--header",
        f"@{file}",
        "--header",
        "X-Plain: a",
    )
    with connected(tmp_path, noted, *options, env={"SECRET": "s3cret"}) as wire:
        assert b"s3cret" not in Path(f"/proc/{wire.server.pid}/cmdline").read_bytes()
    for headers in noted.headers_of("POST"):
        assert headers["authorization"] == "Bearer s3cret"
        assert headers["x-from-file"] == "from file"
        assert headers["x-plain"] == "a"


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("no colon s3cret", "'Name: value' or '@FILE' is expected"),
        ("Authorization: ${NOT_SET}", "the variable NOT_SET is not set"),
        ("Authorization: ${NOT", "'${' without '}'"),
        ("@/nowhere", "cannot read /nowhere: No such file or directory"),
        ("Host: x", "Host is set by the proxy itself"),
        ("X: naïve", "the value of X has characters that cannot be sent"),
    ],
)
def test_a_bad_header_is_refused_and_not_repeated(inside, header, problem):
    with pytest.raises(UsageError) as caught:
        headers_of([header], {})
    assert str(caught.value) == f"--header: {problem}"
    ran = inside("mcp", "wrap", "--url", "http://127.0.0.1:1/", "--header", header)
    assert (ran.status, ran.err.count(b"\n")) == (2, 1)
    assert b"s3cret" not in ran.err


def test_events_are_read_as_the_standard_says():
    lines = iter(
        [
            *(b": comment\n", b"id: 7\n", b"data: one\r\n", b"data:two\n", b"\n"),
            *(b"retry: 1500\n", b"\n", b"event: x\n", b"data: last\n", b"\n", b"data: cut off"),
        ]
    )
    found = [*events_in(lambda: next(lines, b""))]
    assert found == [Event(b"one\ntwo", "7"), Event(retry_seconds=1.5), Event(b"last")]
