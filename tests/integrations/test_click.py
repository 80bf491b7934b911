"""Click applications. Skipped if Click is not installed."""

import json

import pytest

from tests.support.reference import recount
from tokcap import UsageError, enable_token_budget

click = pytest.importorskip("click", reason="the package click is not installed: pip install click")
testing = pytest.importorskip("click.testing")


class Lazy(click.Group):
    """Creates a command only when it is looked up."""

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


def test_a_click_application_has_windows_counts_and_envelopes(app):
    status, shown = invoke(app, "inner", "lines", "--token-limit", "50")
    assert (status, 0 < recount(shown) <= 50) == (0, True)
    assert invoke(app, "--token-count", "inner", "lines") == (0, b"1200\n")
    envelope = json.loads(invoke(app, "inner", "lines", "--token-limit", "50", "--output", "json")[1])
    assert (envelope["ok"], envelope["meta"]["truncated"]) == (True, True)


def test_the_envelope_has_the_error_that_ended_the_command(app):
    status, shown = invoke(app, "inner", "failing", "--output", "json")
    envelope = json.loads(shown)
    assert (status, envelope["data"]) == (1, ["before\n"])
    assert envelope["error"] == {"code": "COMMAND_FAILED", "message": "it cannot be done"}
    assert invoke(app, "inner", "interrupted", "--output", "json")[0] == 1
    status, shown = invoke(app, "inner", "lines", "--output", "json", "--size", "x")
    assert (status, json.loads(shown)["error"]["code"]) == (2, "USAGE")


def test_commands_that_are_created_when_looked_up_have_the_flags(app):
    assert invoke(app, "inner", "late", "--token-count") == (0, b"2\n")


def test_help_shows_the_flags(app):
    assert b"--token-limit N" in invoke(app, "inner", "lines", "--help")[1]


def test_an_option_that_already_exists_is_refused_at_once():
    @click.command()
    @click.option("--output")
    def save(output) -> None:
        click.echo(output)

    with pytest.raises(UsageError, match="--output of 'save'"):
        enable_token_budget(save)
    assert [parameter.name for parameter in save.params] == ["output"]
    enable_token_budget(save, on_conflict="keep")
    assert invoke(save, "--output", "x", "--token-count") == (0, b"2\n")
