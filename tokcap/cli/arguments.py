"""Decide what a call is from its arguments: a request to run or to show, a subcommand, help or version.

Reads variables and the config file, but no payload.
"""

from __future__ import annotations

from tokcap.cli.options import BY_KEY
from tokcap.cli.values import decide, may_have_config
from tokcap.cli.words import take_apart
from tokcap.core.request import DEFAULTS, SUBCOMMANDS, Request, ShowRequest
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import TypeAlias

    from tokcap.cli.options import Form
    from tokcap.core.request import Output, Value
    from tokcap.environment import Environment


class HelpWanted(Record):
    """`--help`."""

    form: Form = "run"


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
        return HelpWanted()
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
    return run_request(command, decide(words.given, "run", env), given)


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
    if values["focus"]:
        values = with_focus(values)
    if values["kill_on_limit"]:
        refuse_to_stop_early(values)
    if values["repeat"] != Request.repeat and (problem := repeat_problem(values)):
        if "repeat" in given:
            raise UsageError(problem)
        # A setting for all calls has no effect on those that it cannot apply to.
        values = {**values, "repeat": Request.repeat}
    return Request(command=command, **values)  # type: ignore[arg-type]  # the table has the types


def with_focus(values: Mapping[str, Value]) -> Mapping[str, Value]:
    """Check the pattern of `--focus`, and choose a policy that uses it if none was chosen."""
    import re

    from tokcap.keep import KEEPS

    try:
        re.compile(str(values["focus"]).encode())
    except re.error as error:
        raise UsageError(f"--focus: {values['focus']!r} is not a valid regular expression: {error}") from None
    if KEEPS[str(values["keep"])].survey:
        return values
    if values["keep"] != DEFAULTS["keep"]:
        raise UsageError(f"--focus works only with --keep focus or auto, not with --keep {values['keep']}")
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
    if needs_all or not KEEPS[str(values["keep"])].may_stop_early:
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
    if offset is not None:
        values = with_offset(name, offset, values, given)
    if values["context"] and not values["grep"]:
        raise UsageError("--context works only with --grep")
    if values["focus"]:
        values = with_focus(values)
    return ShowRequest(handle=handle, **values)  # type: ignore[arg-type]  # as above


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
    if not wanted and may_have_config(env):
        from tokcap.cli.config.file import raw_value

        try:
            wanted = raw_value(option, env)
        except UsageError:
            # The file may be the very reason why the call is refused.
            wanted = None
    try:
        output: Output = option.kind.read(str(wanted or option.default))  # type: ignore[assignment]  # as above
    except ValueError:
        output = "text"
    return output
