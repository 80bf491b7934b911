"""Run a subcommand. Only the module of the subcommand is loaded."""

from __future__ import annotations

from tokcap import exits
from tokcap.errors import ReaderGone, StreamError, TokcapError, UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shortage import shortage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.description import Command
    from tokcap.cli.subcommand_words import Values
    from tokcap.environment import Environment


def run_subcommand(name: str, arguments: Sequence[str], env: Environment) -> int:
    """Run one subcommand and return its exit status; bad usage is one line and status 2."""
    if name == "hook" and arguments[:1] == ("run",):
        # An agent waits for it before each of its commands.
        from tokcap.cli.hook_options import capping_of
        from tokcap.hooks.handler import run as answer_agent

        return answer_agent(
            arguments[1:], env, lambda options, variables: capping_of(options, env.but(variables=variables))
        )
    if name == "completion" and arguments[:1] == ("--list",):
        # Somebody has pressed TAB.
        from tokcap.cli.listing import run as list_names

        return list_names(arguments[1:], env)
    from tokcap.cli.subcommand_words import find, read_words

    command, rest = find(name, arguments)
    if command is None:
        return show_group(name, env, asked=bool(rest))
    values = read_words(command, rest)
    if values is None:
        from tokcap.cli.help import command_help
        from tokcap.system.screen import screen_of

        env.write_stdout(command_help(command, screen_of(env, env.stdout)).encode())
        return exits.OK
    return run_handler(command, rest, values, env)


def run_handler(command: Command, words: Sequence[str], values: Values, env: Environment) -> int:
    """Do what a command does, and make one line of every error."""
    assert command.handler is not None
    called = " ".join(command.path)
    try:
        if command.quick:
            return command.handler(env, **values)
        return load_typer()(command, words, env)
    except UsageError as error:
        raise UsageError(f"{called}: {error}", of_a_subcommand=True) from None
    except BrokenPipeError:
        raise ReaderGone("the reader of standard output is gone") from None
    except OSError as error:
        if shortage_of(error):
            raise
        where = f"{error.filename}: " if error.filename else ""
        raise StreamError(f"{called}: {where}{error.strerror or error}") from None
    except ImportError as error:
        if shortage_of(error) or (error.name or "").startswith("tokcap"):
            raise
        from tokcap.system.installation import installation

        raise TokcapError(
            f"{error.name or error} cannot be loaded; the installation is incomplete,"
            f" run: {installation().reinstall(dependencies=True)}"
        ) from None


def load_typer() -> Callable[[Command, Sequence[str], Environment], int]:
    """Import Typer and the libraries that commands use with it."""
    import signal

    # An interrupt while compiled modules are loaded can crash them: orjson dies of it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        import orjson  # noqa: F401  # commands import it later, when an interrupt is allowed

        from tokcap.cli.typer_command import run_by_typer
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return run_by_typer


def show_group(name: str, env: Environment, *, asked: bool) -> int:
    """Show the commands of a group: for `--help`, and for a call that names none of them."""
    from tokcap.cli.catalog import commands_of, group_of
    from tokcap.cli.help import group_help
    from tokcap.system.screen import screen_of

    group = group_of(name)
    assert group is not None
    screen = screen_of(env, env.stdout if asked else env.stderr)
    text = group_help(group, commands_of(name), screen).encode()
    if asked:
        env.write_stdout(text)
        return exits.OK
    env.write_stderr(text)
    return exits.BAD_USAGE
