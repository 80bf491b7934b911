"""The handler answers correctly and never fails, whatever its input."""

import base64
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.program import PYTHON
from tests.support.reference import recount
from tests.support.tiers import examples
from tokcap.__main__ import call
from tokcap.environment import Environment
from tokcap.hooks import AGENTS, handler

LINES = "".join(f"line {number}\n" for number in range(3000))
FULL_PATH = os.path.join(os.path.dirname(sys.executable), "tokcap")


def claude_event(response, name="Read"):
    return {"hook_event_name": "PostToolUse", "tool_name": name, "tool_response": response}


def picture_block(data: bytes, *, in_source: bool):
    """An image as MCP has it, or as the API of Claude has it."""
    text = base64.b64encode(data).decode()
    if in_source:
        source = {"type": "base64", "media_type": "image/png", "data": text}
        return {"type": "image", "source": source}
    return {"type": "image", "mimeType": "image/png", "data": text}


def copilot_event(text, name="bash", command="make"):
    result = {"resultType": "success", "textResultForLlm": text}
    return {"toolName": name, "toolArgs": {"command": command}, "toolResult": result}


def vibe_event(stdout, stderr="", returncode=0, *, command="make", **more):
    result = {"command": command, "stdout": stdout, "stderr": stderr, "returncode": returncode, **more}
    return {
        "hook_event_name": "post_tool",
        "tool_name": "file_system.bash",
        "tool_input": {"command": command},
        "tool_output": result,
    }


def handled(data, *arguments, variables=None):
    """Status and output of `tokcap hook run …` in this process."""
    with tempfile.TemporaryFile() as given_, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given_.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        given_.seek(0)
        world = {**os.environ, **(variables or {})}
        status = call(
            ["hook", "run", *arguments], Environment(world, given_.fileno(), out.fileno(), err.fileno())
        )
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


@pytest.fixture(autouse=True)
def by_its_path(monkeypatch, with_store):
    monkeypatch.setattr(sys, "argv", [FULL_PATH])


def answered(event, *arguments, variables=None):
    status, out, err = handled(event, *arguments, variables=variables)
    assert (status, err) == (0, b"")
    return json.loads(out) if out else None


def text_of(answer) -> bytes:
    return answer["modifiedResult"]["textResultForLlm"].encode()


