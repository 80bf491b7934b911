"""The application itself: its commands, and how its errors become one line and a status."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tokcap import exits
from tokcap.cli.catalog import Group
from tokcap.cli.commands import budget, completion, doctor, hook, manifest, mcp, spill, stats
from tokcap.cli.described import commands_of
from tokcap.cli.help import command_help, group_help
from tokcap.cli.reading import find, wants_help
from tokcap.errors import ReaderGone, StreamError, UsageError
from tokcap.system.screen import screen_of
from tokcap.system.shortage import shortage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

app = typer.Typer(name="tokcap", add_completion=False, rich_markup_mode=None, no_args_is_help=False)


@app.callback()
def tokcap() -> None:
    """Cap the output of any command by exact tokens."""


app.command("completion")(completion.completion)
app.command("doctor")(doctor.doctor)
app.command("manifest")(manifest.manifest)
app.command("mcp")(mcp.mcp)
app.command("stats")(stats.stats)
app.add_typer(spill.application, name="spill")
app.add_typer(budget.application, name="budget")
app.add_typer(hook.application, name="hook")


def run(name: str, arguments: Sequence[str], env: Environment) -> int:
    """Run one subcommand; bad usage is one line and status 2."""
    asked, rest = find((name, *arguments), app)
    if isinstance(asked, Group):
        return list_group(asked, env, wanted=bool(rest))
    if wants_help(asked, rest):
        env.write_stdout(command_help(asked, screen_of(env, env.stdout)).encode())
        return exits.OK
    called = " ".join(asked.path)
    command = typer.main.get_command(app)
    try:
        answer = command.main(args=[name, *arguments], prog_name="tokcap", standalone_mode=False, obj=env)
    except typer.Exit as ended:
        return ended.exit_code
    except UsageError as error:
        raise UsageError(f"{called}: {error}", of_a_subcommand=True) from None
    except (BrokenPipeError, SystemExit):
        # What a library writes by itself ends so where nobody reads it: Click makes a `SystemExit` of it.
        raise ReaderGone("the reader of standard output is gone") from None
    except OSError as error:
        if shortage_of(error):
            raise
        where = f"{error.filename}: " if error.filename else ""
        raise StreamError(f"{called}: {where}{error.strerror or error}") from None
    except Exception as error:
        shown = getattr(error, "format_message", None)
        if shown is None:
            raise
        message = " ".join(shown().split()).rstrip(".")
        raise UsageError(f"{called}: {message}; see {asked.name} --help", of_a_subcommand=True) from None
    return int(answer or 0)


def list_group(group: Group, env: Environment, *, wanted: bool) -> int:
    """The commands of a group: the answer to `--help`, and to a call that names none of them."""
    commands = [command for command in commands_of(app) if command.path[0] == group.name]
    if wanted:
        env.write_stdout(group_help(group, commands, screen_of(env, env.stdout)).encode())
        return exits.OK
    env.write_stderr(group_help(group, commands, screen_of(env, env.stderr)).encode())
    return exits.BAD_USAGE
