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
