"""The README is true: its examples are run, its tables are those of the program."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import PACKAGE, ROOT
from tokcap.catalog import HELP, flag_of
from tokcap.cli.application import app
from tokcap.cli.commands import all_commands
from tokcap.options import OPTIONS, options_of

README = (ROOT / "README.md").read_text()

EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for command, output in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
]


def steady(text: str) -> str:
    """An answer without what the clock and the reader's own directories put in."""
    text = re.sub(r'"spill_path":"[^"]*/spill/', '"spill_path":"/spill/', text)
    return re.sub(r'"duration_ms":\d+', '"duration_ms":0', text)


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.fixture(scope="module")
def reader_home(tmp_path_factory):
    """The home of one reader, who tries the examples one after the other."""
    return tmp_path_factory.mktemp("reader")


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_readme_says(command, output, tmp_path, reader_home, with_store):
    tokcap = tmp_path / "bin" / "tokcap"
    tokcap.parent.mkdir()
    tokcap.write_text(f'#!/bin/sh\nexec {sys.executable} -m tokcap "$@"\n')
    tokcap.chmod(0o755)
    world = {**os.environ, "PATH": f"{tokcap.parent}:{os.environ['PATH']}", "HOME": str(reader_home)}
    del world["TOKCAP_DATA_DIR"]
    done = subprocess.run(
        ["bash", "-c", command], env=world, capture_output=True, text=True, timeout=60, check=False
    )
    assert steady(done.stdout) == steady(output)
    assert done.stderr == ""


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_python_in_the_readme_runs(code, with_store):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def option_table(options) -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for option in options:
        name = flag_of(option).spelled.replace("|", r"\|").replace(", --", "`, `--")
        default = option.default_text or f"`{option.shown_default}`"
        rows.append(f"| `{name}` | {option.help} | {default} |")
    return "\n".join(rows) + "\n"


def command_table(commands) -> str:
    rows = ["| command | what it does | options |", "|---|---|---|"]
    for command in commands:
        words = " ".join((*command.path, *(argument.spelled for argument in command.arguments)))
        options = " ".join(f"`{flag.spelled}`" for flag in command.flags if flag != HELP)
        rows.append(f"| `{words}` | {command.sentence} | {options} |".replace("  |", " |"))
    return "\n".join(re.sub(r"(?<=\w)\|(?=\w)", r"\\|", row) for row in rows) + "\n"


TABLES = {
    "options": option_table(options_of("run")),
    "show options": option_table([option for option in OPTIONS if option.forms == ("show",)]),
    # Those of the wrapper and of `show` have tables of their own.
    "commands": command_table(all_commands(app)[2:]),
}


def with_tables(text: str) -> str:
    """A text with the tables as they have to be: `python -m tests.test_readme` writes them."""
    for name, table in TABLES.items():
        between = rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)"
        text, found = re.subn(between, lambda _, table=table: table, text, flags=re.DOTALL)
        assert found == 1, name
    return text


def test_the_tables_are_those_of_the_catalogue():
    assert with_tables(README) == README, "run python -m tests.test_readme"


def test_the_map_names_every_module():
    shown = README.partition("## Map of the code")[2]
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "__init__.py" and "cli" not in path.parts and "data" not in path.parts:
            assert re.search(rf"\b{path.stem}\b", shown), path


def test_continuous_integration_runs_the_readmes_own_line():
    lines = re.findall(r"^python3 -m venv .*pytest.*$", README, re.MULTILINE)
    assert len(lines) == 1
    assert "grep -m 1 '^python3 -m venv .*pytest' README.md" in (ROOT / ".ci" / "run").read_text()


if __name__ == "__main__":
    (ROOT / "README.md").write_text(with_tables(README))
