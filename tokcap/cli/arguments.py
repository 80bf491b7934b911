"""argv, environment variables and config file in; one decided request out. Reads no payload.

Order of precedence: flag, environment, config file, default.
"""

from __future__ import annotations

import os

from tokcap.cli.kinds import LineOfText, Switch
from tokcap.cli.options import BY_KEY, SUBCOMMANDS, Option, options_of
from tokcap.core.request import Request, ShowRequest
from tokcap.errors import UsageError
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from tokcap.cli.kinds import Value
    from tokcap.cli.options import Form
    from tokcap.core.request import Output
    from tokcap.environment import Environment
    from tokcap.system.shell import ShellWords
    from tokcap.tokens.models import Model


LARGEST_CONFIG_BYTES = 1 << 20


class HelpWanted(Record):
    """`--help`."""

    form: Form = "run"


class VersionWanted(Record):
    """`--version`."""


class Subcommand(Record):
    """`tokcap NAME ...`, left to the application in `cli`."""

    name: str
    arguments: tuple[str, ...]


if TYPE_CHECKING:
    Invocation: TypeAlias = Request | ShowRequest | HelpWanted | VersionWanted | Subcommand


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
    # `show` is asked for one page after the other, so it does not wait for the application to load.
    if tuple(argv[:1]) == ("show",):
        return parse_show(argv[1:], env)
    words = take_apart(argv, "run")
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
    command = words.rest
    if words.shell:
        from tokcap.system.shell import shell_argv

        command = shell_argv(words.rest, words.shell, env.variables)
    return run_request(command, decide(words.given, "run", env))


def run_request(command: tuple[str, ...], values: Mapping[str, Value]) -> Request:
    """One call of the wrapper form, its values decided; refused where they do not go together."""
    head_only = KEEPS[str(values["keep"])].may_stop_early
    elsewhere = values["token_count"] or not head_only or values["mode"] != "raw"
    if values["kill_on_limit"] and elsewhere:
        raise UsageError("--kill-on-limit is for a window at the beginning: what comes later is never known")
    return Request(command=command, **values)  # type: ignore[arg-type]  # the table has the types


def show_request(handle: str, values: Mapping[str, Value]) -> ShowRequest:
    """The same for one call of `show`."""
    if values["context"] and not values["grep"]:
        raise UsageError("--context is for --grep")
    return ShowRequest(handle=handle, **values)  # type: ignore[arg-type]  # as above


def parse_show(argv: Sequence[str], env: Environment) -> ShowRequest | HelpWanted | VersionWanted:
    """The same for `tokcap show`: one handle, with options before and behind it."""
    words = take_apart(argv, "show")
    if words.wants_help:
        return HelpWanted("show")
    if words.wants_version:
        return VersionWanted()
    try:
        if words.problems:
            raise UsageError(words.problems[0])
        if len(words.rest) != 1:
            problem = f"one handle at a time, not {len(words.rest)}." if words.rest else "which handle?"
            raise UsageError(f"{problem} Try tokcap show @last, or see tokcap spill list")
        values = decide(words.given, "show", env)
        if any(option.key == "grep" and not raw for option, raw in words.given):
            raise UsageError("--grep needs a pattern; to see everything, leave it out")
        return show_request(words.rest[0], values)
    except UsageError as error:
        raise UsageError(f"show: {error}", of_a_subcommand=True) from None


def take_apart(argv: Sequence[str], form: Form) -> Words:
    """Split a command line into options and the rest. Goes on after a problem, to find `--output`.

    In the wrapper form the first word that is no option begins the command, and all that follows is
    the command's own. `show` has options behind its handle as well.
    """
    by_name = {option.flag: option for option in options_of(form)}
    by_name |= {f"-{option.short}": option for option in by_name.values() if option.short}
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
                problems.append(f"{option.flag} needs a value: {option.kind.expected}")
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
            problems.append(unknown_option(name, by_name, form))
            # The call is refused anyway. The next word may be the unknown option's value: going on
            # behind it finds the form in which the refusal is wanted.
            if not equals and position < len(argv) and not argv[position].startswith("-"):
                position += 1
    rest += argv[position:]
    if has_string:
        from tokcap.system.shell import string_problem

        problem = string_problem(rest, tuple(by_name))
        problems += [problem] if problem else []
    elif shell:
        problems.insert(0, unknown_option(shell[0], by_name, form))
        shell = []
    return Words(tuple(given), tuple(rest), forced, wants_help, wants_version, tuple(problems), tuple(shell))


