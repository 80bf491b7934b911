"""Files of others: a config file, the settings of an agent, the events that it sends."""

from __future__ import annotations

import json

from tests.fuzz.target import Input, target
from tests.support import corpus
from tests.support.world import check_told
from tokcap.cli.config import read_config
from tokcap.errors import HookRefused, UsageError
from tokcap.hooks import settings
from tokcap.hooks.json_settings import HookEntry, JsonValue, parse
from tokcap.hooks.line_settings import EnvLine, TomlTable, TomlValue
from tokcap.hooks.yaml_settings import YamlItem

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
        assert message.startswith(f"{PATH}:"), message
        line = message.removeprefix(f"{PATH}:").partition(":")[0]
        assert not line.isdigit() or 1 <= int(line) <= given.payload.count(b"\n") + 1, message


SETTINGS = [
    b"{}",
    b"",
    b'{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]}}',
    b'// c\n{\n  "a": 1, /* b */\n  "hooks": {\n    "BeforeTool": [],\n  },\n}\n',
    b'{"a": [1, 2], "env": {"CLAUDE_CODE_SHELL": "/nowhere/tokcap/bash"}, "shell": "/bin/sh"}',
    b'[shell_environment_policy.set]\nBASH_ENV = "/nowhere/tokcap/bash_env.sh"\nA = "b"\n',
    b'[[hooks]]\nname = "mine"\ncommand = "tokcap hook run vibe"\n',
    b"plugins:\n  enabled:\n    - one\n    - tokcap # ours\na: {b: [1]}\n",
    b"plugins:\n  enabled: [one, 'tokcap']\n",
    b"A=b\nexport BASH_ENV='/nowhere/tokcap/bash_env.sh'\n# c\n",
    *corpus.TRICKY_JSON,
]
NOWHERE = "/nowhere/settings.json"


ADDITIONS = (
    HookEntry("tokcap hook run claude-code", "claude-code", "PreToolUse", "Bash", 10),
    JsonValue("/nowhere/tokcap/bash", ("env", "CLAUDE_CODE_SHELL")),
    JsonValue("/nowhere/tokcap/bash", ("shell",)),
    TomlValue(("shell_environment_policy", "set"), "BASH_ENV", "/nowhere/tokcap/bash_env.sh"),
    TomlTable("vibe", "hooks", {"name": "tokcap"}, "tokcap hook run vibe"),
    EnvLine("BASH_ENV", "/nowhere/tokcap/bash_env.sh"),
    YamlItem(("plugins", "enabled"), "tokcap"),
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
    return {} if data is None else parse(data.decode("utf-8-sig")).plain()


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
