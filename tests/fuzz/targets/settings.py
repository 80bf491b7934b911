"""Files of others: a config file, the settings of an agent, the events that it sends."""

from __future__ import annotations

import json
import os

import pytest

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.world import check_told
from tokcap.cli.config.lines import placed_keys
from tokcap.cli.config.reading import read_config
from tokcap.errors import HookRefused, UsageError
from tokcap.hooks import handler, jsonc, settings
from tokcap.hooks.base import Capping
from tokcap.hooks.settings_entry import HookEntry
from tokcap.hooks.settings_value import EnvLine, JsonValue, TomlValue

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
    b'{"a": [1, 2], "env": {"CLAUDE_CODE_SHELL": "/nowhere/tokcap/bash"}, "shell": "/bin/sh"}',
    b'[shell_environment_policy.set]\nBASH_ENV = "/nowhere/tokcap/bash_env.sh"\nA = "b"\n',
    b"A=b\nexport BASH_ENV='/nowhere/tokcap/bash_env.sh'\n# c\n",
    *corpus.TRICKY_JSON,
]
NOWHERE = "/nowhere/settings.json"


ADDITIONS = (
    HookEntry("claude-code", "PreToolUse", "Bash", 10, "tokcap hook run claude-code"),
    JsonValue(("env", "CLAUDE_CODE_SHELL"), "/nowhere/tokcap/bash"),
    JsonValue(("shell",), "/nowhere/tokcap/bash"),
    TomlValue(("shell_environment_policy", "set"), "BASH_ENV", "/nowhere/tokcap/bash_env.sh"),
    EnvLine("BASH_ENV", "/nowhere/tokcap/bash_env.sh"),
)


@target(SETTINGS)
def agent_settings(given: Input) -> None:
    """Our value is put in and taken out again, and everything else stays as it was."""
    addition = given.pick(0, ADDITIONS)
    try:
        before = settings.without_additions(NOWHERE, given.payload, [addition])
        changed = settings.with_additions(NOWHERE, before, [addition])
        after = settings.without_additions(NOWHERE, changed, [addition])
    except HookRefused as error:
        check_told(error)
        return
    assert settings.are_installed(NOWHERE, changed, [addition])
    assert settings.found(NOWHERE, after, addition) is None
    if isinstance(addition, HookEntry | JsonValue) and before and not settings.is_blank(before):
        assert without_empty(plain(after), "PreToolUse") == without_empty(plain(before), "PreToolUse")


def plain(data: bytes | None) -> dict[str, object]:
    """What it says; a file with nothing in it but our hook goes with it."""
    return {} if data is None else jsonc.parse(data.decode("utf-8-sig")).plain()


def without_empty(value: dict[str, object], event: str) -> dict[str, object]:
    """Without containers that only our hook had stood in."""
    value = json.loads(json.dumps(value))
    hooks = value.get("hooks")
    if isinstance(hooks, dict) and not hooks.get(event, True):
        del hooks[event]
    for key in ("hooks", "env"):
        if not value.get(key):
            value.pop(key, None)
    return value


RESULT = {"type": "text", "file": {"content": "line\n" * 50}}
EVENTS = [
    json.dumps({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_response": RESULT}).encode(),
    json.dumps({"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_response": ["a"] * 50}).encode(),
    json.dumps({"toolName": "bash", "toolResult": {"textResultForLlm": "a\n" * 50}}).encode(),
    b"[]",
]


@target(EVENTS)
def hook_handler(given: Input) -> None:
    """An answer is JSON, or there is none."""
    name = given.pick(0, ("claude-code", "copilot"))
    variables = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
    options = given.pick(1, ((), ("--token-limit", "5"), ("--token-limit",), ("--session", "a b")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handler, "cap_by", lambda *_: lambda text: text[:20])
        said = handler.answer([name, *options], given.payload, variables, lambda *_: Capping())
    if said:
        (key,) = json.loads(said)
        assert key == ("hookSpecificOutput" if name == "claude-code" else "modifiedResult")
