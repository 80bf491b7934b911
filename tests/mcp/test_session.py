"""What `tokcap mcp` charges to a session: every token that a model reads."""

from __future__ import annotations

import re

import pytest

from tests.support.mcp_client import LineAgent, answer_of


def status_of(agent: LineAgent) -> tuple[int, int]:
    """The used and the remaining tokens, as a model reads them."""
    used, left = re.search(r"(\d+) tokens used, (\d+) of \d+ left", agent.call("budget_status").text).groups()
    return int(used), int(left)


def test_results_are_charged_to_the_session_until_it_is_exhausted(tmp_path, inside):
    data = tmp_path / "data"
    with LineAgent(data, "-n", "100", "--total", "360") as agent:
        # The line about the exit status is charged too.
        used = agent.call("run", argv=["false"]).tokens
        assert used
        while True:
            assert status_of(agent) == (used, max(360 - used, 0))
            if used > 320:
                break
            marker = tmp_path / f"ran-{used}"
            answer = agent.call("run", shell=f"touch '{marker}'; seq 1 1000; exit 5")
            assert not answer.is_error
            assert marker.exists()
            assert "5" in answer.texts[-1]
            used += answer.tokens
        refused = agent.call("run", argv=["touch", str(tmp_path / "too-much")])
        assert refused.code == "BUDGET_EXHAUSTED"
        assert not (tmp_path / "too-much").exists()
        assert agent.call("show", handle="@last").code == "BUDGET_EXHAUSTED"
        running = inside("budget", "list", "-o", "json", env={"TOKCAP_DATA_DIR": str(data)}).json["data"]
        assert [session["used"] for session in running] == [used]
    # A session without a name ends with the server.
    assert inside("budget", "list", "-o", "json", env={"TOKCAP_DATA_DIR": str(data)}).json["data"] == []


def test_an_error_is_charged_like_an_answer(tmp_path):
    with LineAgent(tmp_path / "data", "-n", "100", "--total", "1000") as agent:
        used = 0
        for tool, arguments in (
            ("show", {"handle": "lake000000000"}),
            ("run", {"argv": ["no-such-command"]}),
            ("run", {"argv": ["x" * 2000]}),
        ):
            answer = agent.call(tool, **arguments)
            assert answer.is_error
            used += answer.tokens
            assert status_of(agent)[0] == used


def test_a_named_session_is_shared_and_stays_after_the_server(tmp_path, inside):
    data = tmp_path / "data"
    variables = {"TOKCAP_DATA_DIR": str(data), "TOKCAP_SESSION": "work"}
    assert inside("budget", "start", "work", "--total", "1000", env=variables).status == 0
    with LineAgent(data, "--session", "work", "-n", "100") as agent:
        shown = agent.call("run", argv=["seq", "1", "20"]).tokens
        inside("budget", "record", "--input", "300", env=variables)
        assert status_of(agent)[0] == shown + 300
    assert inside("budget", "status", "-o", "json", env=variables).json["data"]["used"] == shown + 300


def test_without_a_session_only_the_limit_applies(tmp_path):
    with LineAgent(tmp_path / "data", "-n", "100") as agent:
        assert agent.call("budget_status").text == "no session; at most 100 tokens per result"


@pytest.mark.parametrize("command", ["seq 1 1000; exit 3", "no-such-command", "seq 1 30"])
def test_calls_at_the_same_time_never_use_more_than_the_total(tmp_path, command):
    with LineAgent(tmp_path / "data", "-n", "200", "--total", "250") as agent:
        shell = f"until [ -e '{tmp_path}/go' ]; do sleep 0.02; done; {command}"
        calls = [agent.begin("run", shell=shell, limit=None) for _ in range(5)]
        calls += [agent.begin("show", handle="no-such-handle-" * 20) for _ in range(5)]
        (tmp_path / "go").touch()
        answers = [answer_of(call) for call in calls]
        paid = sum(answer.tokens for answer in answers if answer.code != "BUDGET_EXHAUSTED")
        used, left = status_of(agent)
        assert paid == used <= 250
        assert left == 250 - used
