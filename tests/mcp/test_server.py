"""`tokcap mcp` as an agent uses it: a real process, nightly called by the client of the official package."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mcp_client import CLIENTS, answer_of
from tests.support.reference import recount
from tests.support.tiers import as_nightly, examples
from tokcap.cli.options import BY_KEY

LIMIT = 200

# Writes its process id to a file and ignores SIGTERM.
STUBBORN = "trap '' TERM; echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.05; done"


@pytest.fixture(scope="module", params=CLIENTS)
def agent(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("data"), "-n", str(LIMIT)) as agent:
        yield agent


def test_there_are_five_tools_and_text_is_all_that_they_return(agent):
    tools = agent.tools()
    assert [*tools] == ["run", "wait", "show", "grep", "budget_status"]
    assert agent.hello["serverInfo"]["name"] == "tokcap"
    assert all(tool["description"] for tool in tools.values())
    # A client that finds structured content may show its model nothing else.
    assert not any("outputSchema" in tool for tool in tools.values())
    assert agent.call("run", argv=["true"]).structured is None
    assert agent.call("show", handle="0000").structured is None
    assert not tools["run"].get("annotations", {}).get("readOnlyHint")
    assert tools["grep"]["annotations"]["readOnlyHint"]


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_the_tools_are_described_in_at_most_700_tokens(agent, separators):
    seen_by_model = [
        {key: tool[key] for key in ("name", "description", "inputSchema")} for tool in agent.tools().values()
    ]
    assert recount(json.dumps(seen_by_model, separators=separators).encode()) <= 700


def test_the_text_of_a_run_has_output_status_handle_and_next_call(agent):
    answer = agent.call("run", shell="seq 1 1000; exit 3", limit=100, keep="head")
    assert answer.texts[0].startswith("1\n2\n3\n")
    tool, arguments = answer.next_call
    handle, _, offset = arguments["handle"].partition("@")
    assert handle == answer.handle
    assert answer.texts[0].endswith(f"/2001 tokens; show handle={handle}@{offset}\n")
    assert answer.exit == 3
    # The command has failed, not the tool.
    assert not answer.is_error
    following = agent.call(tool, **arguments, limit=100)
    assert following.text.startswith(f"{int(offset) // 2 + 1}\n")


def test_the_exit_status_is_always_said(agent):
    assert agent.call("run", shell="echo fine").texts == ["fine\n", "[exit 0]\n"]
    assert agent.call("run", shell="printf fine").text == "fine\n[exit 0]\n"
    assert agent.call("run", argv=["true"]).texts == ["[exit 0; no output]\n"]
    killed = agent.call("run", shell="kill -9 $$")
    assert killed.texts == ["[exit 137: the command was killed by signal 9 (SIGKILL)]\n"]
    late = agent.call("run", argv=["sleep", "60"], timeout="200ms")
    assert late.exit == 124
    assert "timed out" in late.text


def test_each_stream_is_a_block_and_stderr_has_a_label(agent):
    answer = agent.call("run", shell="echo fine; echo broken >&2; exit 3")
    assert answer.texts == ["fine\n", "stderr:\nbroken\n", "[exit 3]\n"]
    assert agent.call("run", shell="echo broken >&2").texts == ["stderr:\nbroken\n", "[exit 0]\n"]
    merged = agent.call("run", shell="echo a; echo b >&2; echo c", stderr="merge")
    assert merged.texts == ["a\nb\nc\n", "[exit 0]\n"]
    assert agent.call("run", shell="echo b >&2", stderr="drop").texts == ["[exit 0; no output]\n"]


@pytest.mark.parametrize("limit", [60, *map(as_nightly, [100, 150])])
def test_a_structured_cut_is_a_document_and_the_next_call_is_a_block_of_its_own(agent, limit):
    document = json.dumps([{"id": number, "name": f"item {number}"} for number in range(300)])
    found: list[int] = []
    answer = agent.call("run", argv=["echo", document], limit=limit, keep="head")
    assert answer.exit == 0
    while len(found) <= 20:
        assert answer.tokens <= limit
        records = [record for record in json.loads(answer.texts[0]) if record != "[TRUNCATED]"]
        found += [value for record in records for name, value in record.items() if name == "id"]
        assert "[TRUNCATED] " in answer.texts[1]
        assert "tokcap show" not in answer.text
        tool, arguments = answer.next_call
        answer = agent.call(tool, **arguments, limit=limit, keep="head")
    assert found == list(range(len(found)))


def test_a_command_reads_its_own_input_and_never_the_protocol(agent, tmp_path):
    assert agent.call("run", argv=["cat"], stdin="from the agent\n").texts[0] == "from the agent\n"
    assert agent.call("run", argv=["cat"]).texts == ["[exit 0; no output]\n"]
    assert agent.call("run", argv=["pwd"], cwd=str(tmp_path)).texts[0] == f"{tmp_path}\n"
    assert agent.call("run", shell="echo $0 \"$(printf 'x y')\"").texts[0].endswith(" x y\n")


def test_stored_outputs_are_searched_and_addressed(agent):
    document = json.dumps({"items": [{"body": f"text {number}\nmore"} for number in range(200)]})
    handle = agent.call("run", argv=["cat"], stdin=document, limit=80).handle
    assert agent.call("show", handle=handle, pointer="/items/150/body").text == "text 150\nmore"
    handle = agent.call("run", shell="seq 1 500; echo oops >&2", limit=100).handle
    assert agent.call("show", handle=handle, stream="err").text == "oops\n"
    matches = agent.call("grep", handle=handle, pattern="^25.$", context=1)
    assert "250:498:250\n" in matches.text
    assert "249-496-249\n" in matches.text
    position = int(matches.text.splitlines()[1].split(":")[1])
    assert agent.call("show", handle=handle, offset=position, limit=100).text.startswith("250\n251\n")


@examples(25)
@given(
    out=st.text(max_size=600),
    err=st.text(max_size=200),
    status=st.integers(0, 255),
    limit=st.integers(1, 2 * LIMIT),
    keep=st.sampled_from(BY_KEY["keep"].kind.words),
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
    )
    assert not answer.is_error, answer.texts
    # The limit of the server applies if a call requests more.
    assert answer.tokens <= min(limit, LIMIT)
    if limit >= 20:
        assert f"exit {status}" in answer.texts[-1]
    page = agent.call("show", handle="@last", limit=limit, keep=keep, mode=mode)
    assert page.tokens <= min(limit, LIMIT)


BAD_CALLS = {
    "nothing to run": ("run", {}, "USAGE"),
    "two things to run": ("run", {"argv": ["true"], "shell": "true"}, "USAGE"),
    "no such argument": ("run", {"argv": ["true"], "limt": 5}, "USAGE"),
    "an argument that is not listed": ("run", {"argv": ["true"], "focus": "x"}, "USAGE"),
    "no limit of 0": ("run", {"argv": ["true"], "limit": 0}, "USAGE"),
    "no such directory": ("run", {"argv": ["true"], "cwd": "/proc/nowhere"}, "USAGE"),
    "no such command": ("run", {"argv": ["no-such-command"]}, "COMMAND_NOT_FOUND"),
    "no program": ("run", {"argv": ["/etc/passwd"]}, "COMMAND_NOT_EXECUTABLE"),
    "no such handle": ("show", {"handle": "0000"}, "NOT_FOUND"),
    "no line matches": ("grep", {"handle": "@last", "pattern": "never there"}, "NOT_FOUND"),
    "no such tool": ("rm", {}, "USAGE"),
    "a word without end": ("run", {"argv": ["no-such-command" * 2000]}, "COMMAND_NOT_FOUND"),
    "a name without end": ("run", {"argv": ["true"], "x" * 20_000: 1}, "USAGE"),
}


@pytest.mark.parametrize(("tool", "arguments", "code"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_refusal_is_a_tool_error_with_a_stable_code(agent, tool, arguments, code):
    agent.call("run", argv=["seq", "1", "300"], limit=60)
    answer = agent.call(tool, **arguments)
    assert answer.is_error
    assert answer.code == code
    assert "\n" not in answer.text.rstrip("\n") or "[TRUNCATED]" in answer.text
    assert answer.tokens <= LIMIT
    assert agent.call("run", argv=["echo", "still here"]).texts[0] == "still here\n"


def test_arguments_that_models_often_give_are_understood(agent):
    answer = agent.call("run", argv=["seq", "1", "300"], shell=None, limit="60", timeout="30", cwd=None)
    assert not answer.is_error
    assert answer.tokens <= 60
    assert agent.call("show", handle=answer.handle, offset="598", limit=50.0).text == "300\n"


def test_a_long_run_does_not_block_other_requests(agent, tmp_path):
    waits = agent.begin("run", shell="until [ -e flag ]; do sleep 0.02; done; echo seen", cwd=str(tmp_path))
    assert "no session" in agent.call("budget_status").text
    agent.ping()
    assert agent.call("run", argv=["echo", "meanwhile"]).texts[0] == "meanwhile\n"
    assert not waits.done()
    assert agent.call("run", argv=["touch", "flag"], cwd=str(tmp_path)).exit == 0
    assert answer_of(waits).texts[0] == "seen\n"


def test_a_pattern_that_runs_forever_does_not_block_other_requests(agent):
    handle = agent.call("run", argv=["echo", "a" * 2000 + "b"], limit=60).handle
    search = agent.begin("grep", handle=handle, pattern="(a+)+$")
    assert agent.call("run", argv=["echo", "meanwhile"]).texts[0] == "meanwhile\n"
    assert not search.done()
    search.cancel()
    assert agent.call("grep", handle=handle, pattern="ab$").text.startswith("1:")
    assert agent.call("run", argv=["echo", "still here"]).texts[0] == "still here\n"


def test_parallel_calls_get_their_own_results(agent):
    calls = [agent.begin("run", shell=f"seq {n} {n + 300}; echo e{n} >&2", limit=80) for n in range(6)]
    for number, call in enumerate(calls):
        answer = answer_of(call)
        assert answer.text.startswith(f"{number}\n")
        assert f"stderr:\ne{number}\n" in answer.texts
        assert answer.tokens <= 80


def test_a_command_in_the_background_is_read_while_it_runs(agent, tmp_path):
    loop = "while [ ! -e go ]; do sleep 0.02; done"
    started = agent.call(
        "run", shell=f"echo one; {loop}; seq 1 9000; exit 3", cwd=str(tmp_path), background=True
    )
    name = re.fullmatch(r"\[RUNNING\] wait handle=(@\w+)\n", started.text)[1]
    assert agent.call("wait", handle=name, until="^one$").text == "one\n[RUNNING]\n"
    assert agent.call("wait", timeout=0.01).text == "[RUNNING]\n"
    (tmp_path / "go").touch()
    found = agent.call("wait", limit=100)
    assert found.tokens <= 100
    while "MORE" not in found.text:
        found = agent.call("wait", limit=100)
    assert found.text.startswith("1\n2\n")
    assert agent.call("show", handle=name, offset=2, limit=60).text.startswith("1\n2\n")
    assert "EXITED 3" in agent.call("wait", handle=name, limit=100).text
    assert "background: true or false is expected" in agent.call("run", shell="true", background="x").text
    assert "no output has the name" in agent.call("wait", handle="@none").text
