"""`tokcap manifest`: complete, and enough to build any call from."""

from __future__ import annotations

import inspect
import os

import pytest

from tokcap.cli.arguments import parse
from tokcap.cli.catalog import all_commands
from tokcap.cli.commands.manifest import manifest_of
from tokcap.cli.description import HELP, Flag
from tokcap.cli.kinds import Switch
from tokcap.cli.subcommand_words import find, read_words
from tokcap.cli.typer_command import typer_command
from tokcap.environment import Environment
from tokcap.errors import UsageError

COMMANDS = all_commands()
MANIFEST = manifest_of(COMMANDS)


def test_the_manifest_is_one_envelope_with_every_command(inside):
    data = inside("manifest", "-o", "json").json["data"]
    assert list(data)[:3] == ["schema_version", "framework_version", "etag"]
    assert set(data["commands"]) == {command.dotted for command in COMMANDS}
    assert {"run", "show", "budget.start", "manifest"} <= set(data["commands"])
    for command in data["commands"].values():
        assert command["description"]
        assert command["examples"]
        assert command["exit_codes"]
        assert command["required_scopes"]
        assert command["danger_level"] in ("safe", "writes", "destructive", "runs_commands")
        assert set(command["output_formats"]) <= {"text", "json", "jsonl"}
        for flag in command["flags"].values():
            assert flag["type"] in data["types"]
            assert (flag["type"] == "choice") == bool(flag["enum"])


def test_the_answer_is_json_whatever_is_configured(inside):
    assert inside("manifest", env={"TOKCAP_OUTPUT": "text"}).json["ok"]
    assert inside("manifest", "-o", "text").out.startswith(b"tokcap ")


def test_an_etag_at_hand_spares_the_rest(inside):
    etag = inside("manifest").json["data"]["etag"]
    same = inside("manifest", "--etag", etag, "-o", "json").json
    assert (same["ok"], same["data"], same["meta"]["not_modified"]) == (True, None, True)
    other = inside("manifest", "--etag", "0" * 24, "-o", "json").json
    assert other["data"]["etag"] == etag
    assert "not_modified" not in other["meta"]


def test_the_etag_changes_when_an_option_is_registered():
    first, *rest = COMMANDS
    more = first.but(flags=(*first.flags, Flag(("--new",), "something new", Switch())))
    assert manifest_of(COMMANDS)["etag"] == MANIFEST["etag"] != manifest_of((more, *rest))["etag"]


def a_value(flag, types):
    """What a caller who knows only the manifest would write."""
    if flag["enum"]:
        return flag["enum"][-1]
    if flag["type"] == "integer":
        return str(flag["minimum"])
    if flag["type"] == "number":
        return str(flag["maximum"])
    if flag.get("suggested"):
        return flag["suggested"][0]
    return str(flag["default"] or types[flag["type"]]["examples"][0])


def calls(command):
    """One call for every spelling of every flag, with what the command requires."""
    types = MANIFEST["types"]
    needed = [argument for argument in command["arguments"] if argument["required"]]
    arguments = [(argument["enum"] or ["a1b2"])[0] for argument in needed]
    required = []
    for flag in command["flags"].values():
        if flag["required"]:
            required += [flag["flag"], a_value(flag, types)]
    for name, flag in command["flags"].items():
        spellings = {flag["flag"], flag["short"], flag.get("negation")} - {None}
        for spelling in sorted(spellings):
            value = [] if flag["type"] == "boolean" else [a_value(flag, types)]
            if name == "context" and command["argv"] == ["tokcap", "show"]:
                value += ["--grep", "x"]  # its description says so
            if name == "repeat" and command["argv"] == ["tokcap"]:
                value += ["--session", "s", "--spill", "auto"]  # so does this one's
            yield [*command["argv"][1:], *arguments, *required, spelling, *value]
            if spelling.startswith("--") and value:
                yield [*command["argv"][1:], *arguments, *required, f"{spelling}={value[0]}", *value[1:]]