class TestClaudeCode:
    @pytest.mark.parametrize(
        ("response", "text_in"),
        [
            (
                {"type": "text", "file": {"filePath": "/x", "content": LINES, "numLines": 3000}},
                lambda found: found["file"]["content"],
            ),
            ({"mode": "content", "content": LINES}, lambda found: found["content"]),
            ([{"type": "text", "text": LINES}], lambda found: found[0]["text"]),
            (LINES, lambda found: found),
        ],
    )
    def test_the_longest_text_of_a_result_is_capped_and_the_form_stays(self, response, text_in):
        answer = answered(claude_event(response), "claude-code", "--token-limit", "300", "--tools", "Read")
        specific = answer["hookSpecificOutput"]
        assert specific["hookEventName"] == "PostToolUse"
        text = text_in(specific["updatedToolOutput"])
        assert recount(text.encode()) <= 300
        assert "tokcap show" in text

    def test_what_a_call_is_for_is_the_question_of_the_reader(self):
        event = claude_event("".join(f"package p{n} of {n}\n" for n in range(3000)), "mcp__x__list")
        event["tool_input"] = {"description": "Find out about p1733"}
        answer = answered(event, "claude-code", "--token-limit", "300")
        assert "package p1733 of" in answer["hookSpecificOutput"]["updatedToolOutput"]

    def test_a_list_of_names_stays_a_list(self):
        response = {"filenames": LINES.splitlines(), "numFiles": 3000}
        answer = answered(claude_event(response, "Glob"), "claude-code", "--token-limit", "300")
        found = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert found["numFiles"] == 3000
        assert found["filenames"][0] == "line 0"
        assert "tokcap show" in found["filenames"][-1]

    def test_a_short_result_a_picture_and_a_shell_command_are_left_alone(self):
        picture = {"type": "image", "source": {"data": "A" * 10_000}}
        for event in (claude_event("short"), claude_event([picture]), claude_event(LINES, "Bash")):
            assert answered(event, "claude-code", "--token-limit", "300") is None

    def test_lines_of_a_file_keep_the_numbers_that_the_agent_puts_before_them(self):
        content = "".join(f"line {number}\n" for number in range(40, 3000))
        file = {"filePath": "/x", "content": content, "numLines": 2961, "startLine": 40, "totalLines": 3000}
        response = {"type": "text", "file": file}
        answer = answered(claude_event(response), "claude-code", "--token-limit", "300", "--tools", "Read")
        shown = answer["hookSpecificOutput"]["updatedToolOutput"]["file"]
        *lines, mark = shown["content"].split("\n")
        assert lines == [f"line {number}" for number in range(40, 40 + len(lines))]
        assert re.match(r"\[TRUNCATED\] \d+/18803 tokens; (?:…N lines: --gaps; )?\S+ show ", mark)
        numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate([*lines, mark], 40))
        assert 200 < recount(numbered.encode()) <= 305
        assert shown["numLines"] == len(lines) + 1

    @pytest.mark.parametrize("in_source", [False, True])
    def test_an_image_that_does_not_fit_is_stored_and_described(self, in_source, inside):
        header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
        small, large = (header + struct.pack(">II", *size) + b"x" * 90 for size in ((64, 48), (2000, 1500)))
        blocks = [picture_block(data, in_source=in_source) for data in (small, large)]
        answer = answered(claude_event(blocks, "mcp__a__b"), "claude-code", "--token-limit", "300")
        kept, line = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert kept == blocks[0]
        found = re.fullmatch(
            r"\[image/png 2000x1500, 114 bytes, about \d+ tokens; \S+ (show .+)\]", line["text"]
        )
        assert found, line
        path = inside("spill", "path", found[1].split()[1]).out.decode().splitlines()[0]
        assert Path(path).read_bytes() == large or (Path(path) / "out").read_bytes() == large

    def test_the_blocks_of_an_mcp_result_have_one_limit_together(self):
        picture = {"type": "image", "source": "x" * 50}
        blocks = [{"type": "text", "text": LINES[:9000]}, picture, {"type": "text", "text": LINES[9000:]}]
        answer = answered(
            claude_event(blocks, "mcp__a__b"), "claude-code", "--token-limit", "300", "--tools", "mcp__.*"
        )
        first, *others = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert others == [picture]
        assert 200 < recount(first["text"].encode()) <= 300
        assert "tokcap show" in first["text"]


@pytest.mark.parametrize("name", ["opencode", "pi"])
class TestPlugins:
    def test_the_text_of_an_event_is_capped(self, name):
        answer = answered({"text": LINES}, name, "--token-limit", "300", "--tools", "read")
        assert 200 < recount(answer["text"].encode()) <= 300
        assert answered({"text": "short\n"}, name, "--token-limit", "300", "--tools", "read") is None

    def test_a_result_that_the_agent_has_saved_is_read_from_its_file(self, name, tmp_path):
        (tmp_path / "whole").write_text(LINES)
        event = {"text": "the beginning", "file": str(tmp_path / "whole")}
        assert "line 2999" in answered(event, name, "--token-limit", "300")["text"]


class TestVibe:
    def test_both_streams_and_the_status_take_the_place_of_a_result(self):
        event = vibe_event(LINES, "error: no rule\n", 2, was_truncated=True)
        answer = answered(event, "vibe", "--token-limit", "300")
        assert answer["decision"] == "deny"
        text, part, status = answer["reason"].rsplit("\n", 2)
        assert (part, status) == ("[Vibe kept only a part of this output]", "[exit status 2]")
        assert 200 < recount(answer["reason"].encode()) <= 300
        assert "error: no rule" in text

    def test_what_is_short_in_any_form_is_left_alone(self):
        assert answered(vibe_event("one\n", "two\n", 4), "vibe", "--token-limit", "300") is None
        # As JSON it would have more tokens than the limit.
        quotes = '"a"\n' * 60
        assert answered(vibe_event(quotes), "vibe", "--token-limit", "300")["reason"] == quotes.rstrip("\n")

    def test_an_answer_is_shorter_than_what_vibe_saves_in_a_file(self):
        words = "internationalization\n" * 9000
        assert len(answered(vibe_event(words), "vibe")["reason"]) < 16_000


