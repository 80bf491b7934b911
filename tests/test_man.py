"""The man page: current, complete, without fault to the tools that read it, and true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tokcap import exits
from tokcap.envelope import Meta
from tokcap.errors import ReaderGone, TokcapError
from tokcap.options import OPTIONS, Choice, Switch

DIRECTORY = Path(__file__).parent.parent / "man"
PAGE = DIRECTORY / "tokcap.1"

PATIENCE_SECONDS = 120


def run(*argv, home, check=True, **variables):
    """What a program writes to stdout and to stderr, in a world where nobody has set anything."""
    world = {"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C", **variables}
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        cwd=DIRECTORY.parent,
        env=world,
        timeout=PATIENCE_SECONDS,
        check=check,
    )
    return done.stdout, done.stderr


def test_the_man_page_is_current(tmp_path):
    shutil.copy(DIRECTORY / "generate.py", tmp_path)
    run(sys.executable, tmp_path / "generate.py", home=tmp_path, PYTHONPATH=str(DIRECTORY.parent))
    assert (tmp_path / "tokcap.1").read_text() == PAGE.read_text()


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_in_the_man_page_with_all_its_names(option):
    section = PAGE.read_text().split(".Sh OPTIONS\n")[1].split(".Sh ")[0]
    head = re.compile(rf"(Fl \w , )?Fl -{option.name}( |\n)")
    (entry,) = (entry for entry in section.split(".It ") if head.match(entry))
    assert (f".Ev {option.variable} ." in entry) == option.ambient
    assert (f".Va {option.key} ." in entry) == option.ambient
    assert f"Default: \\%{option.shown_default}." in entry
    if option.short:
        assert entry.startswith(f"Fl {option.short} , ")
    if isinstance(option.kind, Switch):
        assert f".Fl -no-{option.name}\n" in entry
    if isinstance(option.kind, Choice):
        assert " | ".join(option.kind.words) in entry


def test_every_code_key_and_status_is_in_the_man_page():
    page = PAGE.read_text()
    codes = {error.code for error in (TokcapError, *TokcapError.__subclasses__()) if error is not ReaderGone}
    assert set(re.findall(r"[A-Z_]{5,}", page)) >= codes | {"COMMAND_FAILED", "COMMAND_KILLED"}
    assert set(re.findall(r"\w+", page)) >= set(Meta.__annotations__)
    for status in (
        exits.BUDGET_EXHAUSTED,
        exits.TIMED_OUT,
        exits.OWN_FAILURE,
        exits.NOT_EXECUTABLE,
        exits.NOT_FOUND,
        exits.READER_GONE,
        exits.INTERRUPTED,
    ):
        assert f".It {status}\n" in page
    assert f".It {exits.SIGNAL_BASE} + N\n" in page


def test_mandoc_finds_no_fault(tmp_path):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    assert run("mandoc", "-T", "lint", PAGE, home=tmp_path) == ("", "")


@pytest.mark.parametrize("columns", [60, 100])
def test_man_renders_the_page_without_warnings(columns, tmp_path):
    # Other programs of that name take no file and give no warnings.
    version, _ = run("man", "--version", home=tmp_path, check=False) if shutil.which("man") else ("", "")
    if not version.startswith("man "):
        pytest.skip("man-db is not installed")
    shown, warnings = run("man", "--warnings=w", "-l", PAGE, home=tmp_path, MANWIDTH=str(columns))
    assert not warnings
    for option in OPTIONS:
        assert option.flag in shown
        assert option.variable in shown or not option.ambient
    # A word that happens to be the name of a macro vanishes from a heading.
    for group in {option.group for option in OPTIONS}:
        assert f"   {group}\n" in shown


def test_the_examples_in_the_man_page_are_true(tmp_path):
    # A command, and what it prints: all lines up to the next command.
    example = re.compile(r"^\$ (.*)\n((?:(?!\$ ).+\n)+)", re.MULTILINE)
    examples = [found for display in displays() for found in example.findall(display)]
    assert len(examples) >= 3
    for command, output in examples:
        assert answer(command, tmp_path) == output


def test_the_marks_in_the_man_page_are_true(tmp_path):
    marks = [
        line for display in displays() if display.startswith("[TRUNCATED]") for line in display.splitlines()
    ]
    shown = answer("seq 300 | tokcap -n 60; seq 300 | tokcap -n 60 --keep ends", tmp_path)
    assert marks == [line for line in shown.splitlines() if line.startswith("[TRUNCATED]")]


def displays():
    """The literal texts of the page, as a reader sees them."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return [text.replace("\\-", "-").replace("\\c\n", "") for text in found]


def answer(command, home):
    """What a shell prints for a command with tokcap in it."""
    script = f'tokcap() {{ "$PYTHON" -m tokcap "$@"; }}\n{command}'
    return run("sh", "-c", script, home=home, PYTHON=sys.executable)[0]
