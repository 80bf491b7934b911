"""The handler loads quickly, answers correctly and never fails, whatever its input."""

import json
import os
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hook_events import EVENT
from tests.support.program import PYTHON
from tokcap.__main__ import call
from tokcap.environment import Environment
from tokcap.hooks import handler


def handled(data, *arguments, variables=None):
    """Status and output of `tokcap hook run …` in this process."""
    with tempfile.TemporaryFile() as given_, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given_.write(data)
        given_.seek(0)
        world = {
            "PATH": os.environ["PATH"],
            "HOME": "/nowhere",
            "CLAUDE_PROJECT_DIR": "/nowhere",
            **(variables or {}),
        }
        status = call(
            ["hook", "run", *arguments], Environment(world, given_.fileno(), out.fileno(), err.fileno())
        )
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


@pytest.fixture
def alone(monkeypatch):
    """No agent above this process."""
    monkeypatch.setattr("tokcap.hooks.ancestors.command_lines", list)


def test_an_event_is_answered(alone):
    status, out, err = handled(json.dumps(EVENT).encode(), "claude-code", "--token-limit", "7")
    assert (status, err) == (0, b"")
    answer = json.loads(out)["hookSpecificOutput"]
    assert answer == {
        "hookEventName": "PreToolUse",
        "updatedInput": {"command": "tokcap --token-limit 7 -c 'ls -l'"},
    }


@pytest.mark.parametrize(
    ("variables", "options", "expected"),
    [
        ({"TOKCAP_SESSION": "s"}, (), "--token-limit 7 --repeat diff"),
        ({}, ("--session", "s"), "--token-limit 7 --session s --repeat diff"),
        # Without a session tokcap would refuse it, and the command must run.
        ({}, (), "--token-limit 7"),
    ],
)
def test_repeat_is_passed_on_while_there_is_a_session(alone, variables, options, expected):
    words = ("--token-limit", "7", *options, "--repeat", "diff")
    _, out, _ = handled(json.dumps(EVENT).encode(), "claude-code", *words, variables=variables)
    answer = json.loads(out)["hookSpecificOutput"]["updatedInput"]
    assert answer == {"command": f"tokcap {expected} -c 'ls -l'"}


def test_as_a_process_it_answers_too(tokcap, tmp_path):
    ran = tokcap(
        "hook",
        "run",
        "claude-code",
        stdin=json.dumps(EVENT).encode(),
        env={"CLAUDE_PROJECT_DIR": str(tmp_path)},
    )
    assert ran.status == 0
    assert json.loads(ran.out)["hookSpecificOutput"]["updatedInput"]["command"].endswith("tokcap -c 'ls -l'")


@given(st.binary(max_size=200) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(deadline=None)
@pytest.mark.parametrize(("name", "silence"), [("claude-code", b""), ("gemini", b"{}\n"), ("codex", b"")])
def test_any_input_is_let_through_in_silence(name, silence, data):
    assert handled(data, name) == (0, silence, b"")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            key: JSON | st.just(value) | st.text(max_size=20).map(lambda text: {"command": text})
            for key, value in EVENT.items()
        },
    )
)
@settings(deadline=None)
def test_any_event_gets_a_well_formed_answer_or_none(event):
    status, out, err = handled(json.dumps(event).encode(), "claude-code")
    assert (status, err) == (0, b"")
    if out:
        answer = json.loads(out)["hookSpecificOutput"]
        assert set(answer) == {"hookEventName", "updatedInput"}
        assert set(answer["updatedInput"]) == set(event["tool_input"])


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nobody"],
        ["claude-code", "--bad"],
        ["claude-code", "-c", "id"],
        ["claude-code", "--token-limit", "x"],
        ["--help"],
    ],
)
def test_wrong_arguments_let_the_command_through(arguments):
    assert handled(json.dumps(EVENT).encode(), *arguments) == (0, b"", b"")


def test_without_the_project_its_rules_are_unknown_and_nothing_is_said(alone):
    assert handled(json.dumps(EVENT).encode(), "claude-code", variables={"CLAUDE_PROJECT_DIR": ""}) == (
        0,
        b"",
        b"",
    )


