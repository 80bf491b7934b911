"""Rewrite a command line so that it runs under tokcap, or return None if it must stay as it is.

Whether the agent's rules permit that is decided by the agent's module.
"""

from __future__ import annotations

from tokcap.hooks import commandline
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.quoting import always_quoted, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.base import Launch

# Linux accepts no single argument of 128 KiB or more, and the agent's own shell adds some text.
MAX_COMMAND_BYTES = 120_000
REPEAT = "--repeat"


def rewritten(command: str, launch: Launch) -> str | None:
    """Return the command under tokcap; None if it cannot or need not be rewritten."""
    head, rest = "", command
    if launch.keeps_directory and commandline.changes_directory(command):
        parts = commandline.split_after_cd(command)
        if parts is None:
            return None
        head, rest = parts[0] + " ", parts[1]
    if not can_be_wrapped(rest, launch):
        return None
    text = head + wrapped(rest, launch)
    return text if len(text.encode()) <= MAX_COMMAND_BYTES else None


def can_be_wrapped(command: str, launch: Launch) -> bool:
    """Return whether a command does the same under tokcap as without it."""
    if not command.strip() or "\0" in command or command.lstrip()[0] in "-+":
        return False
    if commandline.runs_tokcap(command) or commandline.only_changes_the_shell(command):
        return False
    # The agent reads the output of a background job while it runs, or never; a cap would delay it.
    if commandline.runs_in_background(command):
        return False
    programs = commandline.programs(command)
    if programs is None:
        first = commandline.bare_words(command)[:1]
        known = bool(launch.shell) and bool(first)
        return known and (first[0] in commandline.KEYWORDS or commandline.can_be_found(first[0], launch.path))
    if "source" in programs and not launch.shell:
        return False
    return bool(programs) and all(commandline.can_be_found(word, launch.path) for word in programs)


def wrapped(command: str, launch: Launch) -> str:
    """Return `tokcap ... -c '<command>'`, quoted for any Bourne-like shell."""
    shell = [f"TOKCAP_SHELL={quoted(launch.shell)}"] if launch.shell else []
    words = [quoted(word) for word in (launch.program, *launch.options)]
    return " ".join([*shell, *words, "-c", always_quoted(command)])


def launch_options(words: Sequence[str]) -> tuple[str, ...] | None:
    """Return the options of an installed hook; None if they are not valid."""
    names = ("--token-limit", "--session", REPEAT)
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or len(given) * 2 != len(words) or any(name not in names for name in given):
        return None
    if not given.get("--token-limit", "1").isdigit():
        return None
    return tuple(words)


def without_repeat(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a call that has no session, which `--repeat` needs."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return tuple(word for pair in pairs if pair[0] != REPEAT for word in pair)
