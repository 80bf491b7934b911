"""`hook install --session @agent` with the real agents that name their session."""

import pytest

from tests.support.agents import box
from tests.support.reference import recount

OPTIONS = ("--token-limit", "1000", "--session", "@agent", "--repeat", "mark")
VARIABLES = {
    "claude-code": "CLAUDE_CODE_SESSION_ID",
    "codex": "CODEX_SESSION_ID",
    "qwen": "QWEN_CODE_SESSION_ID",
}

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("agent", VARIABLES)
def test_a_total_counts_what_the_model_wrote_and_withholds_without_a_refusal(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    # Each result has some 800 tokens, and the model says that it has written 300 for each.
    script = [*(f"seq 1{n}00 1{n}99; seq 3{n}00 3{n}99; seq 5{n}00 5{n}99" for n in range(1, 8)), "{next}"]
    install = ("--tokenizer", "cl100k_base", "--total", "5000")
    ran = box.run(agent, script, tmp_path / "home", install)
    assert len(ran.results) == len(script), ran.said
    *results, page = ran.results
    told = [number for number, text in enumerate(results) if "the session has used" in text]
    assert len(told) == 2, results
    whole = [number for number, text in enumerate(results) if f"\n5{number + 1}99" in text]
    # Without what the model wrote, all seven would be whole.
    assert whole == list(range(told[1])) != list(range(7))
    assert all("tokcap show " in text for text in results[told[1] :])
    assert "\n5799" in page


@pytest.mark.parametrize("agent", VARIABLES)
def test_an_output_that_a_conversation_was_shown_is_answered_by_a_line(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    compare = f'test "$TOKCAP_SESSION" = "${VARIABLES[agent]}" && echo the session of the agent'
    script = ["seq 1 300", "seq 1 300", compare]
    ran = box.run(agent, script, tmp_path / "home", OPTIONS)
    first, again, named = ran.results
    assert "\n300" in first
    assert "\n300" not in again
    assert recount(again.encode()) < 100
    assert "the session of the agent" in named.replace(compare, "")