@pytest.mark.parametrize(
    "variables", [{"TOKCAP_TOKEN_LIMIT": "many"}, {"TOKCAP_CONFIG": "/nowhere/config.toml"}]
)
def test_a_mistake_in_tokcaps_own_configuration_does_not_stop_the_agents_commands(alone, variables):
    assert handled(json.dumps(EVENT).encode(), "claude-code", variables=variables) == (0, b"", b"")


def test_deep_nesting_is_let_through():
    assert handled(b"[" * 100_000, "claude-code") == (0, b"", b"")


def test_half_of_a_surrogate_pair_is_let_through_or_kept(alone):
    data = json.dumps({**EVENT, "tool_input": {"command": "ls", "description": "\ud800"}}).encode()
    _, out, _ = handled(data, "claude-code")
    assert json.loads(out)["hookSpecificOutput"]["updatedInput"]["description"] == "\ud800"
    assert (
        handled(json.dumps({**EVENT, "tool_input": {"command": "ls \ud800"}}).encode(), "claude-code")[0] == 0
    )


def test_a_closed_standard_input_or_a_reader_that_is_gone_is_no_failure():
    handler_line = f"{PYTHON} -m tokcap hook run gemini"
    command = f"{handler_line} <&-; echo $?; echo '{{}}' | {handler_line} >&-; echo $?"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=60, check=False)
    assert [line for line in done.stdout.split() if line != b"{}"] == [b"0", b"0"]
    assert done.stderr == b""


def test_rules_in_flags_of_the_agent_are_seen_from_below(tmp_path):
    agent = "import shlex, subprocess, sys; subprocess.run(shlex.split(sys.argv[1]))"
    handler_line = f"{PYTHON} -m tokcap hook run claude-code"
    world = {**os.environ, "CLAUDE_PROJECT_DIR": str(tmp_path)}

    def answered(*flags):
        return subprocess.run(
            [sys.executable, "-c", agent, handler_line, *flags],
            input=json.dumps(EVENT).encode(),
            capture_output=True,
            env=world,
            timeout=60,
            check=True,
        ).stdout

    assert answered("--permission-mode", "bypassPermissions")
    assert answered("--disallowedTools", "Bash(ls *)") == b""


def test_it_loads_neither_typer_nor_anything_else_that_is_slow():
    code = (
        "import sys; from tokcap.__main__ import call; from tokcap.environment import Environment;"
        "call('hook run claude-code'.split(), Environment.of_this_process());"
        "sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(EVENT).encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": "/nowhere"},
        timeout=60,
        check=True,
    )
    assert b"updatedInput" in done.stdout
    loaded = set(done.stderr.decode().split())
    heavy = {
        "typer",
        "click",
        "rich",
        "orjson",
        "tiktoken",
        "platformdirs",
        "sqlite3",
        "asyncio",
        "subprocess",
        "tempfile",
    }
    heavy |= {
        "tomllib",
        "inspect",
        "dataclasses",
        "shlex",
        "shutil",
        "tokcap.pipeline",
        "tokcap.hooks.gemini",
    }
    heavy |= {
        "tokcap.hooks.settings",
        "tokcap.hooks.settings_file",
        "tokcap.hooks.jsonc",
        "tokcap.hooks.manage",
    }
    heavy |= {"json", "re", "enum"}
    assert loaded.isdisjoint(heavy)
    assert "tokcap.hooks.claude_code" in loaded


def test_an_answer_is_written_as_json_dumps_writes_it():
    answer = {"a": [1, 2.5, True, None, {}], "b": {"c": "é\ud800\n"}, "": []}
    assert handler.dumped(answer) == json.dumps(answer).encode()


def test_it_calls_itself_by_its_full_path_if_it_has_one(tmp_path):
    program = tmp_path / "tokcap"
    program.write_text("")
    assert handler.own_program(str(program)) == "tokcap"
    program.chmod(0o755)
    assert handler.own_program(str(program)) == str(program)
    assert handler.own_program("/somewhere/tokcap/__main__.py") == "tokcap"
