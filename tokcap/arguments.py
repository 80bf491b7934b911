"""argv, environment variables and config file in; one decided `Request` out. Reads no payload.

Order of precedence: flag, environment, config file, default.
"""

from __future__ import annotations

import os

from tokcap.errors import UsageError
from tokcap.options import (
    BY_FLAG,
    BY_KEY,
    BY_SHORT,
    OPTIONS,
    SUBCOMMANDS,
    LineOfText,
    Option,
    Switch,
    shortened,
)
from tokcap.record import TYPE_CHECKING, Record
from tokcap.shell import shell_argv, string_problem, take_flags
from tokcap.types import Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from tokcap.environment import Environment
    from tokcap.options import Value
    from tokcap.types import Output


LARGEST_CONFIG_BYTES = 1 << 20


class HelpWanted(Record):
    """`--help`."""


class VersionWanted(Record):
    """`--version`."""


class Subcommand(Record):
    """`tokcap NAME ...`, left to the application in `cli`."""

    name: str
    arguments: tuple[str, ...]


if TYPE_CHECKING:
    Invocation: TypeAlias = Request | HelpWanted | VersionWanted | Subcommand


class Words(Record):
    """A command line taken apart, nothing judged yet but its form."""

    given: tuple[tuple[Option, str], ...]
    rest: tuple[str, ...]
    # Whether `--` stood before the rest: then its first word is a command, whatever its name.
    forced: bool
    wants_help: bool
    wants_version: bool
    problems: tuple[str, ...]
    # Flags for the shell that runs the rest as a string; none: the rest is no string.
    shell: tuple[str, ...] = ()


def parse(argv: Sequence[str], env: Environment) -> Invocation:
    """Decide what this call is, or refuse it."""
    words = take_apart(argv)
    if words.wants_help:
        return HelpWanted()
    if words.wants_version:
        return VersionWanted()
    if words.problems:
        raise UsageError(words.problems[0])
    if words.rest and not words.forced and not words.shell and words.rest[0] in SUBCOMMANDS:
        if words.given:
            option = words.given[0][0]
            raise UsageError(f"{option.flag} stands before the subcommand {words.rest[0]!r}; write it after")
        return Subcommand(words.rest[0], words.rest[1:])
    values = decide(words.given, env)
    command = shell_argv(words.rest, words.shell, env.variables) if words.shell else words.rest
    return Request(command=command, **values)  # type: ignore[arg-type]  # the table has the types


def take_apart(argv: Sequence[str]) -> Words:
    """Split a command line into options and the rest. Goes on after a problem, to find `--output`."""
    given: list[tuple[Option, str]] = []
    problems: list[str] = []
    wants_help = wants_version = forced = False
    shell: list[str] = []
    position = 0
    while position < len(argv):
        word = argv[position]
        if word == "--":
            forced = True
            position += 1
            break
        if not word.startswith("-") or word == "-":
            break
        position += 1
        name, equals, value = split_option(word)
        if name in ("--help", "-h"):
            wants_help = True
        elif name in ("--version", "-V"):
            wants_version = True
        elif option := BY_FLAG.get(name) or BY_SHORT.get(name):
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
                problems.append(f"{option.flag} needs a value: {option.kind.expected}")
        elif negated := negated_switch(name):
            if equals:
                problems.append(f"{name} takes no value")
            given.append((negated, "false"))
        elif found := take_flags(argv[position - 1 :]):
            shell += found.flags
            position += len(found.flags) - 1
            if found.has_string:
                problem = string_problem(argv[position:], (*BY_FLAG, *BY_SHORT))
                problems += [problem] if problem else []
                return Words(
                    tuple(given),
                    tuple(argv[position:]),
                    forced,
                    wants_help,
                    wants_version,
                    tuple(problems),
                    tuple(shell),
                )
        else:
            problems.append(unknown_option(name))
            # The call is refused anyway. The next word may be the unknown option's value: going on
            # behind it finds the form in which the refusal is wanted.
            if not equals and position < len(argv) and not argv[position].startswith("-"):
                position += 1
    rest = tuple(argv[position:])
    if shell:
        problems.insert(0, unknown_option(shell[0]))
    return Words(tuple(given), rest, forced, wants_help, wants_version, tuple(problems))


