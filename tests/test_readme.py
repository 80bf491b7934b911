"""The README is true: its examples are run, its tables are those of the program."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tokcap.help import full_help, spelled
from tokcap.options import OPTIONS

README = (ROOT / "README.md").read_text()

EXAMPLES = [
    (command, output)
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for command, output in re.findall(r"\$ (.*)\n((?:(?!\$ ).*\n)*)", block)
]


def steady(text: str) -> str:
    """An answer without what the clock put in."""
    return re.sub(r'"duration_ms":\d+', '"duration_ms":0', text)


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_readme_says(command, output, tmp_path):
    tokcap = tmp_path / "bin" / "tokcap"
    tokcap.parent.mkdir()
    tokcap.write_text(f'#!/bin/sh\nexec {sys.executable} -m tokcap "$@"\n')
    tokcap.chmod(0o755)
    world = {**os.environ, "PATH": f"{tokcap.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], env=world, capture_output=True, text=True, timeout=60, check=False
    )
    assert steady(done.stdout) == steady(output)
    assert done.stderr == ""


def option_table() -> str:
    rows = ["| option | meaning | default |", "|---|---|---|"]
    for option in OPTIONS:
        name = spelled(option).replace("|", r"\|").replace(", --", "`, `--")
        default = option.default_text or f"`{option.shown_default}`"
        rows.append(f"| `{name}` | {option.help} | {default} |")
    return "\n".join(rows) + "\n"


def test_the_option_table_is_that_of_the_grammar():
    shown = re.search(r"<!-- options -->\n(.*?)<!-- /options -->", README, re.DOTALL).group(1)
    assert shown == option_table(), f"\n{option_table()}"


def test_help_has_every_option_and_fits_into_100_columns():
    text = full_help()
    for option in OPTIONS:
        assert spelled(option) in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_map_names_every_module():
    shown = README.partition("## Map of the code")[2]
    for path in sorted((ROOT / "tokcap").rglob("*.py")):
        if path.name != "__init__.py" and "cli" not in path.parts and "data" not in path.parts:
            assert path.stem in shown, path


def test_continuous_integration_runs_the_readmes_own_line():
    lines = re.findall(r"^python3 -m venv .*pytest.*$", README, re.MULTILINE)
    assert len(lines) == 1
    assert "grep -m 1 '^python3 -m venv .*pytest' README.md" in (ROOT / ".ci" / "run").read_text()
