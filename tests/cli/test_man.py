"""The man pages: current, complete, without fault to the tools that read them, and true."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.support.program import IMPORT_PATH, PACKAGE, ROOT
from tests.support.shells import install_programs
from tests.support.tiers import as_nightly
from tokcap import exits
from tokcap.cli.catalog import all_commands
from tokcap.core.response import MEANINGS, Meta
from tokcap.errors import COMMAND_FAILURES, ReaderGone, TokcapError

DIRECTORY = ROOT / "man"
PAGE = DIRECTORY / "man1" / "tokcap.1"
COMMANDS = all_commands()

PATIENCE_SECONDS = 120


def pages_in(directory):
    return sorted(directory.glob("man?/tokcap*"))


PAGES = pages_in(DIRECTORY)


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


def test_the_man_pages_are_current(tmp_path):
    shutil.copytree(DIRECTORY, tmp_path / "man", ignore=shutil.ignore_patterns("*.1", "*.5", "__pycache__"))
    run(sys.executable, tmp_path / "man" / "generate.py", home=tmp_path, PYTHONPATH=IMPORT_PATH)
    made = {page.name: page.read_text() for page in pages_in(tmp_path / "man")}
    assert made == {page.name: page.read_text() for page in PAGES}


def test_every_first_word_has_a_page():
    names = {f"tokcap-{command.path[0]}.1" for command in COMMANDS if command.path}
    assert {page.name for page in PAGES} == names | {
        "tokcap.1",
        "tokcap-sh.1",
        "tokcap-bash.1",
        "tokcap-json.5",
    }
    for name in names:
        assert f"See {name.removesuffix('.1')}(1)." in PAGE.read_text()


def test_every_page_is_installed():
    shared = tomllib.loads((DIRECTORY.parent / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    installed = shared["targets"]["wheel"]["shared-data"]
    for page in PAGES:
        assert page.parent.name == f"man{page.suffix[1:]}"
        assert installed[f"man/{page.parent.name}"] == f"share/man/{page.parent.name}"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_option_is_in_the_man_page_with_all_its_names(command):
    text = (DIRECTORY / "man1" / page_of(command)).read_text()
    if len(command.path) > 1:
        text = text.split(f".Ss {command.name}\n")[1]
    section = re.split(
        r"^\.Sh (?!OPTIONS)", text if len(command.path) > 1 else text.split(".Sh OPTIONS\n")[1]
    )[0]
    for option in command.options:
        head = " , ".join(f"Fl {spelling[1:]}" for spelling in option.spellings)
        (entry,) = (entry for entry in entries(section) if re.match(rf"{head}( |\n)", entry))
        assert (f".Ev {option.variable} ." in entry) == option.ambient
        assert (f".Va {option.key} ." in entry) == option.ambient
        if option.takes_value and option.shown_default:
            assert f"Default: \\%{option.shown_default.partition(':')[0]}" in entry
        assert not option.negation or f".Fl {option.negation[1:]}\n" in entry
        assert " | ".join(option.choices) in entry


def entries(section):
    """What stands in the first lists of a section, up to the next command."""
    return re.split(r"^\.Ss tokcap", section, flags=re.MULTILINE)[0].split(".It ")


def page_of(command):
    return f"tokcap-{command.path[0]}.1" if command.path else "tokcap.1"


def test_every_key_and_code_is_explained():
    page = (DIRECTORY / "man5" / "tokcap-json.5").read_text()
    errors = {kind.code: kind.__doc__ for kind in error_classes()}
    keys = [name.rstrip("_") for name in Meta.__annotations__]
    for word in (*keys, *COMMAND_FAILURES, *errors, *MEANINGS):
        assert re.search(rf"^\.It (Va|Dv) {word}$", page, re.MULTILINE)


def error_classes():
    return [kind for kind in (TokcapError, *TokcapError.__subclasses__()) if kind is not ReaderGone]


def test_every_error_class_has_a_code_and_a_meaning_of_its_own():
    classes = error_classes()
    for name in ("code", "__doc__"):
        assert len({getattr(kind, name) for kind in classes}) == len(classes)


def test_the_registry_has_every_code_of_a_warning():
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert sorted(set(re.findall(r'Notice\(\s*"([A-Z_]+)"', source))) == sorted(MEANINGS)


def test_every_status_is_in_the_man_page():
    page = PAGE.read_text()
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_mandoc_finds_no_fault(page, tmp_path):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not installed")
    assert run("mandoc", "-T", "lint", page, home=tmp_path) == ("", "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.parametrize("columns", [60, as_nightly(100)])
def test_man_renders_every_page_without_warnings(columns, page, tmp_path):
    # Other programs of that name take no file and give no warnings.
    version, _ = run("man", "--version", home=tmp_path, check=False) if shutil.which("man") else ("", "")
    if not version.startswith("man "):
        pytest.skip("man-db is not installed")
    shown, warnings = run("man", "--warnings=w", "-l", page, home=tmp_path, MANWIDTH=str(columns))
    assert not warnings
    for heading in ("NAME", "DESCRIPTION", "SEE ALSO"):
        assert f"\n{heading}\n" in shown
    for command in COMMANDS:
        if page.name == page_of(command):
            for option in command.options:
                assert option.spellings[-1] in shown
                assert not option.ambient or option.variable in shown
            # A word that happens to be the name of a macro vanishes from a heading.
            for group in {option.group for option in command.options if option.group}:
                assert f"   {group}\n" in shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_in_the_man_pages_are_true(page, tmp_path):
    # A command, and what it prints: all lines up to the next command.
    example = re.compile(r"^\$ (.*)\n((?:(?!\$ |    ).+\n)+)", re.MULTILINE)
    examples = [found for display in displays(page) for found in example.findall(display)]
    assert examples or page.name not in (
        "tokcap.1",
        "tokcap-show.1",
        "tokcap-sh.1",
        "tokcap-bash.1",
        "tokcap-json.5",
    )
    for command, output in examples:
        assert answer(command, tmp_path) == output


def test_the_marks_in_the_man_page_are_true(tmp_path):
    marks = [
        line
        for display in displays(PAGE)
        if display.startswith("[TRUNCATED]")
        for line in display.splitlines()
    ]
    shown = answer("seq 300 | tokcap -n 60; seq 300 | tokcap -n 60 --keep ends", tmp_path)
    assert marks == [line for line in shown.splitlines() if line.startswith("[TRUNCATED]")]


def displays(page):
    """The literal texts of a page, as a reader sees them."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text.replace("\\-", "-").replace("\\c\n", "").replace("\\e", "\\") for text in found]


def answer(command, home):
    """What a shell prints for a command with tokcap in it."""
    install_programs(home / "bin")
    script = f'PATH="$HOME/bin:$PATH"\n{command}'
    return run("sh", "-c", script, home=home)[0]
