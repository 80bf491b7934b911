"""Which applications get the flags, how help and completion show them, and how conflicts are handled."""

import dataclasses
import doctest
import enum
import json
import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import tokcap
from tests.support.program import ROOT
from tests.support.tiers import as_nightly
from tokcap import enable_token_budget
from tokcap.integrations import token_budget
from tokcap.integrations.flags import SPELLINGS


def test_the_example_in_its_docstring_runs():
    assert doctest.testmod(token_budget).failed == 0


def test_a_single_command_gets_the_flags_whenever_it_is_registered():
    def words() -> None:
        print("one two three")

    before, after = typer.Typer(), typer.Typer()
    before.command()(words)
    for app in (enable_token_budget(before), enable_token_budget(after)):
        app.registered_commands or app.command()(words)
        assert CliRunner().invoke(app, ["--token-count"]).stdout == "4\n"


def test_the_flags_can_be_added_to_a_part_of_an_application():
    part, whole = typer.Typer(), typer.Typer()
    part.command("x")(lambda: print("x"))
    part.command("y")(lambda: print("y"))
    whole.add_typer(enable_token_budget(part), name="part")
    whole.command("bare")(lambda: print("z"))
    assert CliRunner().invoke(whole, ["part", "x", "--token-count"]).stdout == "2\n"
    assert CliRunner().invoke(whole, ["bare", "--token-count"]).exit_code == 2


def test_adding_the_flags_twice_changes_nothing():
    app = typer.Typer()
    app.command()(lambda: print("one two three"))
    enable_token_budget(enable_token_budget(app))
    assert CliRunner().invoke(app, ["--token-count"]).stdout == "4\n"


def test_the_default_tokenizer_is_the_one_that_was_given():
    app = enable_token_budget(typer.Typer(), tokenizer="approx")
    app.command()(lambda: print("one two three"))
    assert CliRunner().invoke(app, ["--token-count"]).stdout == "4\n"
    assert "approx" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    bad = enable_token_budget(typer.Typer(), tokenizer="nonsense")
    bad.command()(lambda: print("not reached"))
    envelope = json.loads(CliRunner().invoke(bad, ["--output", "json"]).stdout)
    assert (envelope["data"], envelope["error"]["code"]) == (None, "USAGE")


def application_with_conflicts() -> typer.Typer:
    app, inner = typer.Typer(), typer.Typer()

    @app.command()
    def export(output: str = "there", tokenizer: str = "spaces") -> None:
        print(output, tokenizer)

    @inner.command()
    def save(target: str = typer.Option("here", "--output")) -> None:
        print(target)

    @inner.command()
    def load(output: str) -> None:
        """An argument with this name does not conflict with the option."""
        print(output)

    app.add_typer(inner, name="inner")
    return app


def test_a_command_keeps_an_option_of_its_own_and_gets_the_other_flags():
    app = enable_token_budget(application_with_conflicts())

    def invoke(*words: str) -> str:
        return CliRunner().invoke(app, words).stdout

    assert invoke("export", "--output", "json", "--tokenizer", "x") == "json x\n"
    assert invoke("inner", "save", "--output", "y", "--token-count") == "2\n"
    assert invoke("inner", "load", "z", "--token-count") == "2\n"
    # The flag still works on the group.
    assert json.loads(invoke("--output", "json", "inner", "save", "--output", "y"))["data"] == ["y\n"]


@pytest.mark.parametrize("app", [None, print, "app"])
def test_an_object_that_is_not_an_application_is_a_type_error(app):
    with pytest.raises(TypeError, match=r"typer\.Typer"):
        enable_token_budget(app)


@pytest.mark.parametrize("path", [[], ["store", "shelf", "box"], ["store", "json-lines"]], ids=" ".join)
def test_help_shows_the_flags(path, invoke):
    shown = invoke(*path, "--help").out.decode()
    assert "Token budget" in shown
    for spelling in SPELLINGS:
        assert spelling in shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("groups store shelf --to", {"--token-limit", "--token-offset", "--token-count", "--tokenizer"}),
        ("groups printing --output js", {"json", "jsonl"}),
        as_nightly(("groups printing --ou", {"--output"})),
        as_nightly(("groups --tokenizer ", {"cl100k_base", "o200k_base", "approx"})),
    ],
)
def test_completion_of_the_application_shows_the_flags(line, expected):
    words = line.split(" ")
    variables = {
        **os.environ,
        "_GROUPS_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "True",
    }
    code = "from tests.support.typer_groups import app; app(prog_name='groups')"
    done = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert set(done.stdout.split()) == expected, done.stderr


def test_returned_structures_are_json():
    class Colour(enum.Enum):
        RED = "red"

    @dataclasses.dataclass
    class Point:
        x: int
        colours: set[Colour]

    app = enable_token_budget(typer.Typer())

    @app.command()
    def points() -> list[object]:
        return [Point(1, {Colour.RED}), {"when": 10**30}, ("a", None)]

    answer = json.loads(CliRunner().invoke(app, ["--output", "json"]).stdout)
    assert answer["data"] == [{"x": 1, "colours": ["red"]}, {"when": 10**30}, ["a", None]]


def test_importing_tokcap_loads_no_framework():
    code = "import sys, tokcap; tokcap.enable_token_budget; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert {"typer", "click", "tokcap.pipeline"}.isdisjoint(done.stdout.split())
    assert "enable_token_budget" in tokcap.__all__
