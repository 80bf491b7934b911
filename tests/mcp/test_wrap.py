"""`tokcap mcp wrap`: results of tools are capped, and everything else passes byte for byte."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import jsonschema
import pytest

from tests.support import fake_mcp_server as fake
from tests.support.mcp_client import SERVER, TIMEOUT_SECONDS, Answer, Wire, read_by_model, variables
from tests.support.processes import state_of, wait_for
from tests.support.reference import recount

LIMIT = 200
FAKE = (sys.executable, "-m", "tests.support.fake_mcp_server")


def wrapped(tmp_path, *options, server=FAKE, limit=("-n", str(LIMIT)), **how) -> Wire:
    return Wire(tmp_path / "data", "wrap", *limit, *options, "--", *server, **how)


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    with wrapped(tmp_path_factory.mktemp("wrapped"), stderr=subprocess.DEVNULL) as wire:
        yield wire


def rest_of(answer: Answer) -> dict:
    """The arguments of the next call, as the text names it, apart."""
    handle, offset = re.findall(r"tokcap_show handle=(\w+)@(\d+)", answer.text)[-1]
    return {"handle": handle, "offset": int(offset)}


def test_text_over_the_limit_is_cut_and_the_new_tool_reads_the_rest(wire):
    answer = wire.call("text")
    assert answer.tokens <= LIMIT
    assert answer.text.startswith("line 0\nline 1\n")
    assert "\nline 2999\n" in answer.text
    following = rest_of(answer)
    page = wire.call("tokcap_show", **following)
    assert page.tokens <= LIMIT
    assert page.text.startswith(f"line {following['offset'] // 4}\n")
    found = wire.call("tokcap_show", handle=following["handle"], pattern="^line 15.0$")
    assert re.findall(r":(line \d+)", found.text) == [f"line 15{n}0" for n in range(10)]


def test_json_over_the_limit_stays_json(wire):
    answer = wire.call("json")
    assert answer.tokens <= LIMIT
    shown = json.loads(answer.texts[0])
    assert {"id": 0, "name": "item 0"} in shown
    handle = rest_of(answer)["handle"]
    assert json.loads(wire.call("tokcap_show", handle=handle, pointer="/1234").text)["id"] == 1234


def test_what_fits_passes_byte_for_byte(wire):
    number = wire.begin_call("echo", text="naïve \u2028 🙂")
    expected = {"jsonrpc": "2.0", "id": number, "result": fake.result_of("echo", {"text": "naïve \u2028 🙂"})}
    assert wire.receive_line() == json.dumps(expected).encode() + b"\n"
    number = wire.begin_call("strange")
    expected = {"jsonrpc": "2.0", "id": number, "result": fake.result_of("strange", {})}
    assert wire.receive_line() == json.dumps(expected).encode() + b"\n"


@pytest.mark.parametrize("method", ["resources/list", "completion/complete", "x/y", "ping"])
def test_what_does_not_reach_a_model_passes_byte_for_byte(wire, method):
    number = wire.begin(method, {"name": "x"})
    result = {"method": method, "params": {"name": "x"}, "lines": fake.lines(3000)}
    assert (
        wire.receive_line() == json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode() + b"\n"
    )


def test_what_is_not_cut_of_a_result_stays_as_it_is(tmp_path):
    with wrapped(tmp_path, "-n", "700", stderr=subprocess.DEVNULL) as wire:
        result = wire.request("tools/call", {"name": "mixed"})["result"]
    answer = Answer.of_result(result)
    assert read_by_model(result) <= 700
    assert [block["type"] for block in answer.content] == ["text", "image", "text", "text"]
    assert answer.content[0] == fake.text("before\n", annotations={"priority": 1})
    assert answer.content[1] == fake.image(50, 40)
    assert answer.content[2]["_meta"] == {"a": 1.5}
    assert answer.content[3] == fake.text("after\n")
    assert rest_of(answer)


@pytest.mark.parametrize(
    ("name", "shown", "rest"),
    [
        ("resource", "embedded", ""),
        ("link", "file:///y", "linked"),
        ("long_name", "resource_link", "file:///yyy"),
        ("image", "[image/png 9000x100, 20 KB, about", ""),
        ("audio", "[audio/wav, 200 KB, about 3126 tokens; ", ""),
        ("binary", "[application/octet-stream, 5.0 KB; ", ""),
    ],
)
def test_content_of_every_kind_is_capped_and_the_rest_can_be_read(wire, name, shown, rest):
    result = wire.request("tools/call", {"name": name})["result"]
    written = json.dumps(result)
    assert read_by_model(result) <= LIMIT
    assert shown in written
    handle = re.findall(r"tokcap_show handle=(\w+)", written)[-1]
    assert wire.call("tokcap_show", handle=handle, pattern=rest).text


def test_an_image_that_did_not_fit_is_shown_by_a_call_of_its_own(tmp_path):
    with wrapped(tmp_path, "-n", "700", stderr=subprocess.DEVNULL) as wire:
        assert wire.call("image", side=150).content == [fake.image(150, 100)]
        first, second = wire.call("image", side=700, images=2).content
        assert first == fake.image(700, 100)
        page = wire.call("tokcap_show", handle=re.findall(r"handle=(\w+)", second["text"])[0])
        assert page.content == [fake.image(700, 100)]


def test_resources_and_prompts_are_capped(wire):
    result = wire.request("resources/read", {"uri": "text"})["result"]
    assert read_by_model(result, "contents") <= LIMIT
    [found] = result["contents"]
    assert (found["uri"], result["ttlMs"]) == ("file:///x", 5)
    assert "tokcap_show handle=" in found["text"]
    [found] = wire.request("resources/read", {"uri": "image"})["result"]["contents"]
    assert found["text"].startswith("[image/png 9000x9000, ")
    error = wire.request("resources/read", {"uri": "none"})["error"]
    assert recount(error["message"].encode()) <= LIMIT
    result = wire.request("prompts/get", {"name": "x"})["result"]
    messages = result["messages"]
    assert read_by_model(result, "messages") <= LIMIT
    assert messages[0]["content"]["text"].startswith("line 0\n")
    assert "[image/png 9000x9000" in json.dumps(messages)


def test_base64_in_a_result_that_is_too_large_becomes_a_line(wire):
    answer = wire.call("blob")
    image = "[base64 of image/png 640x480, 20 KB, about 425 tokens; tokcap_show handle="
    handle = re.findall(r"handle=(\w+)", answer.text)[0]
    # The rest of the document is as the server has written it.
    assert answer.text == json.dumps({"a/b": [1.50, f"{image}{handle} pointer='/a~1b/1']"], "c": 1e3})
    found = wire.call("tokcap_show", handle=handle, pointer="/a~1b/1")
    assert found.text.startswith(fake.base64(fake.png(640, 480))[:50])
    answer = wire.call("line_blob")
    assert answer.text.startswith(f"see ![]({image}")
    assert answer.text.endswith("]) here")


def test_an_error_stays_an_error(wire):
    answer = wire.call("failing")
    assert answer.is_error
    assert answer.text.startswith("it failed\n")
    assert answer.tokens <= LIMIT


def test_a_long_message_of_a_protocol_error_is_cut(wire):
    wire.begin_call("error")
    error = wire.receive()["error"]
    assert error["code"] == -32000
    assert error["message"].startswith("no such row\n")
    assert recount(error["message"].encode()) <= LIMIT
    assert "data" not in error


@pytest.mark.parametrize("name", ["structured", "only_structured", "other_structured", "wrapped"])
def test_structured_content_stays_valid_and_nothing_of_it_is_lost(wire, name):
    for _ in range(2):
        result = wire.request("tools/call", {"name": name})["result"]
        assert read_by_model(result) <= LIMIT
        answer = Answer.of_result(result)
        rows = (answer.structured or {}).get("rows", [])
        assert rows == fake.document(len(rows))
        jsonschema.validate(answer.structured or {}, fake.SCHEMA if rows else {})
        handle = re.findall(r"tokcap_show handle=(\w+)", answer.text)[-1]
        if name == "wrapped":
            found = wire.call("tokcap_show", handle=handle, pattern="^line 2345$")
            assert found.text.endswith(":line 2345\n")
        else:
            assert rows
            assert wire.call("tokcap_show", handle=handle, pointer="/rows/2345/name").text == "item 2345"
        assert ("3000 rows\n" in answer.texts) == (name == "other_structured")
        # Before the tools are listed, no schema is known.
        listed(wire)
    assert answer.structured is None or name != "wrapped"


def listed(wire: Wire) -> list[dict]:
    found, cursor = [], {}
    while cursor is not None:
        result = wire.request("tools/list", cursor)["result"]
        found += result["tools"]
        cursor = {"cursor": result["nextCursor"]} if "nextCursor" in result else None
    return found


def test_the_last_page_has_one_tool_more_and_claude_code_may_show_all_that_is_left(wire):
    found = listed(wire)
    assert [tool["name"] for tool in found] == [*fake.TOOLS, "tokcap_show"]
    assert all(tool["_meta"] == {"anthropic/maxResultSizeChars": 500_000} for tool in found)
    schemas = {tool["name"]: tool["outputSchema"] for tool in found if "outputSchema" in tool}
    assert schemas == dict.fromkeys(["structured", "only_structured", "other_structured"], fake.SCHEMA)
    assert recount(json.dumps({**found[-1], "annotations": {}}).encode()) < 200


def test_requests_of_the_server_reach_the_client_and_its_answers_the_server(wire):
    number = wire.begin_call("ask")
    asked = wire.receive_line()
    expected = {
        "jsonrpc": "2.0",
        "id": {"odd": [1]},
        "method": "sampling/createMessage",
        "params": {"x": "y"},
    }
    assert asked == json.dumps(expected).encode() + b"\n"
    reply = '{"jsonrpc":"2.0",  "id":{"odd":[1]},"result":{"a":1.50}}'
    wire.send_line(reply)
    answer = wire.receive()
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (number, reply + "\n")


def test_notifications_and_noise_pass_in_order(wire):
    number = wire.begin_call("notify")
    assert [wire.receive()["params"]["progress"] for _ in range(3)] == [0, 1, 2]
    assert wire.receive_line() == b"this is not JSON\n"
    assert wire.receive_line() == b"\n"
    assert wire.receive()["id"] == number


@pytest.mark.parametrize("name", ["deep", "huge"])
def test_a_result_that_python_cannot_hold_becomes_text(wire, name):
    answer = wire.call(name)
    assert 10 < answer.tokens <= LIMIT
    assert answer.structured is None
    assert answer.tokens <= LIMIT
    assert answer.structured is None


def test_a_batch_passes_and_its_results_are_capped(wire):
    calls = [
        {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": {"name": name, "arguments": {}}}
        for name in ("text", "json")
    ]
    own = {"name": "tokcap_show", "arguments": {"handle": "0000"}}
    wire.send([*calls, {"jsonrpc": "2.0", "id": "own", "method": "tools/call", "params": own}])
    answers = {
        answer["id"]: Answer.of_result(answer["result"]) for answer in (wire.receive() for _ in range(3))
    }
    assert answers["own"].code == "NOT_FOUND"
    assert all(answer.tokens <= LIMIT for answer in answers.values())
    assert answers["text"].text.startswith("line 0\n")


def test_the_lines_of_the_client_reach_the_server_byte_for_byte(tmp_path):
    log = tmp_path / "log"
    with wrapped(tmp_path, server=(*FAKE, str(log)), hello=None, stderr=subprocess.DEVNULL) as wire:
        lines = [
            '{"jsonrpc": "2.0",   "method": "notifications/x", "params": {"n": 1.50, "u": "\\u00e9é"}}',
            "not JSON",
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"}}}\r',
            '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}',
            '[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]',
        ]
        for line in lines:
            wire.send_line(line)
        wire.receive()
        wait_for(lambda: log.read_bytes().count(b"\n") == len(lines))
        assert log.read_bytes() == "".join(f"{line}\n" for line in lines).encode()


def test_a_call_of_the_own_tool_never_reaches_the_server(tmp_path):
    log = tmp_path / "log"
    with wrapped(tmp_path, server=(*FAKE, str(log)), stderr=subprocess.DEVNULL) as wire:
        assert wire.call("tokcap_show", handle="0000").code == "NOT_FOUND"
        assert wire.call("tokcap_show").code == "USAGE"
        assert wire.call("tokcap_show", handle="0000", offst=1).code == "USAGE"
        assert b"tokcap_show" not in log.read_bytes()


def test_the_exit_status_and_stderr_of_the_server_are_passed_on(tmp_path):
    with wrapped(tmp_path, stderr=subprocess.PIPE) as wire:
        wire.server.stdin.close()
        assert wire.server.wait(TIMEOUT_SECONDS) == 5
        assert wire.server.stderr.read() == b"the fake server is ready\n"


def test_a_crash_of_the_server_ends_the_proxy_with_its_status(tmp_path):
    with wrapped(tmp_path, stderr=subprocess.DEVNULL) as wire:
        wire.call("text")
        wire.begin_call("crash", status=7)
        assert wire.server.wait(TIMEOUT_SECONDS) == 7
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with wrapped(tmp_path, server=(sys.executable, "-c", killed), hello=None) as wire:
        assert wire.server.wait(TIMEOUT_SECONDS) == 137


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_proxy_and_server(tmp_path, number):
    # Like npx, the shell waits for the real server.
    script = f"echo $$ > '{tmp_path}/pid.new'; mv '{tmp_path}/pid.new' '{tmp_path}/pid'; sleep 60; true"
    with wrapped(tmp_path, server=("sh", "-c", script), hello=None) as wire:
        wait_for((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        wire.server.send_signal(number)
        assert wire.server.wait(TIMEOUT_SECONDS) == 128 + number
        wait_for(lambda: state_of(pid) == "")


def test_a_server_that_ignores_the_end_of_its_input_is_stopped(tmp_path):
    script = (
        f"trap '' TERM; echo $$ > '{tmp_path}/pid.new'; mv '{tmp_path}/pid.new' '{tmp_path}/pid'; sleep 60"
    )
    with wrapped(tmp_path, server=("sh", "-c", script), hello=None) as wire:
        wait_for((tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        wire.server.stdin.close()
        assert wire.server.wait(TIMEOUT_SECONDS) == 0
        wait_for(lambda: state_of(pid) == "")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--", "no-such-server"], 127, b"tokcap: mcp wrap: no-such-server: command not found\n"),
        (
            ["--", "/etc/passwd"],
            126,
            b"tokcap: mcp wrap: /etc/passwd: cannot be executed: Permission denied\n",
        ),
        ([], 2, b"tokcap: mcp wrap: give either a SERVER to start, after --, or --url\n"),
        (["--url", "http://localhost:1/", "--", "x"], 2, b"tokcap: mcp wrap: give either a SERVER"),
        (["--header", "A: b", "--", "x"], 2, b"tokcap: mcp wrap: --header works only with --url\n"),
        (["-n", "0", "--", "x"], 2, b"tokcap: mcp wrap: --token-limit: '0' is not a"),
    ],
)
def test_a_proxy_that_cannot_start_says_why_in_one_line(tmp_path, words, status, message):
    done = subprocess.run(
        [sys.executable, *SERVER, "wrap", *words],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **variables(tmp_path)},
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == status
    assert done.stderr.startswith(message)
    assert (done.stderr.count(b"\n"), done.stdout) == (1, b"")


def test_secrets_are_masked_in_text_and_structured_content(tmp_path):
    with wrapped(tmp_path, "--redact", stderr=subprocess.DEVNULL) as wire:
        answer = wire.call("secret")
        assert "ghp_a1B2" not in json.dumps([answer.content, answer.structured])
        assert "token" in answer.text
        assert answer.structured == {"token": "[REDACTED]"}


def test_results_are_charged_until_the_session_is_exhausted(tmp_path, inside):
    log = tmp_path / "log"
    data = {"TOKCAP_DATA_DIR": str(tmp_path / "data")}
    assert inside("budget", "start", "s", "--total", "500", env=data).status == 0

    def used() -> int:
        return inside("budget", "status", "s", "-o", "json", env=data).json["data"]["used"]

    with wrapped(tmp_path, "--session", "s", server=(*FAKE, str(log)), stderr=subprocess.DEVNULL) as wire:
        spent = 0
        for name, arguments in (("echo", {"text": "short"}), ("text", {}), ("json", {}), ("text", {})):
            answer = wire.call(name, **arguments)
            spent += answer.tokens
            assert used() == spent
            if spent > 460:
                break
        while used() <= 460:
            wire.call("text")
        refused = wire.call("echo", text="never-sent")
        assert refused.code == "BUDGET_EXHAUSTED"
        assert b"never-sent" not in log.read_bytes()


def test_rules_of_the_user_decide_about_single_tools(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(
        """
