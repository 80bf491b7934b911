"""The words of a subcommand, held against the catalogue before Typer sees them.

So help and mistakes are worded here as everywhere in tokcap, whatever the version of Typer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.cli.arguments import decoded, split_option
from tokcap.cli.catalog import HELP, Command, Group
from tokcap.cli.described import commands_of, groups
from tokcap.cli.kinds import Choice
from tokcap.core.spelling import nearest
from tokcap.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    import typer

    from tokcap.cli.catalog import Flag


def find(words: Sequence[str], app: typer.Typer) -> tuple[Command | Group, Sequence[str]]:
    """What a call is about, and the words behind its name."""
    name, *rest = words
    commands = {command.path: command for command in commands_of(app)}
    if alone := commands.get((name,)):
        return alone, rest
    group = next(group for group in groups(app) if group.name == name)
    if not rest or rest[0] in HELP.spellings:
        return group, rest
    known = [path[1] for path in commands if path[0] == name]
    if rest[0] not in known:
        what = "option" if rest[0].startswith("-") else "command"
        near = nearest(rest[0], [*known, *HELP.spellings] if what == "command" else HELP.spellings)
        hint = f"did you mean tokcap {name} {near}?" if near else f"its commands are {', '.join(known)}"
        refuse(name, f"unknown {what} {decoded(rest[0])}; {hint}")
    return commands[name, rest[0]], rest[1:]


def wants_help(command: Command, words: Sequence[str]) -> bool:
    """Whether help is asked for. If not, words that the command cannot take are refused."""
    name = " ".join(command.path)
    by_name = {spelling: flag for flag in command.flags for spelling in flag.spellings}
    by_name |= {flag.negation: flag for flag in command.flags if flag.negation}
    given: set[str] = set()
    rest: list[str] = []
    position = 0
    problem = ""
    while position < len(words):
        word = words[position]
        position += 1
        if word == "--":
            rest += words[position:]
            break
        if not word.startswith("-") or word == "-":
            rest.append(word)
            continue
        spelling, attached, value = split_option(word)
        flag = by_name.get(spelling)
        if flag == HELP:
            return True
        if flag is None:
            near = nearest(spelling, by_name)
            hint = f"did you mean {near}?" if near else f"see {command.name} --help"
            problem = problem or f"unknown option {decoded(spelling)}; {hint}"
            continue
        given.add(flag.name)
        if flag.takes_value and not attached:
            if position == len(words):
                problem = problem or f"{spelling} needs a value: {flag.expected}"
                break
            value = words[position]
            position += 1
        problem = problem or problem_with(flag, spelling, value, attached=attached)
    problem = problem or missing_option(command, given) or problem_with_rest(command, rest)
    if problem:
        refuse(name, problem)
    return False


def problem_with(flag: Flag, spelling: str, value: str, *, attached: bool) -> str:
    """What is wrong with a value; empty: nothing."""
    if not flag.takes_value:
        return f"{spelling} takes no value" if attached else ""
    try:
        if flag.kind:
            flag.kind.read(decoded(value))
    except ValueError as error:
        return f"{spelling}: {error}"
    return ""


def missing_option(command: Command, given: set[str]) -> str:
    missing = [flag for flag in command.flags if flag.required and flag.name not in given]
    return f"{missing[0].spellings[-1]} is missing: {missing[0].help}" if missing else ""


def problem_with_rest(command: Command, words: Sequence[str]) -> str:
    """What is wrong with the words that are told by their place; empty: nothing."""
    needed = [argument for argument in command.arguments if argument.required]
    if len(words) < len(needed):
        lacking = needed[len(words)]
        choices = f", {Choice(lacking.choices).expected}" if lacking.choices else ""
        return f"{lacking.metavar} is missing: {lacking.help}{choices}"
    if len(words) > len(command.arguments) and not any(arg.repeatable for arg in command.arguments):
        extra = decoded(words[len(command.arguments)])
        return f"{extra!r} is one word too many; see {command.name} --help"
    for argument, word in zip(command.arguments, words, strict=False):
        if argument.choices and word not in argument.choices:
            near = nearest(word, argument.choices)
            hint = f"; did you mean {near}?" if near else ""
            return f"{decoded(word)!r} is not {Choice(argument.choices).expected}{hint}"
    return ""


def refuse(name: str, problem: str) -> NoReturn:
    raise UsageError(f"{name}: {problem}", of_a_subcommand=True)
