"""Rules that allow, ask or deny decide as they do without tokcap, in every agent that has rules."""

import pytest

from tests.support.agents import box
from tests.support.agents.rules import COMMANDS, RULES, STARTS, decision

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("agent", STARTS)
def test_ten_rules_decide_about_ten_commands_as_without_tokcap(agent, rules, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    start = STARTS[agent](RULES[rules])
    decisions = []
    for install in (None, ("--token-limit", "1000")):
        home = tmp_path / ("with" if install else "without")
        ran = box.run(agent, list(COMMANDS), home, install, start.arguments, start.files)
        assert len(ran.results) == len(COMMANDS), ran.said
        decisions.append([decision(result, str(home)) for result in ran.results])
    without, with_tokcap = decisions
    assert dict(zip(COMMANDS, with_tokcap, strict=True)) == dict(zip(COMMANDS, without, strict=True))
    assert 0 < without.count("ran") < len(COMMANDS)
