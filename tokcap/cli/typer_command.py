"""Make Typer commands of descriptions: `typer_command` for one, `run_by_typer` to run it.

The description is the only statement of what a command takes; the signature that Typer reads is made from it.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import typer

from tokcap.cli.description import HELP
from tokcap.cli.kinds import Duration, Fraction, Switch, WholeNumber
from tokcap.errors import ReaderGone, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.cli.description import Argument, Command, Flag
    from tokcap.cli.kinds import Kind
    from tokcap.environment import Environment


def run_by_typer(command: Command, words: Sequence[str], env: Environment) -> int:
    """Let Typer parse the words of a call and run the command; return its exit status."""
    try:
        status = typer_command(command).main(
            args=[*words], prog_name=command.name, standalone_mode=False, obj=env
        )
    except typer.Exit as ended:
        return ended.exit_code
    except SystemExit:
        # Click does this if it cannot write.
        raise ReaderGone("the reader of standard output is gone") from None
    except Exception as error:
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        message = " ".join(format_message().split()).rstrip(".")
        raise UsageError(f"{message}; see {command.name} --help") from None
    return int(status or 0)


def typer_command(command: Command) -> Any:
    """Return the Typer command that a description describes."""
    handler = command.handler
    assert handler is not None

    def callback(context: typer.Context, **values: Any) -> int:
        return handler(context.obj, **values)

    parameters = [
        parameter("context", typer.Context),
        *(parameter(one.parameter, annotation_of_argument(one), one.required) for one in command.arguments),
        *(
            parameter(flag.parameter, annotation_of_flag(flag), flag.required, flag.default)
            for flag in command.flags
            if flag != HELP
        ),
    ]
    callback.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # Typer reads it
    callback.__annotations__ = {one.name: one.annotation for one in parameters}
    application = typer.Typer(add_completion=False, rich_markup_mode=None)
    application.command(command.path[-1], help=command.summary)(callback)
    return typer.main.get_command(application)


def parameter(name: str, annotation: Any, required: bool = True, default: object = None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    if required:
        return inspect.Parameter(name, kind, annotation=annotation)
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def annotation_of_argument(argument: Argument) -> Any:
    info = typer.Argument(metavar=argument.metavar, help=argument.help)
    if argument.repeatable:
        return Annotated[list[str], info]
    kind: Any = Literal[argument.choices] if argument.choices else str
    return Annotated[kind if argument.required else Optional[kind], info]  # noqa: UP045  # the type is computed


def annotation_of_flag(flag: Flag) -> Any:
    info = typer.Option(
        *flag.spellings,
        help=flag.help,
        parser=number_parser(flag.kind) if isinstance(flag.kind, WholeNumber | Duration) else None,
    )
    kind: Any = Literal[flag.choices] if flag.choices else plain_type(flag)
    if flag.repeatable:
        kind = list[kind]
    return Annotated[kind if flag.required or flag.default is not None else Optional[kind], info]  # noqa: UP045


def number_parser(kind: Kind) -> Callable[[Any], Any]:
    """Return a parser that reads a number as the rest of tokcap does. Typer also passes defaults to it."""
    return lambda value: kind.read(value) if isinstance(value, str) else value


def plain_type(flag: Flag) -> type:
    if isinstance(flag.kind, Switch):
        return bool
    if isinstance(flag.kind, WholeNumber):
        return int
    return float if isinstance(flag.kind, Fraction | Duration) else str
