"""`tokcap completion SHELL`: print the completion script for a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tokcap.cli.completions import script_for
from tokcap.cli.described import about, all_commands, groups

if TYPE_CHECKING:
    from tokcap.cli.completions import Shell
    from tokcap.environment import Environment


@about(("tokcap completion fish > ~/.config/fish/completions/tokcap.fish", "for good, in fish"))
def completion(
    context: typer.Context,
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="the shell to complete in")],
) -> int:
    """Print a completion script; put it where the shell looks for such, or source it."""
    env: Environment = context.obj
    env.write_stdout(script(shell))
    return 0


def script(shell: Shell) -> bytes:
    """The script of this version."""
    # It holds this very command.
    from tokcap.cli.application import app

    return script_for(shell, all_commands(app), groups(app)).encode()
