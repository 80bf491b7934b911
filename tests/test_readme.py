"""README and guides are true: their examples run, and their tables are made from the program."""

import re
import sys

import pytest

from tests.support.guides import (
    GUIDES,
    changed_outputs,
    examples,
    filled,
    outputs,
    python_blocks,
    run_python,
    section_outputs,
    sections,
)
from tests.support.program import ROOT
from tests.support.tiers import nightly
from tokcap.cli.catalog import all_commands
from tokcap.cli.options import OPTIONS, options_of
from tokcap.hooks import manage

README = (ROOT / "README.md").read_text()

PYTHON = [
    pytest.param(code, id=f"{guide.stem} {number}")
    for guide in GUIDES
    for number, code in enumerate(python_blocks(guide.read_text()))
]
SECTIONS = [
    pytest.param(section, id=f"{guide.stem}: {section.partition(chr(10))[0].strip('# ')}")
    for guide in GUIDES
    for section in sections(guide.read_text())
    if examples(section)
]
# The document with the tables of all options and commands.
REFERENCE_FILE = ROOT / "docs" / "reference.md"
REFERENCE = REFERENCE_FILE.read_text()


COPIED = re.compile(r"(?<=^```sh\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("section", SECTIONS)
def test_the_examples_of_a_section_print_what_it_says(section):
    assert filled(section, section_outputs(section)) == section, "run python -m tests.test_readme --write"


@pytest.mark.parametrize("code", PYTHON)
def test_python_in_a_guide_runs(code, tmp_path):
    done = run_python(code, tmp_path / "python-home")
    assert (done.returncode, done.stderr) == (0, "")


@nightly
def test_all_sections_of_all_guides_run_in_order_in_one_home_and_can_be_repeated(tmp_path):
    home = tmp_path / "reader" / "home"
    home.mkdir(parents=True)
    changed = {}
    for guide in [*GUIDES, *GUIDES]:
        for section in sections(guide.read_text()):
            if found := changed_outputs(section, home):
                changed[f"{guide.name}: {section.splitlines()[0]}"] = found
            for code in python_blocks(section):
                done = run_python(code, home)
                assert (done.returncode, done.stderr) == (0, "")
    assert changed == {}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_no_line_to_copy_has_a_comment(guide):
    # zsh takes a comment on a line that is typed for arguments.
    lines = [line for block in COPIED.findall(guide.read_text()) for line in block.splitlines()]
    assert [line for line in lines if re.search(r"(^|\s)#", line)] == []


def option_table(options) -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for option in options:
        name = (option.spelled or option.variable).replace("|", r"\|").replace(", --", "`, `--")
        shown = option.shown_default
        default = shown if option.default_text or shown == "none" else f"`{shown}`"
        rows.append(f"| `{name}` | {option.brief} | {default} |")
    return "\n".join(rows) + "\n"


def command_table(commands) -> str:
    rows = ["| command | what it does |", "|---|---|"]
    for command in commands:
        words = " ".join((*command.path, *(argument.spelled for argument in command.arguments)))
        does = command.summary.partition(". ")[0].rstrip(".")
        rows.append(f"| `{words}` | {does} |")
    return "\n".join(re.sub(r"(?<=\w)\|(?=\w)", r"\\|", row) for row in rows) + "\n"


def agent_table() -> str:
    rows = ["| agent | way | whole | of more | what it passes on by itself |", "|---|---|---|---|---|"]
    for agent in manage.agents():
        limits = f"{agent.frame.whole:,} | {agent.frame.cut:,}"
        rows.append(f"| `{agent.name}` | {agent.way} | {limits} | {agent.passes_on()} |")
    return "\n".join(rows) + "\n"


TABLES = {
    "agents": agent_table(),
    "options": option_table(options_of("run")),
    "show options": option_table([option for option in OPTIONS if option.forms == ("show",)]),
    # The first two are the wrapper and `show`, which have tables of their own.
    "commands": command_table(all_commands()[2:]),
}


def with_tables(text: str) -> str:
    """Return a text with the tables of this version between their comments."""
    for name, table in TABLES.items():
        between = rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)"
        text, found = re.subn(between, lambda _, table=table: table, text, flags=re.DOTALL)
        assert found == 1, name
    return text


def test_the_tables_of_the_reference_are_those_of_the_program():
    assert with_tables(REFERENCE) == REFERENCE, "run python -m tests.test_readme --write"


def test_continuous_integration_runs_the_test_line_of_the_readme():
    lines = re.findall(r"^python3 -m venv .*pytest.*$", README, re.MULTILINE)
    assert len(lines) == 1
    assert "grep -m 1 '^python3 -m venv .*pytest' README.md" in (ROOT / ".ci" / "run").read_text()
    assert f"\n{lines[0]}\n" in (ROOT / "CONTRIBUTING.md").read_text()


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("python -m tests.test_readme --write: fill in the tables and the outputs of all examples")
    REFERENCE_FILE.write_text(with_tables(REFERENCE))
    for guide in GUIDES:
        guide.write_text(filled(guide.read_text(), outputs(guide)))
