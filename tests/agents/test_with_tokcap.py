"""Real agents with an installed hook: what their model receives, as the fake model has recorded it.

`.ci/agents` installs the agents. Without them, or where no network can be made for them alone, the tests are
skipped with the reason. Starting an agent takes long, so there is one conversation with each, and all
promises are checked in it.
"""

import pytest

from tests.support.agents import box
from tests.support.agents.outputs import ERROR_LINE, OUTPUTS, json_in
from tests.support.agents.programs import BY_NAME, PROGRAMS
from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap.hooks import AGENTS

LIMIT = 1000
EVERYDAY = ("claude-code", "codex", "opencode")
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


def long_outputs_are_within_the_limit_and_name_the_way_to_the_rest(received):
    for name in OUTPUTS:
        assert recount(received[name].encode()) <= LIMIT + FRAME_TOKENS, name
        assert "tokcap show" in received[name], name


def exit_status_and_stderr_are_there(received):
    text = received["20,000 lines, exit 3"]
    assert "oops" in text
    assert "3" in "".join(line for line in text.splitlines() if "exit" in line.lower())


def the_error_line_in_the_middle_is_there(received):
    assert ERROR_LINE in received["an error in the middle of 5,000 lines"]


def json_parses(received):
    assert json_in(received["300 KB JSON"])["items"][0]["id"] == 0


def the_command_for_the_rest_works_and_is_capped_once(received):
    text = received["the rest"]
    first = [line for line in text.replace("\\n", "\n").splitlines() if line.strip().isdigit()]
    assert len(first) > 50
    assert recount(text.encode()) <= LIMIT + FRAME_TOKENS


def a_short_output_is_unchanged_with_its_status(received):
    text = received["streams"].replace("\\n", "\n")
    for word in ("one", "two", "three", "4"):
        assert word in text
    assert "TRUNCATED" not in text


def directories_variables_and_functions_work(received):
    text = received["directory"].replace("\\n", "\n")
    assert "/project/below\n" in text
    assert "got a  b" in text


def a_process_in_the_background_goes_on(received):
    assert "started" in received["background"]
    assert "late" in received["after it"].replace(EXTRAS["after it"], "")


PROMISES = (
    long_outputs_are_within_the_limit_and_name_the_way_to_the_rest,
    exit_status_and_stderr_are_there,
    the_error_line_in_the_middle_is_there,
    json_parses,
    the_command_for_the_rest_works_and_is_capped_once,
    a_short_output_is_unchanged_with_its_status,
    directories_variables_and_functions_work,
    a_process_in_the_background_goes_on,
)


@pytest.mark.parametrize("agent", [as_nightly(program.name) for program in PROGRAMS])
def test_without_a_limit_the_model_receives_at_most_what_it_would_have_received(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    # Half of these are passed on whole by every agent. The tokens are those of the recount.
    short = [f"seq 1 {last}; exit {status}" for last in (400, 900) for status in (0, 3)]
    script = [*(command for command, _ in OUTPUTS.values()), *short]
    install = ("--tokenizer", "cl100k_base")
    without, ran = (
        box.run(agent, script, tmp_path / name, given).results
        for name, given in (("0", None), ("1", install))
    )
    for command, before, after in zip(script, without, ran, strict=True):
        if command in short:
            assert {*lines_of_numbers(before)} <= {*lines_of_numbers(after)}, command
        else:
            most = max(recount(before.encode()), 1000)
            assert recount(after.encode()) <= most + FRAME_TOKENS, command
    assert json_in(ran[list(OUTPUTS).index("300 KB JSON")])["items"][0]["id"] == 0


@pytest.mark.parametrize("agent", [as_nightly(program.name) for program in PROGRAMS])
def test_every_page_names_a_command_that_works_if_tokcap_is_not_on_path(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    script = ["seq 1 20000", *["{next}"] * 3]
    install = ("--token-limit", "300", "--keep", "head")
    results = box.run(agent, script, tmp_path / "home", install, is_on_path=False).results
    assert len(results) == len(script)
    pages = [lines_of_numbers(text) for text in results]
    last = 0
    for page in pages:
        assert len(page) > 20, results
        assert page == list(range(page[0], page[-1] + 1))
        # Some agents write something else in the first line.
        assert page[0] - last in (1, 2)
        last = page[-1]


def lines_of_numbers(text: str) -> list[int]:
    return [int(line) for line in text.replace("\\n", "\n").splitlines() if line.strip().isdigit()]


@pytest.mark.parametrize(
    "agent",
    [program.name if program.name in EVERYDAY else as_nightly(program.name) for program in PROGRAMS],
)
def test_the_model_receives_what_it_needs_within_the_limit(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    # Hooks count with the tokenizer of the agent's model. The recount is in cl100k_base for all of them.
    ran = box.run(agent, SCRIPT, tmp_path / "home", ("--token-limit", str(LIMIT)))
    assert len(ran.results) == len(SCRIPT), ran.said
    received = dict(zip(NAMES, ran.results, strict=True))
    broken = {}
    for promise in PROMISES:
        if promise is a_process_in_the_background_goes_on and not BY_NAME[agent].leaves_processes:
            continue
        try:
            promise(received)
        except (AssertionError, ValueError) as error:
            broken[promise.__name__] = str(error)
    assert not broken, received
    if AGENTS[agent].merges_streams:
        assert "one\ntwo\nthree\n" in received["streams"]
    assert ran.left == []


@pytest.mark.nightly
@pytest.mark.parametrize("agent", AGENTS)
def test_a_rule_applies_to_the_command_of_the_model_whatever_the_agent_puts_around_it(agent, tmp_path):
    if reason := box.reason_to_skip(agent):
        pytest.skip(reason)
    config = tmp_path / "home" / ".config" / "tokcap" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[[rule]]\nmatch = "seq"\nlimit = 120\nkeep = "head"\n')
    ran = box.run(agent, ["cd . && seq 1 20000 | head -9000"], tmp_path / "home", ())
    assert len(ran.results[0]) < 700
