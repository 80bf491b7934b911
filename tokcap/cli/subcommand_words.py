"""Check the words of a subcommand against its description, and read their values.

Help and messages about mistakes are the same for all subcommands, whether Typer parses the words or not.
"""

from __future__ import annotations

from tokcap.cli.catalog import commands_of, group_of
from tokcap.cli.description import HELP
from tokcap.cli.kinds import Choice
from tokcap.cli.words import decoded, missing_value, split_option, unknown_option
from tokcap.core.request import SUBCOMMANDS
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn, TypeAlias

    from tokcap.cli.description import Command
    from tokcap.core.request import Value

    # The values of a call, by the parameters of the handler.
    Values: TypeAlias = "dict[str, Value | tuple[str, ...]]"


def find(name: str, arguments: Sequence[str]) -> tuple[Command | None, Sequence[str]]:
    """Return the command that is meant, and the words after its name.

    The command is None if only a group is named; then the words are what asks for help, or nothing.
    """
    commands = commands_of(name)
    if group_of(name) is None:
        # A command may have others below it: `tokcap mcp wrap`.
        for command in commands:
            if arguments and command.path[1:] == (arguments[0],):
                return command, arguments[1:]
        return commands[0], arguments
    if not arguments or arguments[0] in HELP.spellings:
        return None, arguments
    by_name = {command.path[1]: command for command in commands}
    word = arguments[0]
    if word not in by_name:
        what = "option" if word.startswith("-") else "command"
        refuse(name, f"unknown {what} {decoded(word)}; {meant(name, word, [*by_name])}")
    return by_name[word], arguments[1:]


def meant(group: str, word: str, names: Sequence[str]) -> str:
    """Return what an unknown word after the name of a group probably means."""
    from tokcap.cli.synonyms import word_meant
    from tokcap.core.spelling import nearest

    if word.startswith("-"):
        near = nearest(word, HELP.spellings, similarity=0.8)
    else:
        near = word_meant(word, names) or nearest(word, HELP.spellings)
        if not near and word in SUBCOMMANDS:
            return f"did you mean tokcap {word}?"
    return f"did you mean tokcap {group} {near}?" if near else f"its commands are {', '.join(names)}"


def read_words(command: Command, words: Sequence[str]) -> Values | None:
    """Return the values of a call; None if help is asked for, `UsageError` for a mistake."""
    by_name = {spelling: flag for flag in command.flags for spelling in flag.spellings}
    given: dict[str, Value] = {}
    repeated: dict[str, list[str]] = {}
    rest: list[str] = []
    problems: list[str] = []
    has_command = any(argument.is_command for argument in command.arguments)
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            rest += words[position:]
            break
        if not word.startswith("-") or word == "-":
            if has_command:
                rest += words[position - 1 :]
                break
            rest.append(word)
            continue
        spelling, attached, raw = split_option(word)
        flag = by_name.get(spelling)
        if flag == HELP:
            return None
        if flag is None:
            problems.append(unknown_option(spelling, [*by_name], command.name))
            continue
        if flag.takes_value and not attached:
            if position == len(words):
                problems.append(missing_value(spelling, flag.kind, flag.metavar))
                break
            raw = words[position]
            position += 1
        if attached and not flag.takes_value:
            problems.append(f"{spelling} takes no value")
        try:
            given[flag.parameter] = flag.kind.read(decoded(raw)) if flag.takes_value else True
            if flag.repeatable:
                repeated.setdefault(flag.parameter, []).append(decoded(raw))
        except ValueError as error:
            problems.append(f"{spelling}: {error}")
            given[flag.parameter] = None
    problems += missing_options(command, given)
    problems += problems_of_arguments(command, rest)
    if problems:
        refuse(" ".join(command.path), problems[0])
    defaults: Values = {flag.parameter: flag.default for flag in command.flags if flag != HELP}
    several = {
        flag.parameter: tuple(repeated.get(flag.parameter, ())) for flag in command.flags if flag.repeatable
    }
    return {**defaults, **given, **several, **arguments_of(command, rest)}


def missing_options(command: Command, given: Mapping[str, Value]) -> list[str]:
    missing = [flag for flag in command.flags if flag.required and flag.parameter not in given]
    return [f"{flag.spellings[-1]} is missing: {flag.help}" for flag in missing]


def problems_of_arguments(command: Command, words: Sequence[str]) -> list[str]:
    """Return what is wrong with the words that are not options."""
    needed = [argument for argument in command.arguments if argument.required]
    if len(words) < len(needed):
        missing = needed[len(words)]
        choices = f", {Choice(missing.choices).expected}" if missing.choices else ""
        return [f"{missing.metavar} is missing: {missing.help}{choices}"]
    if len(words) > len(command.arguments) and not any(arg.repeatable for arg in command.arguments):
        extra = decoded(words[len(command.arguments)])
        return [f"{extra!r} is an unexpected argument; see {command.name} --help"]
    for argument, word in zip(command.arguments, words, strict=False):
        if argument.choices and word not in argument.choices:
            from tokcap.cli.synonyms import word_meant

            near = word_meant(word, argument.choices)
            hint = f"; did you mean {near}?" if near else ""
            return [f"{decoded(word)!r} is not {Choice(argument.choices).expected}{hint}"]
    return []


def arguments_of(command: Command, words: Sequence[str]) -> Values:
    """Return the values of the words that are not options. Only the last argument can be repeatable."""
    found: Values = {}
    for place, argument in enumerate(command.arguments):
        one = words[place] if place < len(words) else None
        found[argument.parameter] = tuple(words[place:]) if argument.repeatable else one
    return found


def refuse(name: str, problem: str) -> NoReturn:
    raise UsageError(f"{name}: {problem}", of_a_subcommand=True)