def shell_flags(words: Sequence[str]) -> ShellWords | None:
    """Flags of a shell, which stand before a string for it: loaded for words that tokcap does not know."""
    from tokcap.system.shell import take_flags

    return take_flags(words)


def split_option(word: str) -> tuple[str, bool, str]:
    """`--name=value`, `-nvalue` -> name, whether a value is attached, value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, bool(equals), value
    return word[:2], len(word) > 2, word[2:]


def negated_switch(name: str, by_name: Mapping[str, Option]) -> Option | None:
    option = by_name.get("--" + name.removeprefix("--no-")) if name.startswith("--no-") else None
    return option if option and isinstance(option.kind, Switch) else None


def unknown_option(name: str, by_name: Mapping[str, Option], form: Form) -> str:
    from tokcap.core.spelling import nearest

    near = nearest(name, [*by_name, "--help", "--version"])
    help_form = "tokcap --help" if form == "run" else f"tokcap {form} --help"
    hint = f"did you mean {near}?" if near else f"see {help_form}"
    return f"unknown option {decoded(name)}; {hint}"


def decide(given: Sequence[tuple[Option, str]], form: Form, env: Environment) -> dict[str, Value]:
    """Merge the four sources of values, and refuse the first bad one."""
    from_flags = {option.key: read_value(option, raw, option.flag) for option, raw in given}
    config = config_values(env)
    chosen: dict[str, Value] = {}
    for option in options_of(form):
        if option.key in from_flags:
            chosen[option.key] = from_flags[option.key]
        elif (raw := from_variable(option, env)) is not None:
            chosen[option.key] = read_value(option, decoded(raw), option.variable)
        elif option.key in config.values:
            chosen[option.key] = config.values[option.key]
    return completed(chosen, form, config.models)


def from_variable(option: Option, env: Environment) -> str | None:
    """What its variable says, None: nothing. An empty one is a value only where any text is."""
    raw = env.variables.get(option.variable) if option.ambient else None
    return raw if raw or isinstance(option.kind, LineOfText) else None


def completed(chosen: Mapping[str, Value], form: Form, models: Mapping[str, Model]) -> dict[str, Value]:
    """What was chosen, with what a model and the defaults add to it."""
    if chosen.get("model"):
        from tokcap.tokens.models import find_model

        # A model stands behind what was said about its window and tokenizer outright.
        model = find_model(str(chosen["model"]), models)
        chosen = {**model.known(), **chosen}
    return {option.key: chosen.get(option.key, option.default) for option in options_of(form)}


def read_value(option: Option, raw: str, origin: str) -> Value:
    try:
        return option.kind.read(raw)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None


class Config(Record):
    """What the config file says."""

    values: Mapping[str, Value]
    models: Mapping[str, Model]


def config_values(env: Environment) -> Config:
    """The config file's values; a missing file has none, a bad one is refused."""
    path = env.config_file()
    data = config_bytes(path, env)
    if not data:
        return Config({}, {})
    from tokcap.cli.config.reading import read_config

    found = read_config(data, path)
    return Config(found.values, found.models)


def config_bytes(path: str, env: Environment) -> bytes:
    """What stands in the config file; nothing if there is none."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        # Somebody else's home directory cannot be looked into; then there is no file for us either.
        if env.variables.get("TOKCAP_CONFIG"):
            raise UsageError(f"TOKCAP_CONFIG: there is no file {path}") from None
        return b""
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST_CONFIG_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > LARGEST_CONFIG_BYTES:
        raise UsageError(f"{path}: too large for a config file")
    return data


def config_value(option: Option, env: Environment) -> object:
    """What the config file has for one option, whatever else is wrong in it."""
    path = env.config_file()
    data = config_bytes(path, env)
    if not data:
        return None
    from tokcap.cli.config.reading import parsed

    return parsed(data, path)[1].get(option.key)


def wanted_output(argv: Sequence[str], env: Environment) -> Output:
    """The form in which a refused call wants to hear of it, as far as that can be told."""
    option = BY_KEY["output"]
    subcommand = argv and argv[0] in SUBCOMMANDS
    words = take_apart(argv[1:], "show") if subcommand else take_apart(argv, "run")
    asked = [raw for given, raw in words.given if given is option]
    wanted: object = asked[-1] if asked else env.variables.get(option.variable)
    if not wanted:
        try:
            wanted = config_value(option, env)
        except UsageError:
            # The file itself may be what the call is refused for.
            wanted = None
    if wanted == "json":
        return "json"
    return "jsonl" if wanted == "jsonl" else "text"


def decoded(word: str) -> str:
    """An argument as Unicode text, whatever the locale made of its bytes."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")
