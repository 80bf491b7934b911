"""Which words of a command line are flags of a shell: those before `-c`, and those of `tokcap-bash`.

Loaded only for words that are not options of tokcap.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

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


class ShellWords(Record):
    """The arguments of a shell, as far as they say what kind of shell it is."""

    letters: frozenset[str]
    is_login: bool
    # Whether a script is named. The string of `-c` is not one.
    has_script: bool
    # Where the words after the flags begin.
    position: int

    def is_interactive(self, *, at_terminal: bool) -> bool:
        """Return whether such a shell would talk to a person."""
        if "c" in self.letters or self.has_script:
            return False
        return "i" in self.letters or at_terminal


def read_words(words: Sequence[str]) -> ShellWords:
    """Read the arguments of a shell up to its string or script. More flags may follow `-c`."""
    letters: set[str] = set()
    is_login = False
    position = 0
    while position < len(words):
        word = words[position]
        if word in ("--", "-"):
            position += 1
            break
        if word[:1] not in ("-", "+") or len(word) == 1:
            break
        position += 1
        if word.startswith("--"):
            is_login = is_login or word == "--login"
            position += word in VALUE_WORDS
            continue
        if word[0] == "-":
            letters.update(word[1:])
        position += sum(letter in VALUE_LETTERS for letter in word)
    # With `-s` the words are arguments of what is read from standard input.
    has_script = position < len(words) and letters.isdisjoint("cs")
    return ShellWords(frozenset(letters), is_login or "l" in letters, has_script, position)