class TestCopilot:
    def test_a_result_is_capped_and_its_last_line_stays(self):
        ending = "\n<shellId: 0 completed with exit code 3>"
        answer = answered(copilot_event(LINES + ending), "copilot", "--token-limit", "300")
        text = answer["modifiedResult"]["textResultForLlm"]
        assert answer["modifiedResult"]["resultType"] == "success"
        assert text.endswith(ending)
        # The limit covers the last line.
        assert 200 < recount(text.encode()) <= 300

    def test_the_whole_of_a_long_output_is_read_from_its_file(self, tmp_path):
        file = tmp_path / "saved.txt"
        file.write_text(LINES + "error: the last line\n")
        text = f"Output too large to read at once (1 KB). Saved to: {file}\nPreview:\nline 0\n"
        answer = answered(copilot_event(text), "copilot", "--token-limit", "300")
        assert "error: the last line" in answer["modifiedResult"]["textResultForLlm"]

    def test_secrets_are_masked_also_in_what_fits(self):
        token = "ghp_" + "aB3dE5" * 6
        answer = answered(copilot_event(f"token {token}\n"), "copilot", "--redact", "true")
        assert token.encode() not in text_of(answer)
        assert text_of(answer).startswith(b"token ")

    def test_pages_of_tokcap_are_not_capped_twice(self):
        assert answered(copilot_event(LINES, command="tokcap show @last"), "copilot") is None

    def test_other_tools_are_capped_only_if_they_were_named(self):
        event = copilot_event(LINES, "view")
        assert answered(event, "copilot", "--token-limit", "300") is None
        assert answered(event, "copilot", "--token-limit", "300", "--tools", "grep,view")
        of_a_server = copilot_event(LINES, "table-rows")
        assert answered(of_a_server, "copilot", "--token-limit", "300", "--tools", "view") is None
        assert answered(of_a_server, "copilot", "--token-limit", "300", "--tools", "table-.*")


def test_base64_in_a_result_is_folded_to_a_line_that_leads_to_it(inside):
    """In a text and in JSON; what is around it is shown whole, and a pointer gives the very bytes."""
    blob = base64.b64encode(random.Random(3).randbytes(30_000)).decode()
    document = json.dumps({"items": [{"name": "one", "data": blob}, {"name": "two", "data": "short"}]})
    for text in (f"the picture:\ndata:image/png;base64,{blob}\nthe end\n", document):
        shown = text_of(answered(copilot_event(text), "copilot", "--token-limit", "300")).decode()
        assert recount(shown.encode()) <= 300
        assert blob[:100] not in shown
        assert "the end" in shown or json.loads(shown)["items"][1] == {"name": "two", "data": "short"}
        words = re.search(r"\[base64 of [^;]+; \S*tokcap (show [^\]]+)\]", shown)[1].split()
        assert blob in inside(*words, "--tokenizer", "approx", "-n", "1000000").out.decode()


def test_a_session_that_has_ended_does_not_lift_the_limit():
    options = ("--token-limit", "300", "--session", "gone", "--repeat", "mark")
    answer = answered(copilot_event(LINES * 4), "copilot", *options)
    assert recount(text_of(answer)) <= 4000


def test_values_of_secret_variables_are_masked():
    variables = {"DEPLOY_TOKEN": "Tr0ub4dor+3xyz"}
    event = copilot_event("at Tr0ub4dor+3xyz\n" * 2)
    assert b"at [REDACTED]\n" in text_of(answered(event, "copilot", "--redact", "true", variables=variables))


def test_variables_and_the_config_file_apply_to_what_the_hook_does_not_say(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('token_limit = 300\nkeep = "head"\n')
    variables = {"TOKCAP_CONFIG": str(config)}
    text = text_of(answered(copilot_event(LINES), "copilot", variables=variables))
    assert 200 < recount(text) <= 300
    assert b"line 2999" not in text
    text = text_of(answered(copilot_event(LINES), "copilot", "--keep", "tail", variables=variables))
    assert b"line 2999" in text
    variables["TOKCAP_TOKEN_LIMIT"] = "500"
    assert 400 < recount(text_of(answered(copilot_event(LINES), "copilot", variables=variables))) <= 500


@given(
    st.sampled_from([*AGENTS]),
    st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
)
@examples(80)
def test_any_input_is_let_through_in_silence(name, data):
    assert handled(data, name) == (0, b"", b"")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON, JSON)
