"""Real agents learn how the stages of a pipeline ended, and read what its last stage has dropped."""

import pytest

from tests.support.agents import box

# Agents whose shell is `tokcap-bash`, each started by them in its own way.
AGENTS = ("claude-code", "opencode", "pi")
LONG = "(seq 1 3000; exit 7) 2>&1 | tail -3"

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("agent", AGENTS)
def test_a_pipeline_of_an_agent_is_told_and_stored(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    without = box.run(agent, [LONG], tmp_path / "without", None)
    ran = box.run(
        agent,
        [LONG, "{next}", "env | grep -c TOKCAP_STAGES"],
        tmp_path / "with",
        ("--tokenizer", "cl100k_base"),
    )
    first, page, clean = ran.results
    assert "2998\n2999\n3000" in without.results[0]
    assert "2998\n2999\n3000" in first
    assert "[stage 1 exited 7; " in first
    assert "\n1\n2\n3\n" in f"\n{page}"
    assert "0" in clean
