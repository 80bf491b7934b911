"""The added flags as Typer options, Typer's errors, and the way to reach commands that Typer builds later.

Typer has no hooks for this. So this module sets attributes of Typer's own objects: of the parameters that it
builds, and of the application that the caller passes in.
"""

from __future__ import annotations

import functools
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import DefaultPlaceholder

from tokcap.cli.kinds import Choice
from tokcap.cli.options import BY_KEY
from tokcap.integrations.flags import (
    OUTPUT_FORMS,
    PARAMETER_PREFIX,
    SUGGESTED_TOKENIZERS,
    Framework,
    number_reader,
    store_flag,
)

if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED_STATUS = 130
HELP_PANEL = "Token budget"


Output = Enum("Output", {word: word for word in OUTPUT_FORMS}, type=str)  # type: ignore[misc]


def option(key: str, **settings: Any) -> Any:
    row = BY_KEY[key]
    return typer.Option(
        row.flag,
        help=row.help,
        rich_help_panel=HELP_PANEL,
        allow_from_autoenv=False,
        # Typer itself lists the words of a choice.
        metavar=None if isinstance(row.kind, Choice) else row.metavar or None,
        **settings,
    )


def number_option(key: str) -> Any:
    return option(key, parser=number_reader(key, typer.BadParameter))


def flags(
    tokcap_token_limit: Annotated[int | None, number_option("token_limit")] = None,
    tokcap_token_offset: Annotated[int | None, number_option("token_offset")] = None,
    tokcap_token_count: Annotated[bool, option("token_count")] = False,
    tokcap_tokenizer: Annotated[
        str | None, option("tokenizer", autocompletion=lambda: list(SUGGESTED_TOKENIZERS))
    ] = None,
    tokcap_output: Annotated[Output | None, option("output")] = None,
) -> None:
    """Declare the flags. Typer reads this signature; the function is never called."""


@functools.cache
def framework(tokenizer: str) -> Framework:
    """Return what the integration needs of Typer. `tokenizer` is the default that help shows."""
    # In every version, the only way to get a parameter is to build a command that has it.
    scratch = typer.Typer(add_completion=False)
    scratch.command()(flags)
    parameters = get_command(scratch).params
    for parameter in parameters:
        assert parameter.name
        assert parameter.name.startswith(PARAMETER_PREFIX)
        parameter.callback = store_flag
        parameter.expose_value = False
        # Parsed first, so that errors in other options are reported in the requested form.
        parameter.is_eager = True
        if parameter.name == f"{PARAMETER_PREFIX}tokenizer":
            setattr(parameter, "show_default", tokenizer)  # noqa: B010  # mypy: only options have it
    # Newer versions contain a copy of Click and do not export these two classes.
    usage_error: Any = typer.BadParameter.__base__
    return Framework(
        parameters, usage_error.__base__, usage_error, typer.Exit, typer.Abort, INTERRUPTED_STATUS
    )


def extend_application(app: typer.Typer, extend: Callable[[Any], None]) -> None:
    """Call `extend` with every command that the application builds, including those registered later."""

    def replace_classes() -> None:
        app.info.cls = extended_class(given_value(app.info.cls) or TyperGroup, extend)
        callback = app.registered_callback
        if callback and given_value(callback.cls):
            callback.cls = extended_class(given_value(callback.cls), extend)
        is_group = callback or app.info.callback or app.registered_groups or len(app.registered_commands) > 1
        if not is_group:
            # Typer builds no group for a single command, so the command itself has to be extended.
            for command in app.registered_commands:
                command.cls = extended_class(command.cls or TyperCommand, extend)

    def then_replace_classes(register: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(register)
        def wrapped_register(*args: Any, **settings: Any) -> Callable[[Any], Any]:
            decorate = register(*args, **settings)

            def wrapped_decorate(function: Any) -> Any:
                result = decorate(function)
                replace_classes()
                return result

            return wrapped_decorate

        return wrapped_register

    for name in ("command", "callback"):
        setattr(app, name, then_replace_classes(getattr(app, name)))
    replace_classes()


def given_value(value: Any) -> Any:
    """Return a setting of Typer without the wrapper that marks defaults."""
    return value.value if isinstance(value, DefaultPlaceholder) else value


def extended_class(cls: Any, extend: Callable[[Any], None]) -> Any:
    """Return a subclass of a command class that calls `extend` with each new command."""
    if getattr(cls, "tokcap_extend", None) is extend:
        return cls

    def __init__(self: Any, *args: Any, **settings: Any) -> None:  # noqa: N807
        cls.__init__(self, *args, **settings)
        extend(self)

    return type(cls.__name__, (cls,), {"__init__": __init__, "tokcap_extend": staticmethod(extend)})
