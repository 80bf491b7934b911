"""`enable_token_budget` adds the flags to every command of a Typer or Click application.

Each command gets five parameters that its function does not see. Two of its methods are replaced by those in
`invocation`: the one that parses arguments, and the one that runs the command. The frameworks offer no hook
for this, so attributes of their command objects are set.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tokcap.integrations.flags import framework_of, is_instance
from tokcap.integrations.invocation import invoke, make_context
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from typing import TypeVar

    App = TypeVar("App")

# The attribute that marks a command that has the flags.
EXTENDED = "tokcap_extended"


def enable_token_budget(app: App, tokenizer: str = "cl100k_base") -> App:
    r"""Add flags to every command and group of an application that limit and count its output in tokens.

    The flags are `--token-limit`, `--token-offset`, `--token-count`, `--tokenizer` and `--output`.

    >>> import typer
    >>> from typer.testing import CliRunner
    >>> from tokcap import enable_token_budget
    >>> app = enable_token_budget(typer.Typer())
    >>> @app.command()
    ... def numbers(last: int) -> None:
    ...     print(*range(1, last + 1), sep="\n")
    >>> CliRunner().invoke(app, ["1000", "--token-limit", "27"]).stdout
    '1\n2\n3\n[TRUNCATED] 6/2001 tokens; next: --token-offset 6\n'
    >>> CliRunner().invoke(app, ["1000", "--token-count"]).stdout
    '2001\n'

    `app` is a `typer.Typer`, or a Click command or group. It is changed in place and returned. Commands that
    are registered later get the flags too. Without a flag, the application behaves as before.

    A command that already has an option with one of these names keeps it, and gets the other flags.
    """
    extend = CommandExtender(tokenizer)
    if is_instance(app, "typer", "Typer"):
        from tokcap.integrations.typer_framework import extend_application

        extend_application(app, extend)  # type: ignore[arg-type]  # `is_instance` has checked it
    elif framework_of(app, tokenizer):
        extend(app)
    else:
        raise TypeError(f"app must be a typer.Typer or a Click command, not {type(app).__name__}")
    return app


class CommandExtender(Record):
    """Adds the flags to the commands of one application."""

    tokenizer: str

    def __call__(self, command: Any) -> None:
        """Add the flags to a command and to all commands below it."""
        if hasattr(command, EXTENDED):
            return
        for inner in getattr(command, "commands", {}).values():
            self(inner)
        framework = framework_of(command, self.tokenizer)
        assert framework
        setattr(command, EXTENDED, True)
        own_spellings = spellings_of(command)
        command.params.extend(flag for flag in framework.flags if own_spellings.isdisjoint(flag.opts))
        command.make_context = functools.partial(
            make_context, command.make_context, framework, self.tokenizer
        )
        command.invoke = functools.partial(invoke, command.invoke, framework, self.tokenizer)
        if hasattr(command, "get_command"):
            command.get_command = functools.partial(self._get_command, command.get_command)

    def _get_command(self, original: Any, *args: Any) -> Any:
        """Extend a command that its group creates only when it is looked up."""
        command = original(*args)
        if command is not None:
            self(command)
        return command


def spellings_of(command: Any) -> set[str]:
    return {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
