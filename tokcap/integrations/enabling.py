"""`enable_token_budget`: every command of somebody's Typer or Click application gets the flags.

A command keeps its function. It gets five parameters that the function never sees, and two of its methods are
led through `calling`: the one that reads its words, and the one that runs it.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

from tokcap.errors import UsageError
from tokcap.integrations.calling import invoke, make_context
from tokcap.integrations.flags import SPELLINGS
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal, TypeVar

    from tokcap.integrations.framework import Framework

    App = TypeVar("App")
    OnConflict = Literal["error", "keep"]

EQUIPPED = "tokcap_equipped"


def enable_token_budget(
    app: App, tokenizer: str = "cl100k_base", *, on_conflict: OnConflict = "error"
) -> App:
    r"""Give every command and group of an application the flags for windows, counts and envelopes.

    >>> import typer
    >>> from typer.testing import CliRunner
    >>> from tokcap import enable_token_budget
    >>> app = enable_token_budget(typer.Typer())
    >>> @app.command()
    ... def numbers(last: int) -> None:
    ...     print(*range(1, last + 1), sep="\n")
    >>> CliRunner().invoke(app, ["1000", "--token-limit", "27"]).stdout
    '1\n2\n[TRUNCATED] tokens 0-4 of 2001; next: --token-offset 4\n'
    >>> CliRunner().invoke(app, ["1000", "--token-count"]).stdout
    '2001\n'

    `app` is a `typer.Typer`, or a command or group of Click's; it is returned. Commands that are registered
    later get the flags too. Without any of them the application does what it always did.

    One that has an option of such a name already makes the application refuse to start with a `UsageError`;
    with `on_conflict="keep"` it keeps its own, and gets the other flags.
    """
    if on_conflict not in ("error", "keep"):
        raise ValueError(f"on_conflict is 'error' or 'keep', not {on_conflict!r}")
    equip = Equipment(tokenizer, on_conflict)
    if is_instance(app, "typer", "Typer"):
        from tokcap.integrations.of_typer import equip_application

        equip_application(app, equip)  # type: ignore[arg-type]  # it is one
    elif framework_of(app, tokenizer):
        equip(app)
    else:
        raise TypeError(f"app is a typer.Typer or a command of Click's, not {type(app).__name__}")
    return app


class Equipment(Record):
    """What the commands of one application get."""

    tokenizer: str
    on_conflict: OnConflict

    def __call__(self, command: Any) -> None:
        """Equip a command and all that are below it."""
        found = [*unequipped(command, ())]
        if self.on_conflict == "error":
            refuse_conflicts(found)
        for _, each in found:
            self._equip(each)

    def _equip(self, command: Any) -> None:
        framework = framework_of(command, self.tokenizer)
        assert framework
        setattr(command, EQUIPPED, True)
        taken = spellings_of(command)
        command.params.extend(flag for flag in framework.flags if taken.isdisjoint(flag.opts))
        command.make_context = functools.partial(
            make_context, command.make_context, framework, self.tokenizer
        )
        command.invoke = functools.partial(invoke, command.invoke, framework, self.tokenizer)
        if hasattr(command, "get_command"):
            command.get_command = functools.partial(self._get_command, command.get_command)

    def _get_command(self, original: Any, *args: Any) -> Any:
        """Commands that a group only finds when it is asked."""
        command = original(*args)
        if command is not None:
            self(command)
        return command


def unequipped(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and all that are below it, each with the words that lead to it."""
    if not hasattr(command, EQUIPPED):
        yield path, command
        for name, inner in getattr(command, "commands", {}).items():
            yield from unequipped(inner, (*path, name))


def refuse_conflicts(found: list[tuple[tuple[str, ...], Any]]) -> None:
    """One error that names them all."""
    conflicts = [
        f"{spelling} of {' '.join(path) or command.name or 'the application itself'!r}"
        for path, command in found
        for spelling in SPELLINGS
        if spelling in spellings_of(command)
    ]
    if conflicts:
        raise UsageError(
            f"enable_token_budget would add options that are there already: {', '.join(conflicts)}; "
            'rename them, or let commands keep their own with on_conflict="keep"'
        )


def spellings_of(command: Any) -> set[str]:
    return {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}


def framework_of(command: object, tokenizer: str) -> Framework | None:
    """Whose command it is; None if it is none."""
    if is_instance(command, "typer.core", "TyperCommand") or is_instance(command, "typer.core", "TyperGroup"):
        from tokcap.integrations import of_typer

        return of_typer.framework(tokenizer)
    if is_instance(command, "click", "Command"):
        from tokcap.integrations import of_click

        return of_click.framework(tokenizer)
    return None


def is_instance(thing: object, module: str, name: str) -> bool:
    """Whether it is of a class whose module somebody has loaded. If nobody has, it is not."""
    cls = getattr(sys.modules.get(module), name, None)
    return cls is not None and isinstance(thing, cls)
