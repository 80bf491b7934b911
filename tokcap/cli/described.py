"""The application read as data: every subcommand as a `Command` of the catalogue."""

from __future__ import annotations

import inspect
import types
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from typer.models import ArgumentInfo, OptionInfo

from tokcap import exits
from tokcap.cli.catalog import HELP, Argument, Command, Example, Flag, Group, row_of, show, wrapper
from tokcap.cli.kinds import Choice, Fraction, LineOfText, Switch, WholeNumber
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import typer

    from tokcap.cli.catalog import Danger
    from tokcap.cli.kinds import Kind
    from tokcap.cli.options import Names, Option

    Function = TypeVar("Function", bound=Callable[..., int])

TYPES = {int: "integer", float: "number", str: "string", bool: "boolean"}
METAVARS = {int: "N", float: "FRACTION", str: "TEXT"}


class Lists(Record):
    """Stands in the annotation of a parameter: what is listed for it while somebody types."""

    names: Names


class About(Record):
    """What the signature of a command does not tell."""

    examples: tuple[Example, ...] = ()
    danger: Danger = "safe"
    no: str = ""


def about(
    *examples: tuple[str, str], danger: Danger = "safe", no: str = ""
) -> Callable[[Function], Function]:
    """Tell of a command, where it stands, what help, man pages and manifest say of it.

    `no`: what its exit status 1 means, if it has one.
    """

    def told(function: Function) -> Function:
        function.about = About(tuple(Example(*pair) for pair in examples), danger, no)  # type: ignore[attr-defined]  # Typer leaves it there
        return function

    return told


def all_commands(app: typer.Typer) -> tuple[Command, ...]:
    """The wrapper, `show`, and every subcommand of the application, in the order of their names."""
    return (wrapper(), show(), *sorted(commands_of(app), key=lambda command: command.path))


def groups(app: typer.Typer) -> tuple[Group, ...]:
    """The names that only lead to commands."""
    return tuple(
        Group(str(group.name), str(group.typer_instance.info.help))
        for group in app.registered_groups
        if group.typer_instance
    )


def commands_of(app: typer.Typer, *path: str) -> Iterator[Command]:
    for registered in app.registered_commands:
        if registered.callback and registered.name and not registered.hidden:
            yield command_of((*path, registered.name), registered.callback)
    for group in app.registered_groups:
        if group.typer_instance and group.name:
            yield from commands_of(group.typer_instance, *path, group.name)


def command_of(path: tuple[str, ...], callback: Callable[..., Any]) -> Command:
    summary, _, details = inspect.cleandoc(callback.__doc__ or "").partition("\n\n")
    # A command that tells nothing is called all the same.
    told: About = getattr(callback, "about", About())
    arguments: list[Argument] = []
    flags: list[Flag] = []
    hints = get_type_hints(callback, include_extras=True)
    for name, parameter in inspect.signature(callback).parameters.items():
        if get_origin(hints[name]) is not Annotated:
            continue  # the context
        kind, *notes = get_args(hints[name])
        listed: Names = next((note.names for note in notes if isinstance(note, Lists)), "")
        info = next(note for note in notes if isinstance(note, ArgumentInfo | OptionInfo))
        if isinstance(info, ArgumentInfo):
            arguments.append(argument_of(name, kind, info, parameter, listed))
        else:
            flags.append(flag_of(name, kind, info, parameter, listed))
    return Command(
        path=path,
        summary=" ".join(summary.split()),
        details=details,
        arguments=tuple(arguments),
        flags=(*flags, HELP),
        danger=told.danger,
        exit_codes=(exits.OK, *((exits.NO,) if told.no else ()), exits.BAD_USAGE, exits.OWN_FAILURE),
        no=told.no,
        examples=told.examples,
    )


def argument_of(
    name: str, kind: Any, info: ArgumentInfo, parameter: inspect.Parameter, listed: Names
) -> Argument:
    repeatable = get_origin(kind) is list
    return Argument(
        metavar=info.metavar or name.upper().removesuffix("S" if repeatable else ""),
        help=info.help or "",
        required=parameter.default is parameter.empty,
        repeatable=repeatable,
        choices=choices_of(kind),
        names=listed,
    )


def flag_of(name: str, kind: Any, info: OptionInfo, parameter: inspect.Parameter, listed: Names) -> Flag:
    # In an annotation Typer takes the first spelling for the default.
    declared = [word for word in (info.default, *(info.param_decls or ())) if isinstance(word, str)]
    spellings = tuple(sorted(declared or [f"--{name.replace('_', '-')}"], key=len))
    default = parameter.default if parameter.default not in (parameter.empty, "") else None
    plain = underlying(kind)
    choices = choices_of(kind)
    switch = plain is bool
    flag = Flag(
        spellings=spellings,
        help=info.help or "",
        type="choice" if choices else TYPES[plain],
        metavar="" if switch else info.metavar or "",
        choices=choices,
        default=default,
        shown_default="off" if switch and not default else "" if default is None else str(default),
        repeatable=get_origin(kind) is list,
        required=parameter.default is parameter.empty,
        names=listed,
    )
    if switch:
        return flag.but(kind=Switch())
    row = row_of(flag)
    judge = kind_of(plain, choices, info, row)
    # The same option as one of the table: what is not given to it is decided there.
    same = row if row and row.kind == judge else None
    named = same.metavar if same else ""
    return flag.but(
        kind=judge,
        shown_default=flag.shown_default or told_default(info) or (same.shown_default if same else ""),
        expected=judge.expected,
        metavar=flag.metavar or named or ("" if choices else METAVARS[plain]),
    )


def told_default(info: OptionInfo) -> str:
    """What holds where a value is not given, if the annotation says so in words."""
    return info.show_default if isinstance(info.show_default, str) else ""


def kind_of(plain: type, choices: tuple[str, ...], info: OptionInfo, row: Option | None) -> Kind:
    """What reads a value, so that the same mistake is told in the same words everywhere."""
    if choices:
        return Choice(choices)
    if plain is int:
        return WholeNumber(int(info.min or 0))
    if plain is float:
        return Fraction()
    return row.kind if row and row.kind.type == "string" else LineOfText()


def underlying(kind: Any) -> type:
    """The type itself of one that may also be None, or of a list of it."""
    if get_origin(kind) in (Union, types.UnionType, list):
        return underlying(next(part for part in get_args(kind) if part is not type(None)))
    return str if get_origin(kind) is Literal else kind


def choices_of(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) in (Union, types.UnionType):
        return next((found for part in get_args(kind) if (found := choices_of(part))), ())
    return get_args(kind) if get_origin(kind) is Literal else ()
