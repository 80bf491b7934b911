"""Groups that choose their command in their own way. The flags change nothing about that choice."""

import json

import pytest
import typer

from tests.support.reference import recount
from tests.support.tiers import as_nightly
from tokcap import enable_token_budget

click = pytest.importorskip("click", reason="the package click is not installed: pip install click")
testing = pytest.importorskip("click.testing")


class DefaultGroup(click.Group):
    """Works as that of click-default-group: hands what it does not know to a default command."""

    def __init__(self, *args, default=None, default_if_no_args=False, **settings):
        self.ignore_unknown_options = True
        self.default_cmd_name = default
        self.default_if_no_args = default_if_no_args
        super().__init__(*args, **settings)

    def parse_args(self, ctx, args):
        if not args and self.default_if_no_args:
            args.insert(0, self.default_cmd_name)
        return super().parse_args(ctx, args)

    def get_command(self, ctx, cmd_name):
        if cmd_name not in self.commands:
            ctx.arg0 = cmd_name
            cmd_name = self.default_cmd_name
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx, args):
        name, command, args = super().resolve_command(ctx, args)
        if hasattr(ctx, "arg0"):
            args.insert(0, ctx.arg0)
            name = command.name
        return name, command, args


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


class StrictGroup(click.Group):
    """Looks at its words itself before it parses them."""

    def parse_args(self, ctx, args):
        assert not args or not args[0].startswith(("--token", "--output"))
        return super().parse_args(ctx, args)


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


def chain(cls):
    """A program that runs several commands. There can be no group among them."""
    made = group_of(cls, "program", chain=True)
    for name in ("list", "other", "models"):
        made.command(name)(lambda text=f"{name} " * 40: click.echo(text))
    return made


PROGRAMS = {
    "default group": lambda: program(DefaultGroup, default="list", default_if_no_args=True),
    "default group that needs words": lambda: program(DefaultGroup, default="list"),
    "group with aliases": lambda: program(AliasGroup),
    "lazy group": lambda: program(LazyGroup),
    "strict group": lambda: program(StrictGroup),
    "chain": lambda: chain(click.Group),
    "group that runs without a command": lambda: program(click.Group, invoke_without_command=True),
    "plain group": lambda: program(click.Group),
}
CALLS = [
    ["models", "list", "--size", "3"],
    ["models", "word"],
    ["--name", "--token-count", "list"],
    ["-fNx", "list"],
    ["li"],
    ["list", "other"],
    [],
]
MORE_CALLS = [
    ["models"],
    ["models", "list"],
    ["models", "other"],
    ["models", "--size", "3"],
    ["--name=--token-count", "list"],
    ["-N", "x", "list"],
    ["-vvf", "--no-flag", "list"],
    ["other"],
    ["nonsense"],
    ["--nonsense", "list"],
]


def called(app, words):
    done = testing.CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, done.stdout_bytes


def places(words):
    """Where flags can stand: at the start, and after each name of a group. Not inside other options."""
    return [0] + ([1] if words[:1] == ["models"] else [])


@pytest.mark.parametrize("call", [*CALLS, *map(as_nightly, MORE_CALLS)])
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
        if status == 0 and shown and not shown.startswith(b"Usage"):
            assert count == (0, f"{recount(shown)}\n".encode())
        else:
            assert count[0] == status


def test_the_flags_reach_the_default_command_too():
    app = enable_token_budget(program(DefaultGroup, default="list", default_if_no_args=True))
    whole = called(app, ["models"])[1]
    for words in (
        ["models", "--token-limit", "50"],
        ["--token-limit", "50", "models"],
        ["models", "word", "--token-limit", "50"],
    ):
        status, shown = called(app, words)
        assert (status, 0 < recount(shown) <= 50) == (0, True)
    page = json.loads(called(app, ["models", "--token-limit", "1k", "--output", "json"])[1])
    assert page["data"] == [whole.decode()]


def test_an_option_of_the_default_command_stays_its_own():
    @click.group(cls=DefaultGroup, default="save", default_if_no_args=True)
    def app():
        pass

    @app.command()
    @click.option("--output", default="nowhere")
    def save(output):
        click.echo(output)

    enable_token_budget(app, on_conflict="keep")
    assert called(app, ["--output", "there"]) == (0, b"there\n")
    assert called(app, ["--token-count", "--output", "there"]) == (0, b"2\n")


@pytest.mark.parametrize(
    "words", [["--token-limit"], ["--token-limit", "x"], ["--token-count=1"], ["--output", "x"]]
)
def test_a_bad_flag_of_a_group_is_refused(words):
    for kind in ("plain group", "default group"):
        app = enable_token_budget(PROGRAMS[kind]())
        assert called(app, ["models", *words])[0] == 2


def test_help_lists_the_forms_of_output():
    app = enable_token_budget(program(click.Group))
    for path in ([], ["models"], ["models", "list"]):
        assert b"--output [text|json|jsonl]" in called(app, [*path, "--help"])[1]


def test_a_typer_group_may_choose_its_command_too(invoke):
    class Group(typer.core.TyperGroup):
        def parse_args(self, ctx, args):
            if not args:
                args.insert(0, "lines")
            return super().parse_args(ctx, args)

    app = enable_token_budget(typer.Typer(cls=Group))
    app.command("lines")(lambda: print("\n".join(map(str, range(100)))))
    app.command("other")(lambda: print("other"))
    assert invoke("--token-count", app=app).out == b"200\n"
    assert invoke("--token-count", "other", app=app).out == b"2\n"
    assert 0 < recount(invoke("--token-limit", "40", app=app).out) <= 40
    assert b"text|json|jsonl" in invoke("lines", "--help", app=app).out