def split_option(word: str) -> tuple[str, bool, str]:
    """`--name=value`, `-nvalue` -> name, whether a value is attached, value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, bool(equals), value
    return word[:2], len(word) > 2, word[2:]


def negated_switch(name: str) -> Option | None:
    option = BY_FLAG.get("--" + name.removeprefix("--no-")) if name.startswith("--no-") else None
    return option if option and isinstance(option.kind, Switch) else None


def unknown_option(name: str) -> str:
    import difflib

    known = [*BY_FLAG, "--help", "--version"]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    hint = f"did you mean {near[0]}?" if near else "see tokcap --help"
    return f"unknown option {decoded(name)}; {hint}"


def decide(given: Sequence[tuple[Option, str]], env: Environment) -> dict[str, Value]:
    """Merge the four sources of values, and refuse the first bad one."""
    from_flags = {option.key: read_value(option, raw, option.flag) for option, raw in given}
    from_file = config_values(env)
    values: dict[str, Value] = {}
    for option in OPTIONS:
        raw = env.variables.get(option.variable)
        if option.key in from_flags:
            values[option.key] = from_flags[option.key]
        elif raw or (raw == "" and isinstance(option.kind, LineOfText)):
            values[option.key] = read_value(option, decoded(raw), option.variable)
        else:
            values[option.key] = from_file.get(option.key, option.default)
    return values


def read_value(option: Option, raw: str, origin: str) -> Value:
    try:
        return option.kind.read(raw)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None


def config_values(env: Environment) -> Mapping[str, Value]:
    """The config file's values; a missing file has none, a bad one is refused."""
    path = env.config_file()
    values: dict[str, Value] = {}
    for key, value in config_table(path, env).items():
        option = BY_KEY.get(key)
        if option is None:
            raise UsageError(f"{path}: unknown key {shortened(key)}")
        fits = isinstance(value, bool) == isinstance(option.kind, Switch) and isinstance(value, int | str)
        # A number may have more digits than Python turns into text.
        if not fits or (isinstance(value, int) and value.bit_length() > 64):
            raise UsageError(f"{path}: {key}: {shortened(value)} is not {option.kind.expected}")
        raw = ("false", "true")[value] if isinstance(value, bool) else str(value)
        values[key] = read_value(option, raw, f"{path}: {key}")
    return values


def config_table(path: str, env: Environment) -> dict[str, object]:
    """What stands in the config file; nothing if there is none."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # Somebody else's home directory cannot be looked into; then there is no file for us either.
        if env.variables.get("TOKCAP_CONFIG"):
            raise UsageError(f"TOKCAP_CONFIG: there is no file {path}") from None
        return {}
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > LARGEST_CONFIG_BYTES:
        raise UsageError(f"{path}: too large for a config file")

    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    except (ValueError, RecursionError):
        # Numbers and nesting that Python itself refuses.
        raise UsageError(f"{path}: a number is too long, or a value too deep") from None


def wanted_output(argv: Sequence[str], env: Environment) -> Output:
    """The form in which a refused call wants to hear of it, as far as that can be told."""
    option = BY_KEY["output"]
    asked = [raw for given, raw in take_apart(argv).given if given is option]
    wanted: object = asked[-1] if asked else env.variables.get(option.variable)
    if not wanted:
        try:
            wanted = config_table(env.config_file(), env).get(option.key)
        except UsageError:
            # The file itself may be what the call is refused for.
            wanted = None
    if wanted == "json":
        return "json"
    return "jsonl" if wanted == "jsonl" else "text"


def decoded(word: str) -> str:
    """An argument as Unicode text, whatever the locale made of its bytes."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
