"""Claude Code runs commands in more ways than one: in subagents, in the background, in plan mode."""

import pytest

from tests.support.agents import box
from tests.support.reference import recount

LIMIT = 1000
INSTALL = ("--token-limit", str(LIMIT), "--tokenizer", "cl100k_base")
LONG = "seq 1 20000; exit 3"
SUBAGENT = {
    "tool": "Agent",
    "arguments": {
        "description": "inner work",
        "prompt": "please do the inner work",
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
    "within": [LONG, "{next}"],
}
IN_BACKGROUND = {
    "tool": "Bash",
    "arguments": {"command": LONG, "description": "count", "run_in_background": True},
}
FILES_OF_TASKS = '"$TMPDIR"/claude-*/*/*/tasks/*.output'

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def is_installed():
    if reason := box.reason_to_skip("claude-code"):
        pytest.skip(reason)


def test_commands_of_subagents_and_in_the_background_are_capped(tmp_path):
    # The files of subagents are there too, and have other lines.
    found = f"grep -ls '^.TRUNCATED. ' {FILES_OF_TASKS}"
    wait = f"for n in {{1..300}}; do {found} > /dev/null && break; sleep 0.2; done"
    look = f"{wait}; for file in `{found}`; do tail -n 4 $file; wc -l < $file; done"
    ran = box.run("claude-code", [SUBAGENT, IN_BACKGROUND, look], tmp_path / "home", INSTALL)
    first, page = ran.within
    assert first.startswith("Exit code 3\n1\n2\n")
    for text in (first, page):
        assert LIMIT // 2 < recount(text.encode()) <= LIMIT + 10
        assert "; tokcap show" in text
    # The file of a command in the background gets what the model may read.
    in_background = ran.results[2]
    assert "20000\n[TRUNCATED]" in in_background
    assert int(in_background.split()[-1]) < LIMIT


def test_the_file_of_a_running_command_leads_to_what_it_writes(tmp_path):
    command = "seq 1 20000; sleep 9; echo late; sleep 15"
    started = {**IN_BACKGROUND, "arguments": {**IN_BACKGROUND["arguments"], "command": command}}
    look = (
        f"for n in {{1..100}}; do line=`grep -hs '^.RUNNING. ' {FILES_OF_TASKS}` && break; sleep 0.2; done;"
        'way="${line#*] }"; eval "$way --until late --timeout 30 -n 900" > new; head -n 1 new;'
        " tokcap wait @running --until late --timeout 1 -n 90000 > all; tail -n 2 all; wc -l < all"
    )
    ran = box.run("claude-code", [started, look], tmp_path / "home", INSTALL)
    first, *_, late, way, lines = ran.results[1].splitlines()
    assert 20 < int(first) < LIMIT
    assert (late, int(lines)) == ("late", 20_002)
    assert way.startswith("[RUNNING] --since ")


def test_plan_mode_is_as_without_tokcap_and_capped(tmp_path):
    arguments = ("-p", "go", "--permission-mode", "plan")
    script = ["seq 1 20000", "touch made.txt", "cat build.py"]
    without = box.run("claude-code", script, tmp_path / "without", None, arguments)
    ran = box.run("claude-code", script, tmp_path / "with", INSTALL, arguments)
    assert LIMIT // 2 < recount(ran.results[0].encode()) <= LIMIT + 10
    assert ran.results[1:] == without.results[1:]
    assert not (tmp_path / "with" / "project" / "made.txt").exists()
