"""Decide what a call is from its arguments: a request to run or to show, a subcommand, help or version.

First the words are split into options and the rest; then every option gets its value from flag, variable,
rule, config file or default, in this order. No payload is read.
"""

from __future__ import annotations

import os

from tokcap.cli.kinds import LineOfText, Switch
from tokcap.cli.options import BY_KEY, by_flag, options_of
from tokcap.core.request import DEFAULTS, SUBCOMMANDS, Request, ShowRequest, WaitRequest
from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from tokcap.cli.kinds import Kind
    from tokcap.cli.options import Form, Option
    from tokcap.cli.rules import Rule
    from tokcap.cli.shell_flags import ShellFlags
    from tokcap.core.request import Output, TokenizerMatch, Value
    from tokcap.environment import Environment
    from tokcap.tokens.models import Model


class HelpWanted(Record):
    """`--help`, or `--help all`."""

    form: Form = "run"
    everything: bool = False


class VersionWanted(Record):
    """`--version`."""


class Subcommand(Record):
    """`tokcap NAME ...`, other than `show`."""

    name: str
    arguments: tuple[str, ...]


if TYPE_CHECKING:
    Invocation: TypeAlias = Request | ShowRequest | HelpWanted | VersionWanted | Subcommand


def parse(argv: Sequence[str], env: Environment) -> Invocation:
    """Decide what this call is, or refuse it."""
    if argv and argv[0] == "show":
        return parse_show(argv[1:], env)
    words = take_apart(argv, "run")
    if words.wants_help:
        return HelpWanted(everything=words.rest[:1] == ("all",))
    if words.wants_version:
        return VersionWanted()
    if words.problems:
        raise UsageError(words.problems[0])
    if words.rest and not words.forced and not words.shell and words.rest[0] in SUBCOMMANDS:
        if words.given:
            option = words.given[0][0]
            raise UsageError(
                f"{option.flag} comes before the subcommand {words.rest[0]!r}; write it after the subcommand"
            )
        return Subcommand(words.rest[0], words.rest[1:])
    command = words.rest
    if words.forced and not command:
        raise UsageError("there is no command after --; to cap standard input, leave -- out")
    if words.shell:
        from tokcap.system.shell import shell_argv

        command = shell_argv(words.rest, words.shell, env.variables)
    given = {option.key for option, _ in words.given}
    return run_request(command, decide(words.given, "run", env, subject=command), given)


def parse_show(argv: Sequence[str], env: Environment) -> ShowRequest | HelpWanted | VersionWanted:
    """Do the same for `tokcap show`: one handle, with options before and after it."""
    words = take_apart(argv, "show")
    if words.wants_help:
        return HelpWanted("show")
    if words.wants_version:
        return VersionWanted()
    try:
        if words.problems:
            raise UsageError(words.problems[0])
        if len(words.rest) != 1:
            problem = f"one HANDLE is expected, not {len(words.rest)}" if words.rest else "HANDLE is missing"
            raise UsageError(f"{problem}: try tokcap show @last, or see tokcap spill list")
        values = decide(words.given, "show", env)
        if any(option.key == "grep" and not raw for option, raw in words.given):
            raise UsageError("--grep needs a pattern; leave out --grep to see everything")
        return show_request(words.rest[0], values, {option.key for option, _ in words.given})
    except UsageError as error:
        raise UsageError(f"show: {error}", of_a_subcommand=True) from None


def run_request(
    command: tuple[str, ...], values: Mapping[str, Value], given: Collection[str] = ()
) -> Request:
    """Return the request of the wrapper; `UsageError` for options that contradict each other.

    `given` has the keys of the options that this call gives itself.
    """
    values = with_focus(values, given)
    if values["kill_on_limit"]:
        refuse_to_stop_early(values)
    if values["repeat"] != Request.repeat and (problem := repeat_problem(values)):
        if "repeat" in given:
            raise UsageError(problem)
        # A setting for all calls has no effect on those that it cannot apply to.
        values = {**values, "repeat": Request.repeat}
    return Request(command=command, **values)  # type: ignore[arg-type]  # the table has the types


def with_focus(values: Mapping[str, Value], given: Collection[str]) -> Mapping[str, Value]:
    """Check the pattern of `--focus`, and choose a policy that uses it, or `--ask`, if none was chosen.

    A question for all calls has no effect on those that show another part.
    """
    wanted = next((key for key in ("focus", "ask") if values[key] and (key in given or key == "focus")), "")
    if not wanted:
        return values
    import re

    from tokcap.keep import KEEPS

    try:
        re.compile(str(values["focus"]).encode())
    except re.error as error:
        raise UsageError(f"--focus: {values['focus']!r} is not a valid regular expression: {error}") from None
    if KEEPS[str(values["keep"])].survey:
        return values
    if values["keep"] != DEFAULTS["keep"]:
        raise UsageError(f"--{wanted} works only with --keep focus or auto, not with --keep {values['keep']}")
    return {**values, "keep": "focus"}


