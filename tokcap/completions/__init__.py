"""Completion scripts: the name of a shell and the catalogue in, the script of that shell out.

What is known when a script is made stands in it, so that a TAB starts nothing. What only the store or the
config file knows is asked of `tokcap completion --list`, see `tokcap.listing`. Behind tokcap's own options
the line is left to the completion of the wrapped command.
"""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from tokcap.catalog import Command, Group

    Shell: TypeAlias = Literal["bash", "zsh", "fish"]

SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def script_for(shell: Shell, commands: Sequence[Command], groups: Sequence[Group]) -> str:
    """The completion script of one shell."""
    from tokcap.completions import bash, fish, zsh
    from tokcap.completions.vocabulary import Vocabulary

    make = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[shell]
    return make(Vocabulary(tuple(commands), tuple(groups)))
