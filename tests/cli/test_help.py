"""Help for people: complete, and on one screen."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys

import pytest

from tests.support.loading import modules_loaded_for
from tests.support.terminal import report_on_a_terminal
from tokcap.cli.catalog import RUN, all_commands
from tokcap.cli.help import command_help, help_of_run, show_help, usage
from tokcap.core.request import SUBCOMMANDS

COMMANDS = all_commands()
# `mcp` is a command itself.
GROUPS = sorted({command.path[0] for command in COMMANDS if len(command.path) > 1} - {"mcp"})


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_screen(columns):
    for text in (help_of_run(columns), *(command_help(command, columns) for command in COMMANDS[1:])):
        for line in text.splitlines():
            # A call to be copied stays on one line, and so do the forms of a call.
            assert len(line) <= columns or "tokcap" in line, line


def test_the_most_used_options_fit_on_the_smallest_screen_and_all_of_them_on_a_large_one(inside):
    first = help_of_run(80, everything=False).splitlines()
    assert len(first) < 24
    assert max(map(len, first)) <= 80
    assert "\n".join(first).encode() in inside("--help").out
    assert any("--help all" in " ".join(pair) for pair in itertools.pairwise(first))
    assert len(help_of_run(80).splitlines()) <= 64
    assert help_of_run(80).encode() == inside("--help", "all").out


def test_a_wide_screen_shows_the_full_words():
    clean = next(option for option in RUN.options if option.key == "clean")
    assert clean.brief in help_of_run(80)
    assert clean.help in help_of_run(200)


def test_the_help_of_tokcap_has_a_line_for_every_subcommand():
    assert set(SUBCOMMANDS) == {command.path[0] for command in COMMANDS if command.path}
    for name, brief in SUBCOMMANDS.items():
        assert re.search(rf"\b{name} +{re.escape(brief)}", help_of_run())


def test_show_takes_the_limit_of_the_run():
    assert "[that of the run]" in show_help()
    assert "that of the run" not in help_of_run()


@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command.name)
def test_every_command_answers_to_help(command, inside):
    long, short = inside(*command.path, "--help"), inside(*command.path, "-h")
    assert (long.status, long.err, short.out) == (0, b"", long.out)
    words = " ".join(long.out.decode().split())
    assert command.summary in words
    assert command.epilog in words
    for option in command.options:
        assert all(spelling in words for spelling in option.spellings)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(group, inside):
    asked = inside(group, "--help")
    assert (asked.status, asked.err) == (0, b"")
    for command in COMMANDS:
        if command.path[:1] == (group,) and command.path[1:]:
            assert re.search(rf"^  {command.path[1]} +\S".encode(), asked.out, re.MULTILINE)


@pytest.mark.parametrize("words", [["--help"], ["show", "--help"]])
def test_help_of_what_is_used_most_waits_for_no_library(words):
    assert modules_loaded_for(*words, stdin=b"").isdisjoint({"typer", "click", "rich", "orjson", "tiktoken"})


def test_the_list_of_stored_outputs_fits_the_terminal(inside, with_store):
    inside("-n", "5", "--", "sh", "-c", "seq 3000 # " + "x" * 200)
    shown = report_on_a_terminal("spill", "list", columns=90, TERM="dumb")
    assert [len(line) for line in shown.splitlines() if "…" in line] == [90]


def test_a_call_without_anything_shows_the_forms():
    assert usage().count("\n") == 4


@pytest.mark.parametrize(
    ("word", "meant"),
    [("budgte", "budget"), ("mani", "manifest"), ("help", "--help"), ("version", "--version")],
)
def test_a_misspelt_subcommand_is_a_command_that_is_not_there(inside, word, meant):
    ran = inside(word, "status")
    assert ran.status == 127
    assert ran.err == f"tokcap: {word}: command not found; did you mean tokcap {meant}?\n".encode()


def test_the_shell_has_a_help_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "tokcap.cli.shell_entry", "--help"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith(b"usage: tokcap-sh ")
