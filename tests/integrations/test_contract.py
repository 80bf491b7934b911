"""The contract of a command-line framework, checked for every member of the table."""

import json
import sys
import types

import pytest
import typer
import typer.testing

from tests.support.reference import recount
from tokcap import enable_token_budget
from tokcap.integrations import flags as our
from tokcap.integrations.flags import KEYS, SPELLINGS

LINES = [f"line {number}" for number in range(200)]


def typer_application():
    app = typer.Typer()
    app.command("lines")(lambda: print("\n".join(LINES)))

    @app.command()
    def ends(how: str) -> None:
        print("before")
        if how == "exit":
            raise typer.Exit(3)
        if how == "abort":
            raise typer.Abort
        raise typer.BadParameter("not this one")

    return app, lambda *args: typer.testing.CliRunner().invoke(app, args)


def click_application():
    click = pytest.importorskip("click", reason="the package click is not installed: pip install click")
    testing = pytest.importorskip("click.testing")
    app = click.Group()
    app.command("lines")(lambda: print("\n".join(LINES)))

    @app.command()
    @click.argument("how")
    def ends(how: str) -> None:
        print("before")
        if how == "exit":
            raise click.exceptions.Exit(3)
        if how == "abort":
            raise click.Abort
        raise click.BadParameter("not this one")

    return app, lambda *args: testing.CliRunner().invoke(app, args)


APPLICATIONS = {"typer.core": typer_application, "click": click_application}


@pytest.fixture(params=APPLICATIONS)
def invoke(request):
    app, invoke = APPLICATIONS[request.param]()
    enable_token_budget(app)
    return invoke


def test_every_framework_of_the_table_is_tested():
    assert {*our.FRAMEWORKS} == {*APPLICATIONS}


def test_without_a_flag_the_output_is_unchanged(invoke):
    assert invoke("lines").stdout == "\n".join(LINES) + "\n"


def test_the_output_is_cut_and_counted(invoke):
    whole = invoke("lines").stdout_bytes
    assert 0 < recount(invoke("lines", "--token-limit", "50").stdout_bytes) <= 50
    assert invoke("lines", "--token-count").stdout == f"{recount(whole)}\n"


def test_windows_join_to_the_output(invoke):
    offset, text = 0, ""
    while offset is not None:
        words = ("lines", "--token-limit", "300", "--token-offset", str(offset), "--output", "json")
        page = json.loads(invoke(*words).stdout)
        text += "".join(page["data"][:-1] if page["meta"].get("truncated") else page["data"])
        offset = page["meta"].get("next_offset")
    assert text == invoke("lines").stdout


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [("exit", 3, "COMMAND_FAILED"), ("abort", 1, "COMMAND_FAILED"), ("x", 2, "USAGE")],
)
def test_a_command_ends_as_without_flags_and_the_envelope_has_the_error(how, status, code, invoke):
    done = invoke("ends", how, "--output", "json")
    envelope = json.loads(done.stdout)
    assert (done.exit_code, envelope["error"]["code"], envelope["data"]) == (status, code, ["before\n"])
    assert invoke("ends", how).exit_code == invoke("ends", how, "--token-limit", "99").exit_code == status


@pytest.mark.parametrize("bad", [("--token-limit", "0"), ("--nonsense",), ("--tokenizer", "nonsense")])
def test_a_bad_call_is_refused_in_the_requested_form(bad, invoke):
    done = invoke("lines", *bad, "--output", "json")
    envelope = json.loads(done.stdout)
    assert (done.exit_code, envelope["error"]["code"], envelope["data"]) == (2, "USAGE", None)


def test_help_shows_every_flag(invoke):
    for path in ([], ["lines"]):
        shown = invoke(*path, "--help").stdout
        assert all(spelling in shown for spelling in SPELLINGS)


def test_another_framework_can_be_added_to_the_table(monkeypatch):
    class ToyCommand:
        """The few attributes of a command that the integration uses."""

        name = "toy"

        def __init__(self):
            self.params = []
            self.make_context = self.invoke = lambda *args, **settings: None

    toy, adapter = types.ModuleType("toy"), types.ModuleType("toy_adapter")
    toy.ToyCommand = ToyCommand
    flags = [types.SimpleNamespace(name=key, opts=[key], secondary_opts=[]) for key in KEYS]
    adapter.framework = lambda tokenizer: our.Framework(
        flags, Exception, ValueError, SystemExit, KeyError, 130
    )
    monkeypatch.setitem(sys.modules, "toy", toy)
    monkeypatch.setitem(sys.modules, "toy_adapter", adapter)
    monkeypatch.setitem(our.FRAMEWORKS, "toy", (("ToyCommand",), "toy_adapter"))
    command = enable_token_budget(ToyCommand())
    assert command.params == flags