@pytest.mark.parametrize("name", MANIFEST["commands"])
def test_a_call_built_from_the_manifest_alone_is_accepted(name):
    env = Environment(os.environ)
    for words in calls(MANIFEST["commands"][name]):
        if name in ("run", "show"):
            parse(words, env)
            continue
        command, rest = find(words[0], words[1:])
        values = read_words(command, rest)
        assert (values is None) == (words[-1] in HELP.spellings)
        if values is not None:
            # The handler takes exactly these.
            parameters = inspect.signature(command.handler).parameters
            named = {name for name, each in parameters.items() if each.kind != each.VAR_KEYWORD} - {"env"}
            assert named == set(values) if len(named) == len(parameters) - 1 else named < set(values)


@pytest.mark.parametrize("command", COMMANDS[2:], ids=lambda command: command.dotted)
def test_typer_takes_what_the_manifest_promises(command):
    """The words go through Typer's own parser too, up to the point where the command would run."""
    by_typer = typer_command(command)
    for words in calls(MANIFEST["commands"][command.dotted]):
        if words[-1] not in HELP.spellings:
            parsed = by_typer.make_context("tokcap", words[len(command.path) :]).params
            values = read_words(command, words[len(command.path) :])
            assert {name: as_tuple(value) for name, value in parsed.items()} == values


def as_tuple(value):
    return tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("budget statsu", "budget: unknown command statsu; did you mean tokcap budget status?"),
        ("budget wibble", "budget: unknown command wibble; its commands are start, status, "),
        ("budget status --sesion x", "budget status: unknown option --sesion; did you mean --session?"),
        ("spill list --wibble", "spill list: unknown option --wibble; see tokcap spill list --help"),
        ("spill path", "spill path: HANDLE is missing: a handle, four or more characters of it, or @last"),
        ("spill path a b", "spill path: 'b' is an unexpected argument; see tokcap spill path --help"),
        ("completion bsh", "completion: unknown command bsh; did you mean tokcap completion bash?"),
        (
            "completion install bsh",
            "completion install: 'bsh' is not one of bash, zsh, fish, man; did you mean bash?",
        ),
        ("budget stat", "budget: unknown command stat; did you mean tokcap budget status?"),
        ("budget help", "budget: unknown command help; did you mean tokcap budget --help?"),
        ("hook install a -n x", "hook install: -n: 'x' is not a whole number of at least 1"),
        ("budget compacted", "budget compacted: --used is missing: tokens that the context holds now"),
        ("budget start --total 0", "budget start: --total: '0' is not a whole number of at least 1"),
        ("budget start --total", "budget start: --total needs a value: a whole number of at least 1"),
        (
            "budget start --turn-pct 2",
            "budget start: --turn-pct: '2' is not a fraction above 0",
        ),
        ("budget list --output xml", "budget list: --output: 'xml' is not one of text, json, jsonl"),
        ("hook install a --project=1", "hook install: --project takes no value"),
    ],
)
def test_a_mistake_is_told_in_the_words_of_the_house(words, problem):
    with pytest.raises(UsageError) as refused:  # noqa: PT012  # either step may refuse
        name, *arguments = words.split()
        read_words(*find(name, arguments))
    assert str(refused.value).startswith(problem)
    assert refused.value.exit_status == 2


def test_a_mistake_is_an_envelope_too_where_one_was_asked_for(inside):
    ran = inside("budget", "statsu", "-o", "json")
    assert ran.json["error"]["code"] == "USAGE"
    assert "did you mean tokcap budget status?" in ran.json["error"]["message"]


def test_commands_of_the_budget_take_the_session_as_an_argument(inside, with_store):
    inside("budget", "start", "work", "--total", "900")
    inside("budget", "record", "work", "--input", "5")
    assert inside("budget", "compacted", "work", "--used", "1", "-o", "json").json["data"]["used"] == 5