def repeat_problem(values: Mapping[str, Value]) -> str:
    """Return why `--repeat mark` or `diff` cannot apply to this call; empty if it can."""
    if not values["session"]:
        return "--repeat needs a session: give --session too, or set TOKCAP_SESSION"
    if values["spill"] == "never":
        return "--repeat needs the store: it cannot be combined with --spill never"
    if values["token_count"]:
        return "--repeat cannot be combined with --token-count"
    return ""


def refuse_to_stop_early(values: Mapping[str, Value]) -> None:
    """Refuse `--kill-on-limit` if the answer needs more than the start of the output."""
    from tokcap.keep import KEEPS
    from tokcap.shapes import MODES

    needs_all = values["token_count"] or not MODES[str(values["mode"])].shows_payload
    if needs_all or not KEEPS[str(values["keep"])].reads_only_head:
        raise UsageError(
            "--kill-on-limit cannot be combined with --token-count, a --keep other than head, or a --mode"
            " other than raw: they need the full output"
        )


def show_request(name: str, values: Mapping[str, Value], given: Collection[str] = ()) -> ShowRequest:
    """Return the request to show a stored output; `given` and `UsageError` as above.

    `name` is a handle, or a handle with an offset: `lake917365018@464`.
    """
    from tokcap.store.handles import split_offset

    handle, offset = split_offset(name)
    if offset is not None and not values["grep"]:
        values = with_offset(name, offset, values, given)
    if values["context"] and not values["grep"]:
        raise UsageError("--context works only with --grep")
    values = with_focus(values, given)
    return ShowRequest(handle=handle, **values)  # type: ignore[arg-type]  # as above


def wait_request(name: str, values: Mapping[str, Value], **own: object) -> WaitRequest:
    """Return the request to wait for a running output. The answer is new text, from its beginning."""
    plain = {"keep": "head", "mode": "raw", "shape": "text", "fields": "", "focus": "", "align": "record"}
    whole = {"token_offset": 0, "token_count": False, "clean": False}
    return WaitRequest(**{**values, **plain, **whole, "handle": name, **own})  # type: ignore[arg-type]  # as above


def with_offset(
    name: str, typed: str, values: Mapping[str, Value], given: Collection[str]
) -> Mapping[str, Value]:
    """Return the values with the offset that was typed after a handle. Refuse a call with another one."""
    option = BY_KEY["token_offset"]
    try:
        offset = option.kind.read(typed)
    except ValueError as error:
        raise UsageError(f"{name[:80]}: the offset {error}") from None
    if option.key in given and values[option.key] != offset:
        raise UsageError(f"{name} begins at token {offset}, not {values[option.key]}: give one offset only")
    return {**values, option.key: offset}


def wanted_output(argv: Sequence[str], env: Environment) -> Output:
    """Return the format of the response to a call that may be wrong, as far as it can be determined."""
    option = BY_KEY["output"]
    subcommand = argv and argv[0] in SUBCOMMANDS
    words = take_apart(argv[1:], "show") if subcommand else take_apart(argv, "run")
    asked = [raw for given, raw in words.given if given is option]
    wanted: object = asked[-1] if asked else env.variables.get(option.variable)
    if not wanted:
        try:
            wanted = config_of(env).values.get(option.key)
        except UsageError:
            # The file may be the very reason why the call is refused.
            wanted = None
    try:
        output: Output = option.kind.read(str(wanted or option.default))  # type: ignore[assignment]  # as above
    except ValueError:
        output = "text"
    return output


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
    """Split the command line of `tokcap`, or the words after `tokcap show`."""
    called = "tokcap" if form == "run" else f"tokcap {form}"
    return split_words(argv, by_flag(options_of(form)), called, is_run=form == "run")


def split_words(
    argv: Sequence[str],
    by_name: Mapping[str, Option],
    called: str,
    *,
    is_run: bool = False,
    ends_at_word: bool = False,
) -> Words:
    """Split a command line. Continue after a problem, to find `--output`.

    If a command is to be run, the first word that is not an option begins the command, and all words that
    follow belong to it. A subcommand takes options after its arguments as well.
    """
    known = [*by_name, "--help", "--version"]
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
            if is_run or ends_at_word:
                break
            rest.append(word)
            position += 1
            continue
        position += 1
        name, equals, value = split_option(word)
        if name in ("--help", "-h"):
            wants_help = True
        elif name in ("--version", "-V") and "--token-limit" in by_name:
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
                # `expected` only says which characters a text must not have. That does not help here.
                is_text = isinstance(option.kind, LineOfText)
                expected = f"{option.flag} {option.metavar}" if is_text else option.kind.expected
                problems.append(f"{option.flag} needs a value: {expected}")
        elif negated := negated_switch(name, by_name):
            if equals:
                problems.append(f"{name} takes no value")
            given.append((negated, "false"))
        elif is_run and (found := shell_flags(argv[position - 1 :])):
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
    hint = hint_for(name.lower().replace("_", "-"), known) or f"see {called} --help"
    return f"unknown option {decoded(name)}; {hint}"


