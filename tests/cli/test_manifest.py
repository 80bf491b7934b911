"""`tokcap manifest`: every command and option, in few tokens. And the words about mistakes in subcommands."""

from __future__ import annotations

import pytest

from tests.support.reference import recount
from tokcap.cli.catalog import HELP, all_commands
from tokcap.core.request import SUBCOMMANDS

COMMANDS = all_commands()
MOST_TOKENS = 3000


def test_the_manifest_has_every_command_and_option(inside):
    ran = inside("manifest", "-o", "json")
    data = ran.json["data"]
    assert {call.split()[0] for call in data["subcommands"]} == set(SUBCOMMANDS) - {"show"}
    for command in COMMANDS:
        if len(command.path) and command.path != ("show",):
            (call,) = (
                call
                for call in data["subcommands"]
                if call.split(" [")[0].split()[: len(command.path)] == [*command.path]
                and (len(command.path) > 1 or not call.startswith("mcp wrap"))
            )
        else:
            known = {**data["run"]["options"], **(data["show"]["options"] if command.path else {})}
            call = " ".join(known)
        for option in command.options:
            assert option == HELP or option.spelled in call
    assert data["exit_codes"]["subcommands"]["2"].startswith("bad usage")


def test_the_manifest_costs_little(inside):
    assert recount(inside("manifest").out) <= MOST_TOKENS


def test_the_answer_is_json_whatever_is_configured(inside):
    assert inside("manifest", env={"TOKCAP_OUTPUT": "text"}).json["ok"]
    assert inside("manifest", "-o", "text").out.startswith(b"tokcap ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("budget statsu", "budget: No such command 'statsu'. Did you mean 'status'"),
        ("budget", "budget: Missing command; see tokcap budget --help"),
        ("budget status --sesion x", "budget status: unknown option --sesion; did you mean --session?"),
        ("budget list --leger x", "budget list: No such option: --leger"),
        ("spill path", "spill path: Missing argument 'HANDLE'; see tokcap spill path --help"),
        ("spill path a b", "spill path: Got unexpected extra argument"),
        (
            "hook install a -n x",
            "hook install: Invalid value for '--token-limit' / '-n': 'x' is",
        ),
        ("budget compacted s", "budget compacted: --used is missing: tokens that the context holds now"),
        ("budget check a b", "budget check: 'b' is an unexpected argument; see tokcap budget check --help"),
        ("budget check --need 0", "budget check: --need: '0' is not a whole number of at least 1"),
        ("budget check --need", "budget check: --need needs a value: a whole number of at least 1"),
        ("budget start --total 0", "budget start: Invalid value for '--total': '0' is not a whole number"),
        ("budget start --total", "budget start: Option '--total' requires an argument"),
        ("budget start --turn-pct 2", "budget start: Invalid value for '--turn-pct': '2' is not a fraction"),
        (
            "budget list -o xml",
            "budget list: Invalid value for '--output' / '-o': 'xml' is not",
        ),
        ("count --tokenizer=", "count: --tokenizer: '' is not the name of a tokenizer"),
        ("mcp wrap", "mcp wrap: give either a SERVER to start, after --, or --url"),
    ],
)
def test_a_mistake_is_one_line_with_status_2(words, problem, inside):
    ran = inside(*words.split())
    assert (ran.status, ran.out, ran.err.count(b"\n")) == (2, b"", 1)
    assert ran.err.decode().startswith(f"tokcap: {problem}")


def test_a_mistake_is_an_envelope_too_where_one_was_asked_for(inside):
    ran = inside("budget", "statsu", "-o", "json")
    assert ran.json["error"]["code"] == "USAGE"
    assert "Did you mean 'status'" in ran.json["error"]["message"]


def test_commands_of_the_budget_take_the_session_as_an_argument(inside, with_store):
    inside("budget", "start", "work", "--total", "900")
    inside("budget", "record", "work", "--input", "5")
    assert inside("budget", "compacted", "work", "--used", "1", "-o", "json").json["data"]["used"] == 5
    assert inside("budget", "record", "work", "--output", "2", "-o", "json").json["data"]["used"] == 7
