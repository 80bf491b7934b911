"""With `--redact`, the value of a secret variable is in no answer and in no stored output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.support.mcp_client import SERVER, Wire

pytestmark = pytest.mark.usefixtures("with_store")

SECRET = "Tr0ub4dor+3xyz"
COMMANDS = {
    "the environment": "env",
    "one variable": "printenv DEPLOY_TOKEN",
    "a remote": f"git init -q r && git -C r remote add o 'https://u:{SECRET}@h/r' && git -C r remote -v",
    "a trace": f"""python3 -c 'def login(p): raise ValueError(p)\nlogin("{SECRET}")' 2>&1 || true""",
    "coloured JSON": "t=$DEPLOY_TOKEN; printf '\\033[34mk\\033[0m: \\033[32m%s\\033[1m%s' ${t%xyz} xyz",
    "a long line": f"printf '%070000d{SECRET}%09d' 0 0",
    "a pipeline": f"echo {SECRET} | wc -l",
}


@pytest.fixture(autouse=True)
def with_secret(monkeypatch, tmp_path):
    monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
    monkeypatch.chdir(tmp_path)


def assert_masked(texts, data):
    stored = [path.read_bytes() for path in data.rglob("*") if path.is_file()]
    assert stored
    for text in [*texts, *stored]:
        assert SECRET.encode() not in text
        assert SECRET[:8].encode() not in text


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_of_a_command_and_of_a_shell(command, programs, with_store):
    variables = {**os.environ, "TOKCAP_REDACT": "1", "TOKCAP_SPILL": "always"}
    shells = [name for name in ("bash", "zsh") if shutil.which(name)]
    for words in (["tokcap", "--redact", "--spill", "always"], *([f"tokcap-{name}"] for name in shells)):
        done = subprocess.run(
            [programs / words[0], *words[1:], "-c", command], capture_output=True, env=variables, check=True
        )
        assert b"REDACTED" in done.stdout or command == COMMANDS["a pipeline"]
        assert_masked([done.stdout, done.stderr], with_store)
        shutil.rmtree("r", ignore_errors=True)


@pytest.mark.parametrize("words", [(), ("wrap", "--redact")])
def test_of_both_programs_for_mcp(words, with_store):
    # The server inside stores what it has seen itself.
    own = ("--", "env", "TOKCAP_DATA_DIR=inner", sys.executable, *SERVER) if words else ()
    given = {} if words else {"env": {"TOKCAP_REDACT": "1"}}
    with Wire(with_store, *words, "-n", "200", *own, stderr=subprocess.DEVNULL, **given) as wire:
        answer = wire.call("run", shell=f"env; seq 2000; echo {SECRET}")
    assert "REDACTED" in answer.text
    assert_masked([json.dumps(answer.content).encode()], with_store)