def hint_for(name: str, known: Sequence[str]) -> str:
    """Return what an unknown option probably means, or which form of a call takes it; empty if unknown."""
    if "--token-offset" in known and name not in known:
        if name in by_flag(options_of("show")):
            return "it is an option of tokcap show"
        if name in by_flag(options_of("run")):
            return "it works only when a command is run"
    from tokcap.core.spelling import nearest

    near = nearest(name, known)
    # `--no-limit` does not mean a limit.
    return f"did you mean {near}?" if near and name.startswith("--no-") == near.startswith("--no-") else ""


def decoded(word: str) -> str:
    """Return an argument as Unicode text, whatever the locale is."""
    return os.fsencode(word).decode("utf-8", "surrogateescape")


class Config(Record):
    """What the config file sets."""

    values: Mapping[str, Value]
    models: Mapping[str, Model]
    rules: Sequence[Rule] = ()


NO_CONFIG = Config({}, {})


def decide(
    given: Sequence[tuple[Option, str]],
    form: Form,
    env: Environment,
    usual: Mapping[str, Value] | None = None,
    subject: Sequence[str] = (),
) -> dict[str, Value]:
    """Merge the five sources of values; `UsageError` for the first bad value.

    `usual` has values that a program uses instead of the defaults. `subject` has the words of the command, or
    the name of the tool, for the rules.
    """
    from_flags = {option.key: read_value(option.kind, raw, option.flag) for option, raw in given}
    if from_flags.get("ledger"):
        from tokcap.cli.reply import refuse_password

        refuse_password(str(from_flags["ledger"]))
    config = config_of(env)
    chosen: dict[str, Value] = {}
    if config.values or any(name.startswith("TOKCAP_") for name in env.variables):
        for option in options_of(form):
            if option.key in from_flags:
                continue
            if (raw := option.text_in(env.variables)) is not None:
                chosen[option.key] = read_value(option.kind, decoded(raw), option.variable)
            elif option.key in config.values:
                chosen[option.key] = config.values[option.key]
    if config.rules and subject:
        from tokcap.cli.rules import decisive

        if rule := decisive(config.rules, subject):
            set_by_variables = [key for key in chosen if BY_KEY[key].text_in(env.variables) is not None]
            chosen |= rule.beside({*from_flags, *set_by_variables})
    chosen |= from_flags
    if usual and "token_limit" in chosen:
        # What is usual for an output that is cut goes with the usual limit.
        usual = {**usual, "limit_if_cut": None}
    return completed({**(usual or {}), **chosen}, form, config.models, env)


def completed(
    chosen: Mapping[str, Value], form: Form, models: Mapping[str, Model], env: Environment | None = None
) -> dict[str, Value]:
    """Return the chosen values, completed by what is known of the model and by the defaults."""
    if chosen.get("model"):
        from tokcap.tokens.models import find_model, is_here

        # A context window or tokenizer that was chosen explicitly overrides that of the model.
        model = find_model(str(chosen["model"]), models)
        if chosen.get("tokenizer") is None and not is_here(model, env):
            model = model.replace(tokenizer=None)
        match = tokenizer_match(model, chosen.get("tokenizer"))
        chosen = {"tokenizer_match": match, **model.known(), **chosen}
    return {**{option.key: option.default for option in options_of(form)}, **chosen}


def tokenizer_match(model: Model, chosen: Value) -> TokenizerMatch:
    """Return how the tokenizer relates to the model; `chosen` is None if the caller named none."""
    if chosen is None:
        return "own" if model.tokenizer else "substitute"
    return "own" if chosen == model.tokenizer else "chosen"


def read_value(kind: Kind, raw: str, origin: str) -> Value:
    """Return the value that a text stands for; `UsageError` names the flag or variable it came from."""
    try:
        return kind.read(raw)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None


def config_of(env: Environment) -> Config:
    """Return what the config file sets."""
    if not may_have_config(env):
        return NO_CONFIG
    from tokcap.cli.config import read_file

    found = read_file(env)
    return Config(found.values, found.models, found.rules) if found else NO_CONFIG


def may_have_config(env: Environment) -> bool:
    """Return whether a config file has to be read. If not, the modules that read it are not loaded."""
    try:
        os.stat(env.config_file())
    except (FileNotFoundError, NotADirectoryError):
        # A file that is named explicitly must exist.
        return bool(env.variables.get("TOKCAP_CONFIG"))
    except OSError:
        pass  # reported when the file is read
    return True
