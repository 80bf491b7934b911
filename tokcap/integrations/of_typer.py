"""Typer, whichever Click it brings: its flags, its errors, and a hold on commands that it builds later."""

from __future__ import annotations

import functools
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import DefaultPlaceholder

from tokcap.cli.options import BY_KEY
from tokcap.integrations.flags import OUTPUTS, OWN_NAME, PANEL, TOKENIZERS, remember
from tokcap.integrations.framework import Framework

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130


Output = Enum("Output", {word: word for word in OUTPUTS}, type=str)  # type: ignore[misc]


def option(key: str, **settings: Any) -> Any:
    row = BY_KEY[key]
    return typer.Option(
        row.flag,
        help=row.help,
        rich_help_panel=PANEL,
        allow_from_autoenv=False,
        metavar=row.metavar or None,
        **settings,
    )


def flags(
    tokcap_token_limit: Annotated[int | None, option("token_limit", min=1)] = None,
    tokcap_token_offset: Annotated[int | None, option("token_offset", min=0)] = None,
    tokcap_token_count: Annotated[bool, option("token_count")] = False,
    tokcap_tokenizer: Annotated[
        str | None, option("tokenizer", autocompletion=lambda: list(TOKENIZERS))
    ] = None,
    tokcap_output: Annotated[Output | None, option("output")] = None,
) -> None:
    """Never called: Typer reads the flags from it."""


@functools.cache
def framework(tokenizer: str) -> Framework:
    """`tokenizer`: the one that help names as the default."""
    # The one way to a parameter that all versions have: a command that has it.
    scratch = typer.Typer(add_completion=False)
    scratch.command()(flags)
    parameters = get_command(scratch).params
    for parameter in parameters:
        assert parameter.name
        assert parameter.name.startswith(OWN_NAME)
        parameter.callback = remember
        parameter.expose_value = False
        # Read first, so that whatever else is wrong is told in the form that was asked for.
        parameter.is_eager = True
        if parameter.name == f"{OWN_NAME}tokenizer":
            setattr(parameter, "show_default", tokenizer)  # noqa: B010  # of options only
    # Newer versions have a Click of their own, and do not export these two.
    usage_error: Any = typer.BadParameter.__base__
    return Framework(parameters, usage_error.__base__, usage_error, typer.Exit, typer.Abort, INTERRUPTED)


def equip_application(app: typer.Typer, equip: Callable[[Any], None]) -> None:
    """Let every command that the application builds of itself be equipped, whenever it is registered."""

    def adopt() -> None:
        app.info.cls = equipped_class(plain(app.info.cls) or TyperGroup, equip)
        callback = app.registered_callback
        if callback and plain(callback.cls):
            callback.cls = equipped_class(plain(callback.cls), equip)
        is_group = callback or app.info.callback or app.registered_groups or len(app.registered_commands) > 1
        if not is_group:
            # One command alone is the program itself; in a group, the group sees to it.
            for command in app.registered_commands:
                command.cls = equipped_class(command.cls or TyperCommand, equip)

    def then_adopt(register: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(register)
        def registering(*args: Any, **settings: Any) -> Callable[[Any], Any]:
            decorate = register(*args, **settings)

            def decorated(function: Any) -> Any:
                result = decorate(function)
                adopt()
                return result

            return decorated

        return registering

    for name in ("command", "callback"):
        setattr(app, name, then_adopt(getattr(app, name)))
    adopt()


def plain(value: Any) -> Any:
    """A setting of Typer's without the wrapper that stands for "not given"."""
    return value.value if isinstance(value, DefaultPlaceholder) else value


def equipped_class(cls: Any, equip: Callable[[Any], None]) -> Any:
    """The same class of commands, each of them equipped when it is made."""
    if getattr(cls, "tokcap_equips", None) is equip:
        return cls

    def __init__(self: Any, *args: Any, **settings: Any) -> None:  # noqa: N807
        cls.__init__(self, *args, **settings)
        equip(self)

    return type(cls.__name__, (cls,), {"__init__": __init__, "tokcap_equips": staticmethod(equip)})