[[rule]]
match = "fake/text"
limit = 60
keep = "head"
[[rule]]
match = "*/failing"
pass = true
[[rule]]
match = "fake/json"
fields = "name"
limit = 100
"""
    )
    with wrapped(tmp_path, env={"TOKCAP_CONFIG": str(config)}, stderr=subprocess.DEVNULL, limit=()) as wire:
        answer = wire.call("text")
        assert 40 < answer.tokens <= 60
        assert "line 2999" not in answer.text
        assert wire.call("failing").text == "it failed\n" + fake.lines(3000)
        assert json.loads(wire.call("json").texts[0])[0] == {"name": "item 0"}
        assert wire.call("resource").content[0] != fake.RESOURCE
    # What is said in the command is more than a rule.
    with wrapped(tmp_path, env={"TOKCAP_CONFIG": str(config)}, stderr=subprocess.DEVNULL) as wire:
        assert 60 < wire.call("text").tokens <= LIMIT


def test_rules_of_the_user_decide_about_commands(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[[rule]]\nmatch = "seq"\nlimit = 60\nkeep = "tail"\n')
    with Wire(tmp_path / "data", env={"TOKCAP_CONFIG": str(config)}) as wire:
        answer = wire.call("run", shell="cd / && seq 1 5000")
        assert answer.tokens <= 60
        assert "5000" in answer.text
        assert wire.call("run", shell="seq 1 5000; true x", keep="head").text.startswith("1\n")
