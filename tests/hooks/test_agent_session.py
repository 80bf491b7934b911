"""`hook install --total`: what the model of an agent wrote counts too, once, and nothing is lost."""

import json
import os
import subprocess
import sys

import pytest

from tests.support.reference import recount
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment
from tokcap.hooks import AGENTS
from tokcap.hooks.agent_session import charge_model, usage_file

pytestmark = pytest.mark.usefixtures("with_store")
SESSION = "01a1-b2"


def claude_line(number, tokens):
    usage = {"input_tokens": 90_000, "cache_read_input_tokens": 80_000, "output_tokens": tokens}
    return {"type": "assistant", "message": {"id": f"msg_{number}", "content": ['_tokens"'], "usage": usage}}


def codex_line(number, tokens):
    usage = {"input_tokens": 90_000, "output_tokens": tokens, "total_tokens": 90_000 + tokens}
    return {"type": "token_usage_record", "payload": {"response_id": f"resp_{number}", "usage": usage}}


def qwen_line(number, tokens):
    usage = {"promptTokenCount": 90_000, "candidatesTokenCount": tokens - 1, "thoughtsTokenCount": 1}
    return {"uuid": f"u-{number}", "type": "assistant", "usageMetadata": usage}


FILES = {
    "claude-code": (f".claude/projects/-home-x/{SESSION}.jsonl", claude_line),
    "codex": (f".codex/sessions/2026/11/19/rollout-2026-11-19T23-17-08-{SESSION}.jsonl", codex_line),
    "qwen": (f".qwen/projects/-home-x/chats/{SESSION}.jsonl", qwen_line),
}
NOISE = ['{"type":"user","message":{"usage":{"output_tokens":"', 'x_tokens"', '{"a_tokens":1}', "[1]", ""]


@pytest.mark.parametrize("name", FILES)
def test_each_answer_of_the_model_is_charged_once_and_the_last_one_later(name, tmp_path):
    agent, (place, line) = AGENTS[name], FILES[name]
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    env = Environment({**os.environ, "HOME": str(tmp_path)})
    ledger = open_ledger(env)
    ledger.start(SESSION, Settings())
    view = ledger.session(SESSION)
    assert usage_file(agent, SESSION, env) == ""
    charged = 0
    with path.open("w") as file:
        for number in range(1, 40):
            # An answer may have several lines, the first of them from before its end.
            for tokens in (1, 10 * number, 10 * number):
                file.write("\n".join([*NOISE, json.dumps(line(number, tokens)), ""]))
            file.flush()
            if number % 3:
                continue
            assert usage_file(agent, SESSION, env) == str(path)
            for _ in range(2):
                charge_model(agent, str(path), view)
            charged = sum(10 * each for each in range(1, number))
            assert view.read().used == charged
    assert charged > 7000
    assert charge_model(agent, str(tmp_path / "gone"), view) is None


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """Run a command as the agent would, in a session with a total of 1,000 tokens."""
    for name, value in {
        "CLAUDE_CODE_SESSION_ID": SESSION,
        "TOKCAP_SESSION_FROM": "CLAUDE_CODE_SESSION_ID",
        "TOKCAP_SESSION_TOTAL": "1000",
        "TOKCAP_AGENT": "claude-code",
    }.items():
        monkeypatch.setenv(name, value)

    def run(command):
        words = [os.path.join(os.path.dirname(sys.executable), "tokcap-bash"), "-c", command]
        return subprocess.run(words, capture_output=True, check=False, text=True, cwd=tmp_path)

    return run


def test_a_session_is_told_at_80_and_at_100_hundredths_and_then_gets_handles(shell):
    assert shell("seq 1 230").stderr == ""
    assert shell("seq 1 210").stderr == ""
    assert shell("echo first").stderr == "tokcap: warning: the session has used 880 of its 1000 tokens\n"
    assert shell("seq 1 100").stderr == ""
    told = shell("seq 1 230")
    assert "has used 1100 of its 1000 tokens; outputs are only named from now on" in told.stderr
    named = shell("seq 1 230; exit 3")
    assert named.returncode == 3
    assert "has used" not in named.stdout + named.stderr
    assert recount(named.stdout.encode()) < 60
    # The way back is open.
    page = shell(named.stdout.strip().rpartition("; ")[2])
    assert page.stdout.endswith("\n230\n")


def test_a_hard_total_refuses_as_sessions_do(shell, monkeypatch, tmp_path):
    monkeypatch.setenv("TOKCAP_SESSION_MODES", "fixed")
    assert shell("seq 1 450").stdout.endswith("\n450\n")
    assert "has used" in shell("seq 1 40").stderr
    shell("seq 1 40")
    refused = shell("touch ran")
    assert (refused.returncode, (tmp_path / "ran").exists()) == (120, False)
    assert "exhausted" in refused.stderr


def test_the_status_line_has_what_is_used_left_and_saved(shell, inside, tmp_path):
    place, line = FILES["claude-code"]
    transcript = tmp_path / place
    transcript.parent.mkdir(parents=True)
    transcript.write_text("".join(json.dumps(line(number, 100)) + "\n" for number in (1, 2, 3)))
    event = json.dumps({"session_id": SESSION, "transcript_path": str(transcript)}).encode()
    assert inside("budget", "statusline", stdin=event).out == b"nothing used yet\n"
    shell("seq 1 200")
    assert inside("budget", "statusline", stdin=event).out == b"600 of 1000 tokens used, 400 left, 0 saved\n"
    assert inside("budget", "statusline", SESSION).out == b"600 of 1000 tokens used, 400 left, 0 saved\n"
    assert inside("budget", "statusline", stdin=b"no JSON").status == 2
