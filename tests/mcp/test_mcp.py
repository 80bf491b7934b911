"""`tokcap mcp` as an agent uses it: a real process, called by the client of the official package."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import hidden_failures
from tests.support.program import IMPORT_PATH
from tests.support.reference import recount
from tokcap.cli.options import BY_KEY
from tokcap.core.response import Meta

if TYPE_CHECKING:
    from pathlib import Path

mcp = pytest.importorskip("mcp", reason="the package mcp is not installed: pip install 'tokcap[mcp]'")

TIMEOUT_SECONDS = 60
LIMIT = 200

# Writes its process id to a file and ignores SIGTERM.
STUBBORN = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done"


class Agent:
    """A client session with its own server. A thread keeps it open, so tests can call it like a function."""

    def __init__(self, data: Path, *arguments: str, directory: Path | None = None) -> None:
        self._server = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "tokcap", "mcp", *arguments],
            env={"TOKCAP_DATA_DIR": str(data), "HOME": str(data), "PYTHONPATH": IMPORT_PATH},
            cwd=directory,
        )
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._held_open()])

    async def _held_open(self) -> None:
        self._over = asyncio.Event()
        async with (
            mcp.stdio_client(self._server) as (reading, writing),
            mcp.ClientSession(reading, writing) as session,
        ):
            self.hello = await session.initialize()
            self._session = session
            self._ready.set()
            await self._over.wait()

    def __enter__(self) -> Agent:
        self._thread.start()
        assert self._ready.wait(TIMEOUT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(TIMEOUT_SECONDS)
        self._loop.close()

    def begin(self, name: str, **arguments: object):
        """Start a call without waiting for its result."""
        return asyncio.run_coroutine_threadsafe(self._session.call_tool(name, arguments), self._loop)

    def call(self, name: str, **arguments: object) -> Answer:
        return Answer(self.begin(name, **arguments).result(TIMEOUT_SECONDS))

    def tools(self) -> dict[str, object]:
        listed = asyncio.run_coroutine_threadsafe(self._session.list_tools(), self._loop)
        return {tool.name: tool for tool in listed.result(TIMEOUT_SECONDS).tools}


class Answer:
    def __init__(self, result) -> None:
        self.is_error = result.is_error
        self.texts = [block.text for block in result.content]
        self.facts = result.structured_content
        hidden_failures.look_at(json.dumps(self.facts), *self.texts)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def code(self) -> str | None:
        return self.facts.get("error", {}).get("code")

    @property
    def tokens(self) -> int:
        """The tokens of all text, counted by tiktoken."""
        return sum(recount(text.encode()) for text in self.texts)


@pytest.fixture(scope="module")
def agent(tmp_path_factory):
    with Agent(tmp_path_factory.mktemp("data"), "-n", str(LIMIT)) as agent:
        yield agent


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was not created"
        time.sleep(0.02)
    return path.read_text()


def wait_for_exit(pid: int) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() < deadline, f"process {pid} is still running"
        time.sleep(0.02)


def test_there_are_four_tools_with_output_schemas(agent):
    tools = agent.tools()
    assert [*tools] == ["run", "show", "grep", "budget_status"]
    assert agent.hello.server_info.name == "tokcap"
    for tool in tools.values():
        assert tool.description
        assert tool.output_schema["type"] == "object"
    for name in ("run", "show", "grep"):
        # The names are the same as in the envelope.
        own = {"blocks", "continue", "error", "warnings"}
        assert {*tools[name].output_schema["properties"]} - own <= {*Meta._fields}
        assert tools[name].output_schema["required"] == ["truncated", "returned_tokens", "blocks"]
    assert not tools["run"].annotations.read_only_hint
    assert tools["grep"].annotations.read_only_hint


def test_the_values_of_arguments_are_those_of_the_options(agent):
    tools = agent.tools()
    # With "pass", the command would write to the streams of the server.
    absent = {"stderr": {"pass"}}
    for tool in ("run", "show", "grep"):
        for name, argument in tools[tool].input_schema["properties"].items():
            if "enum" in argument:
                row = BY_KEY[name]
                assert {*argument["enum"]} | absent.get(name, set()) == {*row.kind.words}
                assert argument["default"] == row.default


def test_the_tools_are_described_in_few_tokens(agent):
    seen_by_model = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in agent.tools().values()
    ]
    assert recount(json.dumps(seen_by_model).encode()) < 1300


@pytest.mark.parametrize("limit", [45, 60, 120])
def test_a_structured_cut_has_the_next_call_in_a_block_of_its_own(agent, limit):
    document = json.dumps([{"id": number, "name": f"item {number}"} for number in range(300)])
    found, answer = [], agent.call("run", argv=["echo", document], limit=limit)
    while True:
        facts = answer.facts
        texts = answer.texts
        assert answer.tokens == facts["returned_tokens"] <= limit
        records = [record for record in json.loads(texts[0]) if record != "[TRUNCATED]"]
        found += [value for record in records for name, value in record.items() if name == "id"]
        if "continue" not in facts:
            break
        assert facts["blocks"] == ["out", "next"]
        handle, offset = facts["handle"], facts["next_offset"]
        assert texts[1].startswith("[TRUNCATED] ")
        assert f"next: show handle={handle} offset={offset}" in texts[1]
        assert "tokcap show" not in texts[1]
        assert facts["continue"]["offset"] == offset
        if len(found) > 20:
            break
        answer = agent.call("show", **facts["continue"])
    assert found == list(range(len(found)))
    assert len(found) > 20


def test_the_next_call_of_a_search_is_a_search(agent):
    agent.call("run", argv=["seq", "1", "3000"], limit=60)
    answer = agent.call("grep", handle="@last", pattern="7$", limit=60)
    assert "; next: grep handle=" in answer.text
    following = agent.call("grep", **answer.facts["continue"])
    assert int(following.text.split(":")[0]) > int(answer.text.split(":")[0])


def test_a_run_returns_text_and_facts_about_it(agent):
    answer = agent.call("run", argv=["seq", "1", "1000"], limit=60)
    assert answer.text.startswith("1\n2\n3\n")
    facts = answer.facts
    assert answer.text.endswith(f"; next: show handle={facts['handle']} offset=32\n")
    assert (facts["truncated"], facts["next_offset"], facts["exit_code"]) == (True, 32, 0)
    assert facts["total_tokens"] == 2001
    assert facts["handle"] in answer.text
    assert answer.tokens == facts["returned_tokens"] <= 60
    assert not answer.is_error


def test_each_stream_is_a_block_and_a_failure_is_a_message(agent):
    answer = agent.call("run", shell="echo fine; echo broken >&2; exit 3")
    assert answer.texts == ["fine\n", "broken\n", "the command exited with status 3"]
    assert answer.facts["blocks"] == ["out", "err", "status"]
    assert (answer.facts["exit_code"], answer.code) == (3, "COMMAND_FAILED")
    # The command has failed, not the tool.
    assert not answer.is_error
    assert agent.call("run", shell="echo a; echo b >&2; echo c", stderr="merge").texts == ["a\nb\nc\n"]
    assert agent.call("run", shell="echo b >&2", stderr="drop").facts["blocks"] == ["status"]


def test_a_command_reads_its_own_input_and_never_the_protocol(agent, tmp_path):
    assert agent.call("run", argv=["cat"], stdin="from the agent\n").text == "from the agent\n"
    assert agent.call("run", argv=["cat"]).facts["blocks"] == ["status"]
    assert agent.call("run", argv=["pwd"], cwd=str(tmp_path)).text == f"{tmp_path}\n"
    assert agent.call("run", shell="echo $0 \"$(printf 'x y')\"").text.endswith(" x y\n")


def test_a_timeout_is_a_result(agent):
    answer = agent.call("run", argv=["sleep", "60"], timeout="200ms")
    assert (answer.facts["exit_code"], answer.code) == (124, "TIMEOUT")
    assert "timed out" in answer.text


@pytest.mark.parametrize("limit", [7, 40, LIMIT])
def test_pages_fetched_by_next_offset_join_to_the_output(agent, limit):
    script = "for n in $(seq 1 150); do echo \"line $n naïve 🙂 'quoted'\"; done; printf 'no newline'"
    expected = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode()
    page = agent.call("run", shell=script, limit=limit, sentinel="")
    shown = page.text
    while "next_offset" in page.facts:
        assert page.facts["truncated"]
        page = agent.call(
            "show",
            handle=page.facts["handle"],
            offset=page.facts["next_offset"],
            limit=limit,
            sentinel="",
        )
        assert page.tokens <= limit
        shown += page.text
    assert shown == expected


def test_stored_outputs_are_searched_and_addressed(agent):
    document = json.dumps({"items": [{"body": f"text {number}\nmore"} for number in range(200)]})
    handle = agent.call("run", argv=["cat"], stdin=document, limit=50).facts["handle"]
    assert agent.call("show", handle=handle, pointer="/items/150/body").text == "text 150\nmore"
    handle = agent.call("run", shell="seq 1 500; echo oops >&2", limit=20).facts["handle"]
    assert agent.call("show", handle=handle, stream="err").text == "oops\n"
    matches = agent.call("grep", handle=handle, pattern="^25.$", context=1)
    assert "250:498:250\n" in matches.text
    assert "249-496-249\n" in matches.text
    position = int(matches.text.splitlines()[1].split(":")[1])
    assert agent.call("show", handle=handle, offset=position, limit=4, sentinel="").text == "250\n251\n"


def test_a_call_cannot_exceed_the_limit_of_the_server(agent):
    answer = agent.call("run", argv=["seq", "1", "5000"], limit=10**6)
    handle = answer.facts["handle"]
    others = [
        agent.call("show", handle=handle, limit=10**6),
        agent.call("show", handle=handle, offset=500),
        agent.call("grep", handle=handle, pattern="7", context=2, limit=10**6),
    ]
    for found in (answer, *others):
        assert LIMIT // 2 < found.tokens <= LIMIT
        assert found.facts["truncated"]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    out=st.text(max_size=600),
    err=st.text(max_size=200),
    status=st.integers(0, 255),
    limit=st.integers(1, 2 * LIMIT),
    keep=st.sampled_from(["head", "tail", "ends"]),
    mode=st.sampled_from(["raw", "table", "summary", "handle_only"]),
)
def test_no_answer_recounts_above_its_limit(agent, out, err, status, limit, keep, mode):
    script = 'cat; printf "%s" "$1" >&2; exit "$2"'
    answer = agent.call(
        "run",
        argv=["sh", "-c", script, "sh", err.replace("\0", ""), str(status)],
        stdin=out,
        limit=limit,
        keep=keep,
        mode=mode,
    )
    assert not answer.is_error, answer.texts
    # The limit of the server applies if a call requests more.
    assert answer.tokens <= min(limit, LIMIT)
    assert answer.facts["returned_tokens"] == answer.tokens
    assert answer.facts["exit_code"] == status
    assert len(answer.facts["blocks"]) == len(answer.texts)


BAD_CALLS = {
    "nothing to run": ("run", {}, "USAGE"),
    "two things to run": ("run", {"argv": ["true"], "shell": "true"}, "USAGE"),
    "no such argument": ("run", {"argv": ["true"], "limt": 5}, "USAGE"),
    "a word as limit": ("run", {"argv": ["true"], "limit": "many"}, "USAGE"),
    "no limit of 0": ("run", {"argv": ["true"], "limit": 0}, "USAGE"),
    "no such choice": ("run", {"argv": ["true"], "keep": "middle"}, "USAGE"),
    "no such directory": ("run", {"argv": ["true"], "cwd": "/nowhere"}, "USAGE"),
    "a NUL in a word": ("run", {"argv": ["a\0b"]}, "USAGE"),
    "no such command": ("run", {"argv": ["no-such-command"]}, "COMMAND_NOT_FOUND"),
    "no program": ("run", {"argv": ["/etc/passwd"]}, "COMMAND_NOT_EXECUTABLE"),
    "no such handle": ("show", {"handle": "0000"}, "NOT_FOUND"),
    "a handle is missing": ("show", {}, "USAGE"),
    "no pattern": ("grep", {"handle": "@last", "pattern": ""}, "USAGE"),
    "half a pattern": ("grep", {"handle": "@last", "pattern": "("}, "USAGE"),
    "no line matches": ("grep", {"handle": "@last", "pattern": "never there"}, "NOT_FOUND"),
    "no such tool": ("rm", {}, "USAGE"),
    "a word without end": ("run", {"argv": ["no-such-command" * 2000]}, "COMMAND_NOT_FOUND"),
    "a name without end": ("run", {"argv": ["true"], "x" * 20_000: 1}, "USAGE"),
}


@pytest.mark.parametrize(("tool", "arguments", "code"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refusal_is_a_tool_error_with_a_stable_code(agent, tool, arguments, code):
    agent.call("run", argv=["seq", "1", "300"], limit=20)
    answer = agent.call(tool, **arguments)
    assert answer.is_error
    assert answer.code == code
    assert answer.text.startswith(f"{code}: ")
    assert answer.facts["truncated"] == ("[TRUNCATED]" in answer.text)
    assert "\n" not in answer.text.rstrip("\n") or answer.facts["truncated"]
    assert answer.tokens <= LIMIT
    assert agent.call("run", argv=["echo", "still here"]).text == "still here\n"


def test_a_long_run_does_not_block_other_requests(agent, tmp_path):
    waits = agent.begin("run", shell="until [ -e flag ]; do sleep 0.02; done; echo seen", cwd=str(tmp_path))
    assert agent.call("budget_status").facts["token_limit"] == LIMIT
    assert agent.call("run", argv=["echo", "meanwhile"]).text == "meanwhile\n"
    assert not waits.done()
    assert agent.call("run", argv=["touch", "flag"], cwd=str(tmp_path)).facts["exit_code"] == 0
    assert Answer(waits.result(TIMEOUT_SECONDS)).text == "seen\n"


def test_a_pattern_that_runs_forever_does_not_block_other_requests(agent):
    handle = agent.call("run", argv=["echo", "a" * 400 + "b"], limit=5).facts["handle"]
    search = agent.begin("grep", handle=handle, pattern="(a+)+$")
    assert agent.call("run", argv=["echo", "meanwhile"]).text == "meanwhile\n"
    assert not search.done()
    search.cancel()
    assert agent.call("grep", handle=handle, pattern="ab$").text.startswith("1:")
    assert agent.call("run", argv=["echo", "still here"]).text == "still here\n"


def test_parallel_calls_get_their_own_results(agent):
    calls = [agent.begin("run", shell=f"seq {n} {n + 300}; echo e{n} >&2", limit=50) for n in range(12)]
    for number, call in enumerate(calls):
        answer = Answer(call.result(TIMEOUT_SECONDS))
        assert answer.text.startswith(f"{number}\n")
        assert f"e{number}\n" in answer.texts
        assert answer.tokens <= 50


def test_a_cancelled_request_stops_its_command(agent, tmp_path):
    call = agent.begin("run", shell=STUBBORN, cwd=str(tmp_path))
    pid = int(wait_for(tmp_path / "pid"))
    call.cancel()
    wait_for_exit(pid)
    assert agent.call("run", argv=["echo", "still here"]).text == "still here\n"


def test_results_are_charged_to_the_session_until_it_is_exhausted(tmp_path, tokcap):
    data = tmp_path / "data"
    with Agent(data, "-n", "100", "--total", "260") as agent:
        # The message about a failure is charged too.
        used = agent.call("run", argv=["false"]).tokens
        assert used
        while True:
            status = agent.call("budget_status")
            assert (status.facts["used"], status.facts["remaining"]) == (used, max(260 - used, 0))
            assert status.facts["total"] == 260
            if status.facts["remaining"] < 40:
                break
            marker = tmp_path / f"ran-{used}"
            answer = agent.call("run", shell=f"touch '{marker}'; seq 1 1000; exit 5")
            assert not answer.is_error
            assert marker.exists()
            used += answer.tokens
            assert answer.facts["budget_remaining"] == max(260 - used, 0)
        refused = agent.call("run", argv=["touch", str(tmp_path / "too-much")])
        assert refused.is_error
        assert refused.code == "BUDGET_EXHAUSTED"
        assert not (tmp_path / "too-much").exists()
        assert agent.call("show", handle="@last").code == "BUDGET_EXHAUSTED"
        running = tokcap("budget", "list", "-o", "json", env={"TOKCAP_DATA_DIR": str(data)}).json["data"]
        assert [session["used"] for session in running] == [used]
    # A session without a name ends with the server.
    assert tokcap("budget", "list", "-o", "json", env={"TOKCAP_DATA_DIR": str(data)}).json["data"] == []


def test_an_error_is_charged_like_an_answer(tmp_path):
    with Agent(tmp_path / "data", "-n", "100", "--total", "1000") as agent:
        used = 0
        for tool, arguments in (
            ("show", {"handle": "ffffffffffff"}),
            ("run", {"argv": ["no-such-command"]}),
            ("run", {"argv": ["x" * 2000]}),
        ):
            answer = agent.call(tool, **arguments)
            assert answer.is_error
            used += answer.tokens
            assert agent.call("budget_status").facts["used"] == used


def test_a_named_session_is_shared_and_stays_after_the_server(tmp_path, tokcap):
    data = tmp_path / "data"
    variables = {"TOKCAP_DATA_DIR": str(data), "TOKCAP_SESSION": "work"}
    assert tokcap("budget", "start", "work", "--total", "1000", env=variables).status == 0
    with Agent(data, "--session", "work", "-n", "100") as agent:
        shown = agent.call("run", argv=["seq", "1", "20"]).tokens
        tokcap("budget", "record", "--input", "300", env=variables)
        assert agent.call("budget_status").facts["used"] == shown + 300
    assert tokcap("budget", "status", "-o", "json", env=variables).json["data"]["used"] == shown + 300


def test_without_a_session_only_the_limit_applies(agent):
    status = agent.call("budget_status")
    assert status.facts == {"token_limit": LIMIT}
    assert "no session" in status.text
    assert "budget_remaining" not in agent.call("run", argv=["true"]).facts


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def start_bare(tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a server without the client of the package, to see its raw bytes."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tokcap", "mcp", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TOKCAP_DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": IMPORT_PATH},
    )
    send(server, HELLO)
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "tokcap"
    send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    return server


def send(server: subprocess.Popen[bytes], message: object) -> None:
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def send_run(server: subprocess.Popen[bytes], **arguments: object) -> None:
    params = {"name": "run", "arguments": arguments}
    send(server, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})


def test_only_the_protocol_is_written_to_stdout_and_the_server_ends_silently(tmp_path):
    server = start_bare(tmp_path)
    # Four descriptors: the three streams of the command and the directory that is listed.
    send_run(server, shell="echo out; echo err >&2; echo up > /dev/stderr; echo $(ls /dev/fd | wc -l)")
    answer = json.loads(server.stdout.readline())["result"]
    assert [block["text"] for block in answer["content"]] == ["out\n4\n", "err\nup\n"]
    rest, errors = server.communicate(timeout=TIMEOUT_SECONDS)
    assert (server.returncode, rest, errors) == (0, b"", b"")


@pytest.mark.parametrize("how", ["end of input", "SIGINT", "SIGTERM", "closed stdout"])
def test_the_server_stops_its_commands_and_ends_silently(how, tmp_path):
    server = start_bare(tmp_path, "--total", "500")
    send_run(server, shell=STUBBORN, cwd=str(tmp_path))
    pid = int(wait_for(tmp_path / "pid"))
    expected = 0
    if how == "end of input":
        server.stdin.close()
    elif how == "closed stdout":
        server.stdout.close()
        send(server, {"jsonrpc": "2.0", "id": 3, "method": "ping"})
    else:
        number = signal.Signals[how]
        server.send_signal(number)
        expected = 128 + number
    assert server.wait(TIMEOUT_SECONDS) == expected
    wait_for_exit(pid)
    assert server.stderr.read() == b""
    for stream in (server.stdin, server.stdout, server.stderr):
        stream.close()


def test_without_the_package_one_line_names_what_to_install(tmp_path):
    code = "import sys; sys.modules['mcp'] = None; from tokcap.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "mcp"], capture_output=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 125
    assert done.stdout == b""
    assert done.stderr.startswith(b"tokcap: mcp: ")
    assert done.stderr.endswith(b"pip install 'mcp<3,>=2.0'\n")


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
def test_a_server_with_bad_settings_does_not_start(arguments, status, tokcap, with_store):
    ran = tokcap("mcp", *arguments)
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.count(b"\n") == 1


def test_variables_set_the_limits_of_the_server(tmp_path, monkeypatch, with_store):
    monkeypatch.setenv("TOKCAP_TOKEN_LIMIT", "33")
    server = start_bare(tmp_path)
    send_run(server, argv=["seq", "1", "1000"])
    answer = json.loads(server.stdout.readline())["result"]
    assert recount(answer["content"][0]["text"].encode()) <= 33
    server.communicate(timeout=TIMEOUT_SECONDS)
