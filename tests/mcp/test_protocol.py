"""The protocol of `tokcap mcp`, seen by a client that only writes and reads lines.

Every request is answered, even if it is not text, not a request, or not JSON.
"""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.loading import modules_loaded_for
from tests.support.mcp_client import HELLO, TIMEOUT_SECONDS, Answer, Wire
from tests.support.processes import state_of, wait_for
from tests.support.tiers import examples

LIMIT = 60
STUBBORN = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done"


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    with Wire(tmp_path_factory.mktemp("data"), "-n", str(LIMIT)) as wire:
        yield wire
        assert wire.close() == 0


@pytest.mark.parametrize("version", ["2099-01-01", "", None, 5])
def test_an_unknown_version_is_answered_with_the_newest_known_one(version, wire):
    hello = wire.request("initialize", {**HELLO, "protocolVersion": version})["result"]
    assert hello["protocolVersion"] == "2025-11-25"


def test_initialize_is_answered_before_the_tools_are_loaded():
    hello = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode()
    loaded = modules_loaded_for("mcp", stdin=b"")
    assert "tokcap.mcp.server" in loaded
    heavy = {"mcp", "pydantic", "asyncio", "typer", "click", "typing", "inspect", "dataclasses", "subprocess"}
    heavy |= {"tokcap.api.calls", "tokcap.mcp.tools", "tokcap.pipeline", "tokcap.shapes.text", "sqlite3"}
    assert loaded.isdisjoint(heavy)
    # And with a request, no library is needed at all.
    loaded = modules_loaded_for("mcp", stdin=hello + b"\n")
    assert loaded.isdisjoint({"mcp", "pydantic", "asyncio", "typer", "click"})


def test_a_batch_is_answered_by_a_batch(wire):
    wire.send(
        [
            {"jsonrpc": "2.0", "id": "a", "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/x"},
            {
                "jsonrpc": "2.0",
                "id": "b",
                "method": "tools/call",
                "params": {"name": "run", "arguments": {"shell": "echo hi"}},
            },
            {"jsonrpc": "2.0", "id": "c", "method": "no/such"},
        ]
    )
    answers = {answer["id"]: answer for answer in wire.receive()}
    assert answers["a"]["result"] == {}
    assert answers["b"]["result"]["content"][0]["text"] == "hi\n"
    assert answers["c"]["error"]["code"] == -32601
    wire.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
    assert wire.request("ping", {})["result"] == {}


@pytest.mark.parametrize(
    "method", ["resources/list", "prompts/list", "logging/setLevel", "completion/complete"]
)
def test_what_the_server_does_not_offer_is_an_unknown_method(wire, method):
    assert wire.request(method, {})["error"]["code"] == -32601


def test_a_client_that_asks_for_progress_gets_it(tmp_path):
    with Wire(tmp_path) as wire:
        params = {
            "name": "run",
            "arguments": {"shell": "sleep 2.5; echo done"},
            "_meta": {"progressToken": "p"},
        }
        number = wire.begin("tools/call", params)
        progress = wire.receive()
        assert progress["method"] == "notifications/progress"
        assert progress["params"]["progressToken"] == "p"
        answer = wire.receive()
        assert (answer["id"], answer["result"]["content"][0]["text"]) == (number, "done\n")


def test_a_cancelled_request_is_not_answered(wire, tmp_path):
    number = wire.begin_call("run", shell=STUBBORN, cwd=str(tmp_path))
    wait_for((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    wait_for(lambda: state_of(pid) == "")
    assert wire.request("ping", {})["result"] == {}
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [number]}})
    wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
    assert wire.request("ping", {})["result"] == {}


def test_only_the_protocol_is_written_to_stdout_and_the_server_ends_silently(tmp_path):
    with Wire(tmp_path, stderr=subprocess.PIPE) as wire:
        # Four descriptors: the three streams of the command and the directory that is listed.
        answer = wire.call(
            "run", shell="echo out; echo err >&2; echo up > /dev/stderr; echo $(ls /dev/fd | wc -l)"
        )
        assert answer.texts == ["out\n4\n", "stderr:\nerr\nup\n", "[exit 0]\n"]
        rest, errors = wire.server.communicate(timeout=TIMEOUT_SECONDS)
        assert (wire.server.returncode, rest, errors) == (0, b"", b"")


