"""Completion scripts, made from the catalog for one shell.

A script contains all names that are known when it is made, so TAB starts no process for them. Names in the
store or the config file come from `tokcap completion --list` (see `tokcap.cli.listing`). After tokcap's own
options, the completion of the wrapped command takes over.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.cli.completions.vocabulary import Vocabulary

    Shell: TypeAlias = Literal["bash", "zsh", "fish"]

SHELLS: tuple[Shell, ...] = ("bash", "zsh", "fish")


def script_for(shell: Shell, vocabulary: Vocabulary | None = None) -> str:
    """Return the completion script of one shell; without a vocabulary, for all commands of tokcap."""
    from tokcap.cli.completions import bash, fish, zsh
    from tokcap.cli.completions.vocabulary import vocabulary_of_tokcap

    make = {"bash": bash.script, "zsh": zsh.script, "fish": fish.script}[shell]
    return make(vocabulary or vocabulary_of_tokcap())
