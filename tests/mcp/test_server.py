"""`tokcap mcp` as an agent uses it: a real process, nightly called by the client of the official package."""

from __future__ import annotations

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.mcp_client import CLIENTS, answer_of
from tests.support.processes import state_of, wait_for
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


def test_there_are_four_tools_and_text_is_all_that_they_return(agent):
    tools = agent.tools()
    assert [*tools] == ["run", "show", "grep", "budget_status"]
    assert agent.hello["serverInfo"]["name"] == "tokcap"
    assert all(tool["description"] for tool in tools.values())
    # A client that finds structured content may show its model nothing else.
    assert not any("outputSchema" in tool for tool in tools.values())
    assert agent.call("run", argv=["true"]).structured is None
    assert agent.call("show", handle="0000").structured is None
    assert not tools["run"].get("annotations", {}).get("readOnlyHint")
    assert tools["grep"]["annotations"]["readOnlyHint"]


def test_the_server_offers_only_tools(agent):
    assert [*agent.hello["capabilities"]] == ["tools"]


def test_the_values_of_arguments_are_those_of_the_options(agent):
    tools = agent.tools()
    # With "pass", the command would write to the streams of the server.
    absent = {"stderr": {"pass"}}
    for tool in ("run", "show", "grep"):
        for name, argument in tools[tool]["inputSchema"]["properties"].items():
            if "enum" in argument:
                assert {*argument["enum"]} | absent.get(name, set()) == {*BY_KEY[name].kind.words}


@pytest.mark.parametrize("separators", [None, (",", ":")])
def test_the_tools_are_described_in_at_most_600_tokens(agent, separators):
    seen_by_model = [
        {key: tool[key] for key in ("name", "description", "inputSchema")} for tool in agent.tools().values()
    ]
    assert recount(json.dumps(seen_by_model, separators=separators).encode()) <= 600


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


@pytest.mark.parametrize("limit", [20, as_nightly(30), 59, *map(as_nightly, [60, 100]), LIMIT])
def test_room_for_the_exit_status_is_kept_in_every_useful_limit(agent, limit):
    for script in ("seq 1 1000; exit 7", "seq 1 1000 >&2; exit 7", "seq 1 999; seq 1 999 >&2; exit 7"):
        answer = agent.call("run", shell=script, limit=limit)
        assert answer.text.rstrip().endswith(("[exit 7]", "]"))
        assert "exit 7" in answer.texts[-1]
        assert answer.tokens <= limit


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


def test_the_next_call_of_a_search_is_a_search(agent):
    agent.call("run", argv=["seq", "1", "3000"], limit=60)
    answer = agent.call("grep", handle="@last", pattern="7$", limit=60)
    tool, arguments = answer.next_call
    assert (tool, arguments["pattern"]) == ("grep", "7$")
    following = agent.call(tool, **arguments, mode="raw")
    assert int(following.text.split(":")[0]) > int(answer.text.split(":")[0])


@pytest.mark.parametrize("mode", ["summary", "handle_only"])
@pytest.mark.parametrize("script", ["seq 1 500", "seq 1 500 >&2", "echo '{\"a\": [1, 2]}'"])
def test_a_description_names_tool_calls_and_no_shell_command(agent, mode, script):
    answer = agent.call("run", shell=script, mode=mode)
    assert "tokcap show" not in answer.text
    assert "--" not in answer.text
    assert "; show handle=" in answer.text
    stream = "err" if ">&2" in script else "out"
    assert ("stream=err" in answer.text) == (stream == "err")
    assert agent.call("show", handle=answer.handle, stream=stream).texts


def test_a_description_that_is_cut_keeps_its_first_line(agent):
    answer = agent.call("run", argv=["seq", "1", "300"], mode="summary", limit=100)
    assert answer.texts[0].startswith("[nave401098473] text, 300 lines, ")


def test_what_fails_is_shown_though_it_is_in_the_middle(agent):
    script = "seq 1 500; echo 'error: disk is full'; seq 501 1000; exit 1"
    assert "\nerror: disk is full\n" in agent.call("run", shell=script).text


