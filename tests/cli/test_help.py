"""Help for people: complete, on one screen, in colours only where somebody sees them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.loading import modules_loaded_for
from tests.support.terminal import report_on_a_terminal
from tokcap.cli.catalog import SUBCOMMAND_BRIEFS, all_commands, all_groups, commands_of
from tokcap.cli.help import command_help, full_help, group_help, show_help, usage
from tokcap.core.request import SUBCOMMANDS
from tokcap.system.screen import Screen

COMMANDS = all_commands()
SUBCOMMAND_NAMES = {command.path[0] for command in COMMANDS if command.path}


def helps(screen):
    """Every help text there is."""
    yield full_help(screen)
    for command in COMMANDS[1:]:
        yield command_help(command, screen)
    for group in all_groups():
        yield group_help(group, [one for one in COMMANDS if one.path[:1] == (group.name,)], screen)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_wider_than_the_screen(columns):
    for text in helps(Screen(columns)):
        for line in text.splitlines():
            # A call to be copied stays on one line, and so do the forms of a call.
            assert len(line) <= columns or "tokcap" in line, line
    assert max(len(line) for text in helps(Screen(80)) for line in text.splitlines()) <= 80


def test_help_fits_a_screen():
    assert len(full_help(Screen(80)).splitlines()) <= 64
    assert len(full_help(Screen(120)).splitlines()) <= 64


def test_a_wide_screen_shows_the_full_words():
    clean = next(flag for flag in COMMANDS[0].flags if flag.name == "clean")
    assert clean.brief in full_help(Screen(80))
    assert clean.help in full_help(Screen(200))


def test_the_help_of_tokcap_has_a_line_for_every_subcommand():
    assert set(SUBCOMMAND_BRIEFS) == set(SUBCOMMANDS)
    assert set(SUBCOMMANDS) == SUBCOMMAND_NAMES
    text = full_help()
    for name in SUBCOMMANDS:
        assert re.search(rf"\b{name} +{re.escape(SUBCOMMAND_BRIEFS[name])}", text)


def test_show_takes_the_limit_of_the_run():
    assert "[that of the run]" in show_help()
    assert "that of the run" not in full_help()


@pytest.mark.parametrize("command", COMMANDS[1:], ids=lambda command: command.dotted)
def test_every_command_answers_to_help(command, inside):
    long, short = inside(*command.path, "--help"), inside(*command.path, "-h")
    assert (long.status, long.err) == (0, b"")
    assert long.out == short.out == command_help(command, Screen()).encode()
    words = " ".join(long.out.decode().split())
    for status, meaning in command.exit_meanings.items():
        assert f" {status} {meaning}" in words
    for example in command.examples:
        assert example.call.encode() in long.out


@pytest.mark.parametrize("group", all_groups(), ids=lambda group: group.name)
def test_a_group_lists_its_commands(group, inside):
    asked, bare = inside(group.name, "--help"), inside(group.name)
    assert (asked.status, asked.err, bare.status, bare.out) == (0, b"", 2, b"")
    assert asked.out == bare.err
    for command in commands_of(group.name):
        assert re.search(rf"^  {command.path[1]} +\S".encode(), asked.out, re.MULTILINE)


@pytest.mark.parametrize("words", [["--help"], ["show", "--help"]])
def test_help_of_what_is_used_most_waits_for_no_library(words):
    assert modules_loaded_for(*words, stdin=b"").isdisjoint({"typer", "click", "rich", "orjson", "tiktoken"})


@pytest.mark.parametrize("words", [("--help",), ("budget", "start", "--help")])
def test_colours_are_for_terminals_and_can_be_refused(words):
    coloured = report_on_a_terminal(*words, TERM="xterm", NO_COLOR="")
    assert "\x1b[1m" in coloured
    assert "\x1b[36m" in coloured
    plain = re.sub(r"\x1b\[\d*m", "", coloured)
    assert report_on_a_terminal(*words, TERM="xterm", NO_COLOR="1") == plain
    assert report_on_a_terminal(*words, TERM="dumb", NO_COLOR="") == plain


def test_the_width_of_the_terminal_is_used():
    assert report_on_a_terminal("--help", columns=130, TERM="dumb") == full_help(Screen(130))


def test_the_list_of_stored_outputs_fits_the_terminal(inside, with_store):
    inside("-n", "5", "--", "sh", "-c", "seq 3000 # " + "x" * 200)
    shown = report_on_a_terminal("spill", "list", columns=70, TERM="dumb")
    assert [len(line) for line in shown.splitlines() if "…" in line] == [70]


def test_a_call_without_anything_shows_the_forms():
    assert usage(Screen()).count("\n") == 4


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
