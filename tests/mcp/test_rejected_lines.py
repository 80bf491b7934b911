"""Every request to `tokcap mcp` is answered, even if it is not text, not a request, or not JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.program import IMPORT_PATH

pytest.importorskip("mcp", reason="the package mcp is not installed: pip install 'tokcap[mcp]'")

TIMEOUT_SECONDS = 60
LIMIT = 60


class Wire:
    """A server, and lines as they are: the official client would not send most of these."""

    def __init__(self, data) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tokcap", "mcp", "-n", str(LIMIT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TOKCAP_DATA_DIR": str(data), "HOME": str(data), "PYTHONPATH": IMPORT_PATH},
        )
        self._number = 0
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        assert "result" in self.request("initialize", hello)
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))

    def send(self, line: str) -> None:
        self._server.stdin.write(line.encode() + b"\n")
        self._server.stdin.flush()

    def receive(self) -> dict:
        ready, _, _ = select.select([self._server.stdout], [], [], TIMEOUT_SECONDS)
        assert ready, "the server does not answer"
        return json.loads(self._server.stdout.readline())

    def ask(self, line: str) -> dict:
        self.send(line)
        return self.receive()

    def request(self, method: str, params: object) -> dict:
        self._number += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        answer = self.ask(line)
        assert answer["id"] == self._number
        return answer

    def call(self, name: str, arguments: dict) -> dict:
        return self.request("tools/call", {"name": name, "arguments": arguments})

    def close(self) -> None:
        self._server.stdin.close()
        assert self._server.wait(TIMEOUT_SECONDS) == 0
        self._server.stdout.close()


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    wire = Wire(tmp_path_factory.mktemp("data"))
    yield wire
    wire.close()


HALF = "a\ud800b"


@pytest.mark.parametrize(
    ("name", "arguments", "place"),
    [
        ("run", {"argv": ["echo", HALF]}, "argv.1"),
        ("run", {"argv": ["echo", "\udcff"]}, "argv.1"),
        ("run", {"shell": f"echo {HALF}"}, "shell"),
        ("run", {"shell": "cat", "stdin": HALF}, "stdin"),
        ("run", {"argv": ["ls"], "cwd": HALF}, "cwd"),
        ("run", {"argv": ["ls"], "fields": HALF}, "fields"),
        ("run", {"argv": ["ls"], "sentinel": HALF}, "sentinel"),
        ("run", {"argv": ["ls"], "timeout": HALF}, "timeout"),
        ("run", {"argv": ["ls"], "mode": HALF}, "mode"),
        ("run", {"argv": ["ls"], HALF: 1}, "params.arguments"),
        ("show", {"handle": HALF}, "handle"),
        ("show", {"handle": "@last", "pointer": HALF}, "pointer"),
        ("grep", {"handle": "@last", "pattern": HALF}, "pattern"),
        (HALF, {}, "params.name"),
    ],
)
def test_half_of_a_surrogate_pair_is_an_error_that_names_its_place(wire, name, arguments, place):
    answer = wire.call(name, arguments)
    result = answer["result"]
    assert result["isError"]
    assert result["structuredContent"]["error"]["code"] == "USAGE"
    text = result["content"][0]["text"]
    assert text.startswith(f"USAGE: {place}: ")
    assert "half of a surrogate pair" in text


def test_a_whole_surrogate_pair_is_a_character(wire):
    line = r'{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"run","arguments":'
    line += r'{"argv":["echo","\ud83d\ude00"]}}}'
    assert wire.ask(line)["result"]["content"][0]["text"] == "😀\n"


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("not json", None),
        ("[]", None),
        ("5", None),
        ('{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"run"', None),
        ('{"jsonrpc":"2.0","id":78}', 78),
        (r'{"jsonrpc":"2.0","id":79,"method":"x\ud800"}', 79),
        (r'{"jsonrpc":"2.0","id":"x\ud800","method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":84,"method":"ping","params":5}', 84),
        ('{"jsonrpc":"2.0","id":85,"method":"tools/call","params":{"name":5}}', 85),
        ('{"jsonrpc":"2.0","id":86,"method":"tools/call"}', 86),
        ('{"jsonrpc":"2.0","id":87,"method":"no/such/method"}', 87),
    ],
)
def test_what_is_not_a_request_is_an_error_too(wire, line, number):
    answer = wire.ask(line)
    assert answer["id"] == number
    assert answer["error"]["code"] < 0


@pytest.mark.parametrize("depth", [150, 500, 5000, 100_000])
def test_deep_arguments_are_answered(wire, depth):
    deep = "[" * depth + "]" * depth
    line = '{"jsonrpc":"2.0","id":88,"method":"tools/call","params":{"name":"run","arguments":{"argv":'
    answer = wire.ask(line + deep + "}}}")
    assert answer["id"] == 88
    assert answer["result"]["isError"]


def test_a_notification_is_not_answered(wire):
    wire.send(r'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"\ud800"}}')
    wire.send(r'{"jsonrpc":"2.0","id":5,"result":{"x":"\ud800"}}')
    assert wire.request("ping", {})["result"] == {}


TEXTS = st.text(st.characters(), max_size=6) | st.text(
    st.characters(categories=["Cs"]) | st.sampled_from("a\0\n"), max_size=4
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
ARGUMENTS = {
    "run": (
        "limit",
        "offset",
        "timeout",
        "cwd",
        "stdin",
        "stderr",
        "keep",
        "shape",
        "fields",
        "mode",
        "sentinel",
    ),
    "show": ("handle", "limit", "offset", "stream", "pointer", "keep", "shape", "fields", "mode", "sentinel"),
    "grep": ("handle", "pattern", "context", "limit", "offset", "stream", "sentinel"),
    "budget_status": (),
}


@st.composite
def calls(draw):
    name = draw(st.sampled_from([*ARGUMENTS]))
    names = st.sampled_from([*ARGUMENTS[name], "other"]) | TEXTS
    arguments = draw(st.dictionaries(names, VALUES, max_size=3))
    if name == "run":
        arguments |= {"argv": ["echo", *draw(st.lists(TEXTS, max_size=2))]}
    return name, arguments


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
def test_every_call_is_answered_whatever_its_arguments_are(wire, call):
    name, arguments = call
    answer = wire.call(name, arguments)
    assert ("result" in answer) != ("error" in answer)
    json.dumps(answer, ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        ("run", {"command": "ls"}, "run: unknown argument 'command'; did you mean shell?"),
        ("run", {"argv": ["ls"], "max_tokens": 5}, "run: unknown argument 'max_tokens'; did you mean limit?"),
        ("run", {"argv": ["ls"], "sentinal": ""}, "run: unknown argument 'sentinal'; did you mean sentinel?"),
        ("grep", {"handle": "@last", "regex": "x"}, "grep: unknown argument 'regex'; did you mean pattern?"),
        ("budget_status", {"x": 1}, "budget_status: unknown argument 'x'; it takes none"),
        ("run", {"argv": "ls -la"}, "argv: Input should be a valid list; pass a command line as shell"),
        (
            "run",
            {"argv": ["ls -la | head"]},
            "ls -la | head: command not found; pass a command line as shell",
        ),
        ("run", {"argv": ["no such"]}, "no such: command not found; pass a command line as shell"),
    ],
)
def test_a_call_that_cannot_be_made_says_what_to_do(wire, name, arguments, hint):
    result = wire.call(name, arguments)["result"]
    assert result["isError"]
    assert hint in result["content"][0]["text"]
