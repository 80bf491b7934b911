"""The README is true: its examples are run, its tables are those of the program."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tokcap.catalog import flag_of
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


TABLES = {
    "options": options_of("run"),
    "show options": [option for option in OPTIONS if option.forms == ("show",)],
}


@pytest.mark.parametrize("name", TABLES)
def test_the_option_tables_are_those_of_the_grammar(name):
    shown = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", README, re.DOTALL).group(1)
    assert shown == option_table(TABLES[name]), f"\n{option_table(TABLES[name])}"


def test_the_map_names_every_module():
    shown = README.partition("## Map of the code")[2]
    for path in sorted((ROOT / "tokcap").rglob("*.py")):
        if path.name != "__init__.py" and "cli" not in path.parts and "data" not in path.parts:
            assert path.stem in shown, path


def test_continuous_integration_runs_the_readmes_own_line():
    lines = re.findall(r"^python3 -m venv .*pytest.*$", README, re.MULTILINE)
    assert len(lines) == 1
    assert "grep -m 1 '^python3 -m venv .*pytest' README.md" in (ROOT / ".ci" / "run").read_text()
