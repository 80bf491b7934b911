"""The shell that runs a string: which one it is, and which words of a call are meant for it.

Nothing of what a shell does is done here: its words are handed to it as they stand.
"""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SHELL = "/bin/sh"
OWN_NAMES = ("tokcap", "tokcap-sh")

# What callers put before `-c`, alone or bundled: `bash -lc`, `sh -ec`, `bash -euo pipefail -c`.
FLAG_LETTERS = frozenset("abefhiklmprstuvxBCEHPT")
# They take the next word, as `-o pipefail` does.
NAMING_LETTERS = frozenset("oO")
# Of a whole word: the same.
NAMING_WORDS = ("--rcfile", "--init-file")


class ShellWords(Record):
    """Words at the beginning of a command line that belong to the shell."""

    # As they stand, the one with `c` in it last, if there is one.
    flags: tuple[str, ...]
    has_string: bool


def take_flags(words: Sequence[str]) -> ShellWords | None:
    """The flags of a shell that a command line of tokcap begins with; None: it does not.

    A word counts if all of its letters are a shell's. Where both know a letter it is tokcap's, so this
    is asked only for words that tokcap does not know.
    """
    word = words[0] if words else ""
    letters = word[1:]
    if word[:1] != "-" or not letters or not FLAG_LETTERS.union(NAMING_LETTERS, "c").issuperset(letters):
        return None
    named = sum(letter in NAMING_LETTERS for letter in letters)
    return ShellWords(tuple(words[: 1 + named]), "c" in letters)


def string_problem(words: Sequence[str], own_flags: Sequence[str]) -> str:
    """What is wrong with the words behind `-c`, in a call of tokcap itself; empty: nothing.

    Like `sh`, a shell would take further flags there. Those of tokcap would change their meaning
    without a word: `-n` makes a shell run nothing at all.
    """
    if [*words] in ([], ["--"]):
        return "-c needs a string to run"
    first = words[0].partition("=")[0]
    if first in own_flags or (not first.startswith("--") and first[:2] in own_flags):
        return f"{first} stands behind -c; options of tokcap stand before it"
    return ""


def shell_argv(
    string_and_args: Sequence[str], flags: Sequence[str], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """The command that runs a string: `flags` hold the `-c`, the string's own words come behind it."""
    return (shell_of(variables), *flags, *string_and_args)


def shell_of(variables: Mapping[str, str]) -> str:
    """The shell that `TOKCAP_SHELL` names. `SHELL` may be tokcap itself, and is not asked."""
    named = variables.get("TOKCAP_SHELL") or DEFAULT_SHELL
    if named.rpartition("/")[2] in OWN_NAMES:
        raise UsageError(
            f"TOKCAP_SHELL: {named} would call itself for ever; name the shell that it stands for"
        )
    return named


def is_interactive(words: Sequence[str], *, at_terminal: bool) -> bool:
    """Whether a shell that is called with these words would talk to a person."""
    asked = False
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word in ("--", "-"):
            break
        if word[:1] not in ("-", "+") or len(word) == 1:
            # A script.
            return False
        if word.startswith("--"):
            position += word in NAMING_WORDS
            continue
        if "c" in word and word[0] == "-":
            return False
        asked = asked or (word[0] == "-" and "i" in word)
        position += sum(letter in NAMING_LETTERS for letter in word)
    script = position < len(words)
    return not script and (asked or at_terminal)


# No shell sees anything else in these. Not `=`, which zsh takes for the path of a program.
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+.,:/@%")


def quoted(word: str) -> str:
    """A word as every shell reads it back."""
    return word if word and PLAIN.issuperset(word) else always_quoted(word)


def always_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
