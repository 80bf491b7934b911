"""The subcommands that people type: each module of `cli.commands` has a Typer application named `app`.

Typer parses, and words help and mistakes. Values are read by the same kinds as those of the option table. The
context object of every command is the environment.
"""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tokcap.cli.kinds import Choice
from tokcap.cli.options import BY_KEY
from tokcap.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.description import Command
    from tokcap.cli.kinds import Kind
    from tokcap.environment import Environment


def application(summary: str = "") -> typer.Typer:
    """Return a Typer application with the settings that all have, and without Rich, which loads slowly."""
    return typer.Typer(
        help=summary or None,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def reading(kind: Kind, flags: str, text: str, metavar: str = "") -> Any:
    """Return an option whose value is read by a kind."""

    def read(given: Any) -> Any:
        try:
            if isinstance(given, tuple | list):
                return [kind.read(one) for one in given]
            # A default has been read already.
            return kind.read(given) if isinstance(given, str) else given
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    shown = metavar or ("|".join(kind.words) if isinstance(kind, Choice) else kind.metavar)
    return typer.Option(*flags.split(), help=text, callback=read, metavar=shown or None)


def like(key: str, text: str = "", metavar: str = "") -> Any:
    """Return an option that takes the values of a row of the option table."""
    row = BY_KEY[key]
    return reading(row.kind, " ".join(reversed(row.spellings)), text or row.help, metavar or row.value_name)


# What several applications take. A metavar also says what a shell completes the value with.
Output = Annotated[str | None, like("output", "format of the response")]
Ledger = Annotated[
    str | None, like("ledger", "the server that keeps sessions; default: TOKCAP_LEDGER, or config.toml")
]
Session = Annotated[str | None, like("session", "the session; default: TOKCAP_SESSION", "SESSION")]
Tokenizer = Annotated[str | None, like("tokenizer", "the tokenizer to count with", "TOKENIZER")]


def add_calls(app: typer.Typer, *calls: Command) -> None:
    """Let a group list the commands that the option table parses. Typer passes their words on unread."""
    for call in calls:
        settings = {"ignore_unknown_options": True, "allow_extra_args": True}
        command = app.command(
            call.path[-1], help=call.summary, add_help_option=False, context_settings=settings
        )
        command(passing_on(call))


def passing_on(call: Command) -> Callable[[typer.Context], int]:
    def answer(context: typer.Context) -> int:
        return call.answer(context.args, context.obj)

    return answer


def command_of(name: str) -> Any:
    """Return the Typer command, or group of commands, of one subcommand."""
    module = __import__(f"tokcap.cli.commands.{name}", fromlist=["app"])
    command = typer.main.get_command(module.app)
    for each in (command, *getattr(command, "commands", {}).values()):
        each.get_params = unconverted_parameters(each.get_params)
    return command


def unconverted_parameters(parameters_in: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    """Return what lists the parameters of a command, none of which Typer converts.

    Typer lets Pydantic convert each value, even text to text, and Pydantic takes five times as long to load
    as Python takes to start. Here a value is text, a switch, or read by a kind.
    """

    def parameters(context: Any) -> list[Any]:
        found = parameters_in(context)
        for parameter in found:
            if "process_value" not in vars(parameter):
                parameter.process_value = unconverted(parameter)
        return found

    return parameters


def unconverted(parameter: Any) -> Callable[[Any, Any], Any]:
    """Return what processes a value of one parameter."""
    convert: Callable[[Any, Any], Any] = parameter.process_value

    def process(context: Any, value: Any) -> Any:
        if value is None and parameter.required:
            # Typer words the mistake.
            return convert(context, value)
        if value is None and (parameter.nargs == -1 or getattr(parameter, "multiple", False)):
            value = ()
        return parameter.callback(context, parameter, value) if parameter.callback else value

    return process


def run_application(name: str, words: Sequence[str], env: Environment) -> int:
    """Let Typer parse the words of a call and run the command; return its exit status."""
    # What Typer prints itself is help.
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            status = command_of(name).main(
                args=[*words],
                prog_name=f"tokcap {name}",
                standalone_mode=False,
                obj=env,
                terminal_width=env.columns(env.stdout),
            )
        except typer.Exit as ended:
            status = ended.exit_code
        except typer.Abort:
            raise KeyboardInterrupt from None
        except Exception as error:
            format_message: Callable[[], str] | None = getattr(error, "format_message", None)
            if format_message is None:
                raise
            context = getattr(error, "ctx", None)
            where = context.command_path if context else f"tokcap {name}"
            message = " ".join(format_message().split()).rstrip(".")
            raise UsageError(f"{message}; see {where} --help") from None
    env.write_stdout(printed.getvalue().encode())
    return int(status or 0)