@pytest.mark.parametrize("how", ["end of input", "SIGINT", "SIGTERM", "closed stdout"])
def test_the_server_stops_its_commands_and_ends_silently(how, tmp_path):
    wire = Wire(tmp_path / "data", "--total", "500", stderr=subprocess.PIPE)
    server = wire.server
    wire.begin_call("run", shell=STUBBORN, cwd=str(tmp_path))
    wait_for((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    expected = 0
    if how == "end of input":
        server.stdin.close()
    elif how == "closed stdout":
        server.stdout.close()
        wire.begin("ping", {})
    else:
        number = signal.Signals[how]
        server.send_signal(number)
        expected = 128 + number
    assert server.wait(TIMEOUT_SECONDS) == expected
    wait_for(lambda: state_of(pid) == "")
    assert server.stderr.read() == b""
    for stream in (server.stdin, server.stdout, server.stderr):
        stream.close()


@pytest.mark.parametrize("command", ["echo done", "sleep 60"])
def test_a_call_that_runs_when_the_input_ends_is_answered(tmp_path, command):
    with Wire(tmp_path) as wire:
        number = wire.begin_call("run", shell=command)
        wire.server.stdin.close()
        answer = wire.receive()
        assert answer["id"] == number
        # The first command has a moment to end.
        assert "error" in answer or command == "echo done"
        assert "result" in answer or "the connection was closed" in answer["error"]["message"]
        assert wire.server.wait(TIMEOUT_SECONDS) == 0


def test_no_command_is_left_as_a_zombie(tmp_path):
    with Wire(tmp_path) as wire:
        for _ in range(3):
            wire.call("run", shell="sleep 0.01 & true")
            wire.call("grep", handle="@last", pattern="x")
        assert children_of_all_threads(wire.server.pid) == []


def children_of_all_threads(pid: int) -> list[str]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for each in lists for child in each.read_text().split()]


def test_without_the_package_mcp_the_server_works(tmp_path):
    code = "import sys; sys.modules['mcp'] = None; from tokcap.__main__ import main; main()"
    with Wire(tmp_path, command=("-c", code, "mcp")) as wire:
        assert wire.call("run", argv=["echo", "hi"]).texts == ["hi\n", "[exit 0]\n"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--session", "never-started"], 2),
        (["--tokenizer", "nonsense"], 125),
        (["-n", "0"], 2),
        (["--total", "0"], 2),
        (["surplus"], 2),
    ],
)
def test_a_server_with_bad_settings_does_not_start(arguments, status, inside, with_store):
    ran = inside("mcp", *arguments)
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.count(b"\n") == 1


HALF = "a\ud800b"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("run", {"argv": ["echo", HALF]}),
        ("run", {"shell": "cat", "stdin": "\udcff"}),
        ("run", {"argv": ["ls"], HALF: 1}),
        ("grep", {"handle": "@last", "pattern": HALF}),
        (HALF, {}),
    ],
)
def test_half_of_a_surrogate_pair_is_an_error(wire, name, arguments):
    answer = wire.call(name, **arguments)
    assert answer.text == "USAGE: half of a surrogate pair is not text"
    assert answer.is_error


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
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":84,"method":"ping","params":5}', 84),
        ('{"jsonrpc":"2.0","id":85,"method":"tools/call","params":{"name":5}}', 85),
        ('{"jsonrpc":"2.0","id":86,"method":"tools/call"}', 86),
        ('{"jsonrpc":"2.0","id":86,"method":"tools/call","params":{"name":"run","arguments":[]}}', 86),
        ('{"jsonrpc":"2.0","id":87,"method":"no/such/method"}', 87),
        ('{"jsonrpc":"2.0","id":1.5,"method":"no/such/method"}', 1.5),
        ('{"jsonrpc":"2.0","id":89,"method":"ping","params":' + "9" * 5000 + "}", 89),
    ],
)
def test_what_is_not_a_request_is_an_error_too(wire, line, number):
    answer = wire.ask_line(line)
    assert answer["id"] == number
    assert answer["error"]["code"] < 0


@pytest.mark.parametrize("depth", [150, 500, 5000, 100_000])
def test_deep_arguments_are_answered(wire, depth):
    deep = "[" * depth + "]" * depth
    line = '{"jsonrpc":"2.0","id":88,"method":"tools/call","params":{"name":"run","arguments":{"argv":'
    answer = wire.ask_line(line + deep + "}}}")
    assert answer["id"] == 88
    problem = answer["error"]["message"] if "error" in answer else answer["result"]["content"][0]["text"]
    assert "nested too deeply" in problem or "a list of strings is expected" in problem


def test_a_notification_is_not_answered(wire):
    wire.send_line(r'{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"\ud800"}}')
    wire.send_line(r'{"jsonrpc":"2.0","id":5,"result":{"x":"\ud800"}}')
    wire.send_line(b"")
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
    "run": "limit timeout cwd stdin stderr keep fields",
    "show": "handle limit offset stream pointer keep fields mode",
    "grep": "handle pattern context limit offset stream mode",
    "budget_status": "",
}


@st.composite
def calls(draw):
    name = draw(st.sampled_from([*ARGUMENTS]))
    names = st.sampled_from([*ARGUMENTS[name].split(), "other"]) | TEXTS
    arguments = draw(st.dictionaries(names, VALUES, max_size=3))
    if name == "run":
        arguments |= {"argv": ["echo", *draw(st.lists(TEXTS, max_size=2))]}
    return name, arguments


@examples(40)
@given(call=calls())
def test_every_call_is_answered_within_the_limit_whatever_its_arguments_are(wire, call):
    name, arguments = call
    answer = Answer.of_result(wire.request("tools/call", {"name": name, "arguments": arguments})["result"])
    answer.text.encode()
    assert answer.tokens <= LIMIT
