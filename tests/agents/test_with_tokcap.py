"""Real agents with an installed hook: what their model receives, as the fake model has recorded it.

`.ci/agents` installs the agents. Without them, or where no network can be made for them alone, the tests are
skipped with the reason.
"""

import fcntl
import json
import os
from pathlib import Path

import pytest

from tests.support.agents import box
from tests.support.agents.outputs import ERROR_LINE, OUTPUTS, json_in
from tests.support.agents.programs import PROGRAMS
from tests.support.reference import recount

LIMIT = 1000
# What an agent may put around an output.
FRAME_TOKENS = 40

EXTRAS = {
    "the rest": "{next}",
    "streams": "echo one; echo two >&2; echo three; exit 4",
    # Gemini CLI blocks substitutions of commands itself, and opencode directories outside of the project.
    "directory": 'mkdir -p below && cd below && pwd; X="a  b"; f() { echo "got $1"; }; f "$X"',
    "background": "(sleep 0.2; echo late > late.txt) & echo started",
    "after it": "sleep 1; cat late.txt",
}
SCRIPT = [command for command, _ in OUTPUTS.values()]
SCRIPT = [SCRIPT[0], EXTRAS["the rest"], *SCRIPT[1:], *list(EXTRAS.values())[1:]]
NAMES = [next(iter(OUTPUTS)), "the rest", *list(OUTPUTS)[1:], *list(EXTRAS)[1:]]

pytestmark = pytest.mark.one_python


@pytest.fixture(scope="module", params=[program.name for program in PROGRAMS])
def agent(request) -> str:
    if reason := box.reason_to_skip(request.param):
        pytest.skip(reason)
    return request.param


@pytest.fixture(scope="module")
def received(agent, tmp_path_factory) -> dict[str, str]:
    """What the model received for each command, in one run of the agent. All processes of pytest share it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / f"{agent}.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        if not text:
            home = tmp_path_factory.mktemp(agent) / "home"
            ran = box.run(agent, SCRIPT, home, ("--token-limit", str(LIMIT)))
            text = json.dumps([ran.results, ran.said])
            file.write(text)
    results, said = json.loads(text)
    assert len(results) == len(SCRIPT), said
    return dict(zip(NAMES, results, strict=True))


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_long_output_is_within_the_limit_and_names_the_way_to_the_rest(received, name):
    text = received[name]
    assert recount(text.encode()) <= LIMIT + FRAME_TOKENS
    assert "tokcap show" in text


def test_exit_status_and_stderr_are_there(received):
    text = received["20,000 lines, exit 3"]
    assert "oops" in text
    assert "3" in "".join(line for line in text.splitlines() if "exit" in line.lower())


def test_the_error_line_in_the_middle_is_there(received):
    assert ERROR_LINE in received["an error in the middle of 5,000 lines"]


def test_json_parses(received):
    found = json_in(received["300 KB JSON"])
    assert found["items"][0]["id"] == 0


def test_the_command_for_the_rest_works_and_is_capped_once(received):
    text = received["the rest"]
    first = [line for line in text.replace("\\n", "\n").splitlines() if line.strip().isdigit()]
    assert len(first) > 50
    assert recount(text.encode()) <= LIMIT + FRAME_TOKENS


def test_a_short_output_is_unchanged_with_its_status(received):
    text = received["streams"].replace("\\n", "\n")
    for word in ("one", "two", "three", "4"):
        assert word in text
    assert "TRUNCATED" not in text


def test_directories_variables_and_functions_work(received):
    text = received["directory"].replace("\\n", "\n")
    assert "/project/below\n" in text
    assert "got a  b" in text


def test_a_process_in_the_background_goes_on(received):
    assert "started" in received["background"]
    assert "late" in received["after it"]


def test_the_hook_is_removed_without_a_trace(agent, tmp_path, tokcap):
    # Not by the agent: it writes files of its own.
    before = snapshot(tmp_path)
    world = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": ""}
    assert tokcap("hook", "install", agent, env=world).status == 0
    assert snapshot(tmp_path) != before
    assert tokcap("hook", "remove", agent, env=world).status == 0
    assert snapshot(tmp_path) == before


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
