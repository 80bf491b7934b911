"""Which words of a command line are flags of a shell: those before `-c`, and those of `tokcap-sh`.

Loaded only for words that are not options of tokcap.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

# What callers write before `-c`, alone or bundled: `bash -lc`, `sh -ec`, `bash -euo pipefail -c`.
FLAG_LETTERS = frozenset("abefhiklmprstuvxBCEHPT")
# Flags that take the next word, as `-o pipefail` does.
VALUE_LETTERS = frozenset("oO")
VALUE_WORDS = ("--rcfile", "--init-file")


class ShellFlags(Record):
    """The flags of a shell at the beginning of a command line."""

    # As they were written. If one of them contains `c`, it is the last flag.
    flags: tuple[str, ...]
    has_string: bool


def take_flags(words: Sequence[str]) -> ShellFlags | None:
    """Return the shell flag that the words begin with, and its values; None if it is not a shell flag.

    A word is a shell flag if all of its letters are. The caller first checks whether the word is an option of
    tokcap, which takes precedence.
    """
    word = words[0] if words else ""
    letters = word[1:]
    if word[:1] != "-" or not letters or not FLAG_LETTERS.union(VALUE_LETTERS, "c").issuperset(letters):
        return None
    values = sum(letter in VALUE_LETTERS for letter in letters)
    return ShellFlags(tuple(words[: 1 + values]), "c" in letters)


def string_problem(words: Sequence[str], own_flags: Sequence[str]) -> str:
    """Return what is wrong with the words after `-c`; empty if nothing is.

    A shell accepts more flags there. An option of tokcap would silently mean something else: `-n` makes a
    shell run nothing, and after the string it would be the name of the shell.
    """
    if [*words] in ([], ["--"]):
        return "-c needs a string to run"
    first = words[0].partition("=")[0]
    if first in own_flags or (not first.startswith("--") and first[:2] in own_flags):
        return f"{first} comes after -c; write options of tokcap before it"
    name = words[1].partition("=")[0] if len(words) > 1 else ""
    if name in own_flags or (name[:2] in own_flags and name[2:].isdigit()):
        return f"{name} comes after the string of -c; write options of tokcap before -c"
    return ""


def is_interactive(words: Sequence[str], *, at_terminal: bool) -> bool:
    """Return whether a shell that is called with these words would talk to a person."""
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
            position += word in VALUE_WORDS
            continue
        if "c" in word and word[0] == "-":
            return False
        asked = asked or (word[0] == "-" and "i" in word)
        position += sum(letter in VALUE_LETTERS for letter in word)
    script = position < len(words)
    return not script and (asked or at_terminal)
