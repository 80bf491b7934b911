"""Run every example in its own process and check what it prints."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.support.program import IMPORT_PATH, ROOT


def printed_by(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
    )
    assert (done.returncode, done.stderr) == (0, "")
    # An example leaves no files behind.
    assert os.listdir(os.environ["HOME"]) == []
    return done.stdout


def test_the_agent_loop_pages_compacts_and_stops():
    transcript = printed_by("agent_loop.py")
    assert "288:3157:module_287.c:12: error: 'limit' undeclared" in transcript
    steps = [line.partition(": ")[0] for line in transcript.splitlines() if line and line[0] != " "]
    # It continues after its context was compacted, and only the budget stops it.
    assert steps.count("compact") == 1
    assert steps.index("compact") < len(steps) - 4
    assert steps[-2:] == ["stop", "left of 1500 tokens"]
    assert "stop: the budget is exhausted: 1500 of 1500 tokens are used" in transcript
    assert transcript.endswith("left of 1500 tokens: 0\n")
    # The same input gives the same bytes.
    assert printed_by("agent_loop.py") == transcript


# Importing it here would make every later fork of this process slower.
@pytest.mark.skipif(
    find_spec("mcp") is None, reason="the package mcp is not installed: pip install '.[nightly]'"
)
def test_the_mcp_session_pages_searches_and_is_refused():
    printed = printed_by("mcp_session.py")
    assert printed.startswith("tools: run, wait, show, grep, budget_status\n")
    assert "all pages join to the output: True\n" in printed
    assert "NOT_FOUND: no stored output has the handle lake000000000" in printed
    assert "[exit 3]" in printed
    last = printed.splitlines()[-1]
    assert re.search(r"BUDGET_EXHAUSTED: the budget is exhausted: \d+ tokens are left, .* needs 40$", last)
