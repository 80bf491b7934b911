"""Split a command line into options and the rest. Reads no value, no variable and no file."""

from __future__ import annotations

import os

from tokcap.cli.kinds import LineOfText, Switch
from tokcap.cli.options import options_by_flag
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.cli.kinds import Kind
    from tokcap.cli.options import Form, Option
    from tokcap.cli.shell_flags import ShellFlags


class Words(Record):
    """A command line, split into its parts. Values are not checked yet."""

    given: tuple[tuple[Option, str], ...]
    rest: tuple[str, ...]
    # Whether `--` came before the rest: then its first word is a command, even if it is named `show`.
    forced: bool
    wants_help: bool
    wants_version: bool
    problems: tuple[str, ...]
    # Flags for the shell that runs the rest as a string; empty: the rest is not a string.
    shell: tuple[str, ...] = ()


def take_apart(argv: Sequence[str], form: Form) -> Words:
    """Split a command line. Continue after a problem, to find `--output`.

    If a command is to be run, the first word that is not an option begins the command, and all words that
    follow belong to it. `show` takes options after its handle as well.
    """
    by_name = options_by_flag(form)
    known = [*by_name, "--help", "--version"]
    called = "tokcap" if form == "run" else f"tokcap {form}"
    given: list[tuple[Option, str]] = []
    rest: list[str] = []
    problems: list[str] = []
    wants_help = wants_version = forced = has_string = False
    shell: list[str] = []
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "--":
            forced = True
            position += 1
            break
        if not word.startswith("-") or word == "-":
            if form == "run":
                break
            rest.append(word)
            position += 1
            continue
        position += 1
        name, equals, value = split_option(word)
        if name in ("--help", "-h"):
            wants_help = True
        elif name in ("--version", "-V"):
            wants_version = True
        elif option := by_name.get(name):
            if isinstance(option.kind, Switch):
                if equals:
                    problems.append(f"{option.flag} takes no value")
                given.append((option, "true"))
            elif equals:
                given.append((option, decoded(value)))
            elif position < len(argv):
                given.append((option, decoded(argv[position])))
                position += 1
            else:
                problems.append(missing_value(option.flag, option.kind, option.metavar))
        elif negated := negated_switch(name, by_name):
            if equals:
                problems.append(f"{name} takes no value")
            given.append((negated, "false"))
        elif form == "run" and (found := shell_flags(argv[position - 1 :])):
            shell += found.flags
            position += len(found.flags) - 1
            if found.has_string:
                has_string = True
                break
        else:
            problems.append(unknown_option(name, known, called))
            # The call is refused anyway. The next word may be the value of the unknown option. Skip it, to
            # find the format in which the caller wants the refusal.
            if not equals and position < len(argv) and not argv[position].startswith("-"):
                position += 1
    rest += argv[position:]
    if has_string:
        from tokcap.cli.shell_flags import string_problem

        problem = string_problem(rest, tuple(by_name))
        problems += [problem] if problem else []
    elif shell:
        problems.insert(0, unknown_option(shell[0], known, called))
        shell = []
    return Words(tuple(given), tuple(rest), forced, wants_help, wants_version, tuple(problems), tuple(shell))


def shell_flags(words: Sequence[str]) -> ShellFlags | None:
    """Return the shell flags that the words begin with, if any. Called only for unknown options."""
    from tokcap.cli.shell_flags import take_flags

    return take_flags(words)


def split_option(word: str) -> tuple[str, bool, str]:
    """Split `--name=value` or `-nvalue` into name, whether a value is attached, and value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, bool(equals), value
    return word[:2], len(word) > 2, word[2:]


def negated_switch(name: str, by_name: Mapping[str, Option]) -> Option | None:
    """Return the switch that `--no-NAME` turns off."""
    option = by_name.get("--" + name.removeprefix("--no-")) if name.startswith("--no-") else None
    return option if option and isinstance(option.kind, Switch) else None


def unknown_option(name: str, known: Sequence[str], called: str) -> str:
    """Return the message about an option that does not exist; `called` is the command as it is typed."""
    from tokcap.cli.synonyms import meaning_of

    hint = meaning_of(name, known) or f"see {called} --help"
    return f"unknown option {decoded(name)}; {hint}"


def missing_value(flag: str, kind: Kind, metavar: str) -> str:
    """Return the message about an option without its value."""
    # `expected` only says which characters a text must not have. That does not help here.
    expected = f"{flag} {metavar}" if isinstance(kind, LineOfText) else kind.expected
    return f"{flag} needs a value: {expected}"


def decoded(word: str) -> str:
    """Return an argument as Unicode text, whatever the locale is."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
