"""Completion scripts: made from the catalog for one shell.

A script contains all that is known when it is made, so that TAB starts no process. Names that only the store
or the config file knows come from `tokcap completion --list` (see `tokcap.cli.listing`). After tokcap's own
options, the completion of the wrapped command takes over.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias

    from tokcap.cli.catalog import Command, Group

    Shell: TypeAlias = Literal["bash", "zsh", "fish"]

SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def script_for(shell: Shell, commands: Sequence[Command], groups: Sequence[Group]) -> str:
    """The completion script of one shell."""
    from tokcap.cli.completions import bash, fish, zsh
    from tokcap.cli.completions.vocabulary import Vocabulary

    make = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[shell]
    return make(Vocabulary(tuple(commands), tuple(groups)))