@examples(30)
def test_any_result_is_let_through_if_it_is_short(response, name, arguments):
    event = {**claude_event(response), "toolResult": response, "toolName": name, "toolArgs": arguments}
    for agent in ("claude-code", "copilot"):
        assert handled(event, agent, variables={"PATH": ""}) == (0, b"", b"")


@pytest.mark.parametrize(
    "arguments",
    [[], ["nobody"], ["copilot", "--bad"], ["copilot", "-c", "id", "x"], ["--help"]],
)
def test_wrong_arguments_let_the_result_through(arguments):
    assert handled(copilot_event("short"), *arguments) == (0, b"", b"")


@pytest.mark.parametrize(
    "variables", [{"TOKCAP_TOKEN_LIMIT": "many"}, {"TOKCAP_CONFIG": "/nowhere/config.toml"}]
)
def test_a_mistake_in_tokcaps_own_configuration_does_not_stop_the_agent_and_lifts_no_limit(variables):
    answer = answered(copilot_event(LINES), "copilot", "--token-limit", "300", variables=variables)
    assert 200 < recount(text_of(answer)) <= 300


def test_a_closed_standard_input_or_a_reader_that_is_gone_is_no_failure():
    handler_line = f"{PYTHON} -m tokcap hook run copilot"
    command = f"{handler_line} <&-; echo $?; echo '{{}}' | {handler_line} >&-; echo $?"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert done.stdout.split() == [b"0", b"0"]
    assert done.stderr == b""


def test_it_loads_nothing_that_is_slow_if_there_is_nothing_to_do():
    code = (
        "import sys; from tokcap.__main__ import call; from tokcap.environment import Environment;"
        "call('hook run claude-code'.split(), Environment.of_this_process());"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(claude_event("x", "Bash")).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    heavy = "typer click rich orjson tiktoken platformdirs sqlite3 asyncio subprocess tempfile tomllib"
    heavy += " inspect dataclasses shlex shutil json re enum tokcap.pipeline tokcap.hooks.settings"
    assert loaded.isdisjoint(heavy.split())
    assert "tokcap.hooks.claude_code" in loaded


def test_an_answer_is_written_as_json_dumps_writes_it():
    answer = {"a": [1, 2.5, True, None, {}], "b": {"c": "é\ud800\n"}, "": []}
    assert handler.dumped(answer) == json.dumps(answer).encode()


class TestRules:
    """A rule of the config file decides about a tool by its name, about a shell by its command."""

    @pytest.fixture(autouse=True)
    def rules(self, tmp_path, monkeypatch):
        path = tmp_path / "config.toml"
        path.write_text(
            "[[rule]]\nmatch = ['Grep', 'cat', 'gh/*']\npass = true\n"
            "[[rule]]\nmatch = 'Read'\nlimit = 100\nmode = 'summary'\nfocus = '9'\n"
            "[[rule]]\nmatch = 'make'\nlimit = 50\nkeep = 'tail'\nshape = 'text'\nclean = true\n"
        )
        monkeypatch.setenv("TOKCAP_CONFIG", str(path))

    def test_pass_results_on_whole(self):
        for name in ("Grep", "mcp__gh__search"):
            assert handled(claude_event({"content": LINES}, name), "claude-code", "--tools", name)[1] == b""
        assert handled(copilot_event(LINES, command="cd a && cat b"), "copilot")[1] == b""

    def test_set_limit_and_policy_of_a_command_unless_the_hook_was_installed_with_others(self):
        event = copilot_event("\x1b[1m" + LINES, command="cd a && make -j2")
        shown = json.loads(handled(event, "copilot")[1])["modifiedResult"]["textResultForLlm"]
        assert shown.endswith("line 2999")
        assert recount(shown.encode()) <= 50
        for limit in (["-n", "200"], ["-n200"], ["--token-limit=200"], ["--token-limit", "200"]):
            shown = json.loads(handled(event, "copilot", *limit, "--keep", "head")[1])
            assert 50 < recount(shown["modifiedResult"]["textResultForLlm"].encode()) <= 200

    def test_leave_the_lines_of_a_file_in_their_form(self):
        file = {"file": {"content": LINES, "startLine": 1, "numLines": 3000}}
        answer = json.loads(handled(claude_event(file), "claude-code", "--tools", "Read")[1])
        shown = answer["hookSpecificOutput"]["updatedToolOutput"]["file"]["content"]
        assert shown.startswith("line 0\nline 1\n")
        assert recount(shown.encode()) <= 100
