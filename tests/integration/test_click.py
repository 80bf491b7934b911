"""Applications of plain Click, where it is installed."""

import json

import pytest

from tests.conftest import recount
from tokcap import UsageError, enable_token_budget

click = pytest.importorskip("click")
testing = pytest.importorskip("click.testing")


class Lazy(click.Group):
    """Finds a command only when it is asked for it."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), "late"]

    def get_command(self, ctx, cmd_name):
        found = super().get_command(ctx, cmd_name)
        return found or (
            click.Command("late", callback=lambda: click.echo("late")) if cmd_name == "late" else None
        )


@pytest.fixture
def app():
    @click.group()
    def program() -> None:
        """A program."""

    @program.group(cls=Lazy)
    def inner() -> None:
        """A group."""

    @inner.command()
    @click.option("--size", default=300)
    def lines(size: int) -> None:
        for number in range(size):
            click.echo(f"line {number}")

    @inner.command()
    def failing() -> None:
        click.echo("before")
        raise click.ClickException("it cannot be done")

    @inner.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    return enable_token_budget(program)


def invoke(app, *words):
    done = testing.CliRunner().invoke(app, words)
    return done.exit_code, done.stdout_bytes


def test_windows_counts_and_envelopes(app):
    status, shown = invoke(app, "inner", "lines", "--token-limit", "50")
    assert (status, 0 < recount(shown) <= 50) == (0, True)
    assert invoke(app, "--token-count", "inner", "lines") == (0, b"1200\n")
    envelope = json.loads(invoke(app, "inner", "lines", "--token-limit", "50", "--output", "json")[1])
    assert (envelope["ok"], envelope["meta"]["truncated"]) == (True, True)


def test_errors_are_those_of_the_envelope(app):
    status, shown = invoke(app, "inner", "failing", "--output", "json")
    envelope = json.loads(shown)
    assert (status, envelope["data"]) == (1, ["before\n"])
    assert envelope["error"] == {"code": "COMMAND_FAILED", "message": "it cannot be done"}
    assert invoke(app, "inner", "interrupted", "--output", "json")[0] == 1
    status, shown = invoke(app, "inner", "lines", "--output", "json", "--size", "x")
    assert (status, json.loads(shown)["error"]["code"]) == (2, "USAGE")


def test_commands_that_are_found_late_have_them_too(app):
    assert invoke(app, "inner", "late", "--token-count") == (0, b"2\n")


def test_help_shows_the_flags(app):
    assert b"--token-limit N" in invoke(app, "inner", "lines", "--help")[1]


def test_an_option_that_is_there_already_is_refused_when_they_are_enabled():
    @click.command()
    @click.option("--output")
    def save(output) -> None:
        click.echo(output)

    with pytest.raises(UsageError, match="--output of 'save'"):
        enable_token_budget(save)
    assert [parameter.name for parameter in save.params] == ["output"]
    enable_token_budget(save, on_conflict="keep")
    assert invoke(save, "--output", "x", "--token-count") == (0, b"2\n")
