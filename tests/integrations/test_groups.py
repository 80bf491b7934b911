"""Groups that choose their command in their own way. The flags change nothing about that choice."""

import pytest

from tests.support.reference import recount
from tokcap import enable_token_budget

click = pytest.importorskip("click", reason="the package click is not installed: pip install click")
testing = pytest.importorskip("click.testing")


class AliasGroup(click.Group):
    """Finds a command by the start of its name."""

    def resolve_command(self, ctx, args):
        names = [name for name in self.commands if name.startswith(args[0])]
        return super().resolve_command(ctx, [names[0] if len(names) == 1 else args[0], *args[1:]])


class LazyGroup(click.Group):
    """Makes its commands when they are looked up, and knows none before."""

    def list_commands(self, ctx):
        return ["list", "other"]

    def get_command(self, ctx, cmd_name):
        return made_commands().get(cmd_name)


def made_commands():
    @click.command("list")
    @click.option("--size", default=100)
    @click.argument("words", nargs=-1)
    def list_all(size, words):
        for number in range(size):
            click.echo(f"line {number} {' '.join(words)}")

    @click.command()
    def other():
        click.echo("other " * 50)

    return {"list": list_all, "other": other}


def group_of(cls, name, **settings):
    """A group with options of its own."""
    params = [
        click.Option(["--name", "-N"]),
        click.Option(["--flag/--no-flag", "-f/-F"]),
        click.Option(["--verbose", "-v"], count=True),
    ]
    return cls(name, callback=lambda name=None, flag=None, verbose=0: None, params=params, **settings)


def program(cls, **settings):
    """A program with a group of the class at its top, and another one in it."""
    top = group_of(cls, "program", **settings)
    inner = group_of(cls, "models", **settings)
    if cls is not LazyGroup:
        for command in made_commands().values():
            top.add_command(command)
            inner.add_command(command)
        top.add_command(inner)
    return top


PROGRAMS = {
    "group with aliases": lambda: program(AliasGroup),
    "lazy group": lambda: program(LazyGroup),
    "group that runs without a command": lambda: program(click.Group, invoke_without_command=True),
    "plain group": lambda: program(click.Group),
}
CALLS = [["models", "list", "--size", "3"], ["--name", "--token-count", "list"], ["-fNx", "list"], ["li"]]


def called(app, words):
    done = testing.CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.stdout_bytes


def places(words):
    """Where flags can stand: at the start, and after each name of a group. Not inside other options."""
    return [0] + ([1] if words[:1] == ["models"] else [])


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_flags_of_a_group_do_not_change_which_command_runs(kind, call):
    plain = PROGRAMS[kind]()
    budgeted = enable_token_budget(PROGRAMS[kind]())
    status, shown = called(plain, call)
    for place in places(call):
        for flags in (
            ["--output", "text"],
            ["--token-limit=5,000"],
            ["--tokenizer", "approx", "--output=text"],
        ):
            assert called(budgeted, [*call[:place], *flags, *call[place:]]) == (status, shown)
        count = called(budgeted, [*call[:place], "--token-count", *call[place:]])
        if status == 0 and shown:
            assert count == (0, f"{recount(shown)}\n".encode())
        else:
            assert count[0] == status
