"""Files of others: a config file, the settings of an agent, the events that it sends."""

from __future__ import annotations

import json
import os

import pytest

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.hook_events import EVENT
from tests.support.world import check_told
from tokcap.cli.config.lines import placed_keys
from tokcap.cli.config.reading import read_config
from tokcap.errors import HookRefused, UsageError
from tokcap.hooks import handler, jsonc, settings
from tokcap.hooks.claude_code import CLAUDE_CODE
from tokcap.hooks.gemini import GEMINI

CONFIGS = [
    b'token_limit = 500\ntokenizer = "o200k_base"\n[models.x]\ncontext_window = 5\n',
    b'keep = "tail"\nclean = true\ntimeout = 1.5\n\n[spill]\ndays = 3\n',
    b"a = 1979-05-27T07:32:00Z\nb = [1, 2, {c = '''x\n'''}]\n[[t]]\n\"q\\u0041\".z = 0xff\n",
    b"token_limit = " + b"9" * 5000,
    b"x = " + b"[" * 80,
    b"\xef\xbb\xbfoutput = 'json'\r\n",
]
PATH = "/c/config.toml"


@target(CONFIGS)
def config_file(given: Input) -> None:
    try:
        read_config(given.payload, PATH)
    except UsageError as error:
        message = str(error)
        line = message.removeprefix(f"{PATH}:").partition(":")[0]
        assert message.startswith(f"{PATH}:"), message
        assert line.isdigit(), message
        assert 1 <= int(line) <= given.payload.count(b"\n") + 1, message
    try:
        text = given.payload.decode()
    except UnicodeDecodeError:
        return
    for found in placed_keys(text):
        assert 1 <= found.line <= text.count("\n") + 1


SETTINGS = [
    b"{}",
    b"",
    b'{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}}',
    b'// c\n{\n  "a": 1, /* b */\n  "hooks": {\n    "BeforeTool": [],\n  },\n}\n',
    settings.with_hook("p", b'{"a": [1, 2]}', CLAUDE_CODE, "tokcap hook run claude-code"),
    settings.with_hook("p", None, GEMINI, "tokcap hook run gemini"),
    *corpus.TRICKY_JSON,
]
NOWHERE = "/nowhere/settings.json"


@target(SETTINGS)
def agent_settings(given: Input) -> None:
    """Our hook is put in and taken out again, and everything else stays as it was."""
    agent = given.pick(0, (CLAUDE_CODE, GEMINI))
    command = f"tokcap hook run {agent.name}"
    try:
        before = settings.without_hook(NOWHERE, given.payload, agent)
        with_hook = settings.with_hook(NOWHERE, before, agent, command)
        after = settings.without_hook(NOWHERE, with_hook, agent)
    except HookRefused as error:
        check_told(error)
        return
    assert settings.installed_command(NOWHERE, with_hook, agent) == command
    assert settings.installed_command(NOWHERE, after, agent) is None
    if before and not settings.is_blank(before):
        assert without_empty(plain(after), agent.event) == without_empty(plain(before), agent.event)


def plain(data: bytes | None) -> dict[str, object]:
    """What it says; a file with nothing in it but our hook goes with it."""
    return {} if data is None else jsonc.parse(data.decode("utf-8-sig")).plain()


def without_empty(value: dict[str, object], event: str) -> dict[str, object]:
    """Without containers that only our hook had stood in."""
    value = json.loads(json.dumps(value))
    hooks = value.get("hooks")
    if isinstance(hooks, dict) and not hooks.get(event, True):
        del hooks[event]
    if not hooks:
        value.pop("hooks", None)
    return value


GEMINI_EVENT = {
    "hook_event_name": "BeforeTool",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "ls"},
}
COMMANDS = (
    *("ls -l", "cd /tmp && make | tail", "a=1 env ls 'x y'", 'echo "$(date)"', "ls; pwd", "git log &"),
    *("tokcap ls", "cd a && cd b", "export X=1", "if true; then ls; fi", "ls > /dev/null 2>&1", "grep '\\''"),
)
EVENTS = [
    *(json.dumps({**EVENT, "tool_input": {"command": command}}).encode() for command in COMMANDS),
    json.dumps(GEMINI_EVENT).encode(),
    json.dumps({**EVENT, "tool_input": {"command": 5, "run_in_background": "x"}, "cwd": None}).encode(),
    b"[]",
]


@target(EVENTS)
def hook_handler(given: Input) -> None:
    name, variable, silence = given.pick(
        0, (("claude-code", "CLAUDE_PROJECT_DIR", b""), ("gemini", "GEMINI_PROJECT_DIR", b"{}\n"))
    )
    variables = {"PATH": os.environ["PATH"], "HOME": "/nowhere", variable: "/nowhere"}
    if given.pick(1, (False, True)):
        variables["SHELL"] = "/bin/bash"
    options = given.pick(2, ((), ("--token-limit", "5"), ("--token-limit",), ("--session", "a b")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcap.hooks.ancestors.command_lines", list)
        said = handler.answer([name, *options], given.payload, variables, lambda _options: False)
    if said == silence:
        return
    answer = json.loads(said)["hookSpecificOutput"]
    event = json.loads(given.payload)
    assert answer.pop("hookEventName") == event["hook_event_name"]
    ((key, changed),) = answer.items()
    assert key == ("updatedInput" if name == "claude-code" else "tool_input")
    before = event["tool_input"]["command"]
    for member, value in changed.items():
        assert member == "command" or value == event["tool_input"][member]
    # What the shell is handed is the command to its last character, but for a `cd` in front of it.
    assert changed["command"].endswith("'")
    string = changed["command"][changed["command"].index(" -c '") + 5 : -1].replace("'\\''", "'")
    assert before.strip().endswith(string.strip())