def test_a_command_reads_its_own_input_and_never_the_protocol(agent, tmp_path):
    assert agent.call("run", argv=["cat"], stdin="from the agent\n").texts[0] == "from the agent\n"
    assert agent.call("run", argv=["cat"]).texts == ["[exit 0; no output]\n"]
    assert agent.call("run", argv=["pwd"], cwd=str(tmp_path)).texts[0] == f"{tmp_path}\n"
    assert agent.call("run", shell="echo $0 \"$(printf 'x y')\"").texts[0].endswith(" x y\n")


@pytest.mark.parametrize("limit", [100, LIMIT])
def test_pages_without_a_mark_join_to_the_output(agent, limit):
    script = "for n in $(seq 1 150); do echo \"line $n naïve 🙂 'quoted'\"; done; printf 'no newline'"
    expected = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode()
    page = agent.call("run", shell=script, limit=limit, sentinel="", keep="head")
    shown = page.texts[0]
    while page.next_call:
        tool, arguments = page.next_call
        page = agent.call(tool, **arguments, limit=limit)
        assert page.tokens <= limit
        shown += page.texts[0]
    assert shown == expected


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
    assert agent.call("show", handle=handle, offset=position, limit=4, sentinel="").text == "250\n251\n"


def test_a_call_cannot_exceed_the_limit_of_the_server(agent):
    answer = agent.call("run", argv=["seq", "1", "5000"], limit=10**6)
    handle = answer.handle
    others = [
        agent.call("show", handle=handle, limit=10**6),
        agent.call("show", handle=handle, offset=500),
        agent.call("grep", handle=handle, pattern="7", context=2, limit=10**6),
    ]
    for found in (answer, *others):
        assert LIMIT // 2 < found.tokens <= LIMIT
        assert found.next_call


@examples(25)
@given(
    out=st.text(max_size=600),
    err=st.text(max_size=200),
    status=st.integers(0, 255),
    limit=st.integers(1, 2 * LIMIT),
    keep=st.sampled_from(BY_KEY["keep"].kind.words),
    mode=st.sampled_from(["raw", "table", "summary", "handle_only"]),
    sentinel=st.sampled_from(["[TRUNCATED]", ""]),
)
def test_no_answer_recounts_above_its_limit(agent, out, err, status, limit, keep, mode, sentinel):
    script = 'cat; printf "%s" "$1" >&2; exit "$2"'
    answer = agent.call(
        "run",
        argv=["sh", "-c", script, "sh", err.replace("\0", ""), str(status)],
        stdin=out,
        limit=limit,
        keep=keep,
        mode=mode,
        sentinel=sentinel,
    )
    assert not answer.is_error, answer.texts
    # The limit of the server applies if a call requests more.
    assert answer.tokens <= min(limit, LIMIT)
    if limit >= 20:
        assert f"exit {status}" in answer.texts[-1]


BAD_CALLS = {
    "nothing to run": ("run", {}, "USAGE"),
    "two things to run": ("run", {"argv": ["true"], "shell": "true"}, "USAGE"),
    "no such argument": ("run", {"argv": ["true"], "limt": 5}, "USAGE"),
    "a word as limit": ("run", {"argv": ["true"], "limit": "many"}, "USAGE"),
    "no limit of 0": ("run", {"argv": ["true"], "limit": 0}, "USAGE"),
    "a limit below 0": ("run", {"argv": ["true"], "limit": -50}, "USAGE"),
    "a truth as limit": ("run", {"argv": ["true"], "limit": True}, "USAGE"),
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


def test_a_cancelled_request_stops_its_command(agent, tmp_path):
    call = agent.begin("run", shell=STUBBORN, cwd=str(tmp_path))
    wait_for((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    call.cancel()
    wait_for(lambda: state_of(pid) == "")
    assert agent.call("run", argv=["echo", "still here"]).texts[0] == "still here\n"
