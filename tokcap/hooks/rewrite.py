"""A command line -> the same one under tokcap, or None where it has to stay as it is.

Whether an agent's rules permit that is not decided here.
"""

from __future__ import annotations

import os

from tokcap.hooks import commandline
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system.quoting import always_quoted, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence


# Linux hands over no single argument of 128 KiB or more, and the agent's own shell needs room around it.
LONGEST_BYTES = 120_000


class Launch(Record):
    """How tokcap is called in a rewritten command."""

    program: str = "tokcap"
    options: tuple[str, ...] = ()
    # The shell that the agent uses; empty: not known, so that only what every shell reads alike is rewritten.
    shell: str = ""
    # Where the agent's shell looks for programs.
    path: str = os.defpath
    # Whether the next command starts in the directory in which this one ends.
    keeps_directory: bool = False


def rewritten(command: str, launch: Launch) -> str | None:
    """The command under tokcap; None if it must not, or need not, be."""
    head, rest = "", command
    if launch.keeps_directory and commandline.moves_the_shell(command):
        parts = commandline.split_at_move(command)
        if parts is None:
            return None
        head, rest = parts[0] + " ", parts[1]
    if not can_be_wrapped(rest, launch):
        return None
    text = head + wrapped(rest, launch)
    return text if len(text.encode()) <= LONGEST_BYTES else None


def can_be_wrapped(command: str, launch: Launch) -> bool:
    """Whether it would do under tokcap what it does without."""
    if not command.strip() or "\0" in command or command.lstrip()[0] in "-+":
        return False
    if commandline.runs_tokcap(command) or commandline.only_changes_the_shell(command):
        return False
    # What stays behind is read by its id, or not at all; a cap would only hold it back.
    if commandline.runs_in_background(command):
        return False
    leads = commandline.leading_words(command)
    if leads is None:
        first = commandline.bare_words(command)[:1]
        known = bool(launch.shell) and bool(first)
        return known and (first[0] in commandline.KEYWORDS or commandline.can_be_found(first[0], launch.path))
    if "source" in leads and not launch.shell:
        return False
    return bool(leads) and all(commandline.can_be_found(word, launch.path) for word in leads)


def wrapped(command: str, launch: Launch) -> str:
    """`tokcap … -c '<command>'`, to be read by any shell of the Bourne family."""
    shell = [f"TOKCAP_SHELL={quoted(launch.shell)}"] if launch.shell else []
    words = [quoted(word) for word in (launch.program, *launch.options)]
    return " ".join([*shell, *words, "-c", always_quoted(command)])


def launch_options(words: Sequence[str]) -> tuple[str, ...] | None:
    """The options that an installed hook hands on, if they are such; None if they are not."""
    names = ("--token-limit", "--session")
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or len(given) * 2 != len(words) or any(name not in names for name in given):
        return None
    if not given.get("--token-limit", "1").isdigit():
        return None
    return tuple(words)
