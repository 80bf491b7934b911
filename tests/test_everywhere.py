"""Every command and option, wherever somebody may look for it: help, man page, README, completions.

All of it is held against the catalogue, so a command that is registered is missed here until it is told.
"""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT
from tokcap.cli.application import app
from tokcap.cli.commands import all_commands
from tokcap.help import command_help, full_help
from tokcap.options import SUBCOMMANDS as NAMES
from tokcap.screen import Screen

COMMANDS = all_commands(app)
SUBCOMMANDS = COMMANDS[1:]
README = (ROOT / "README.md").read_text()
SCRIPTS = {"bash": "tokcap.bash", "zsh": "_tokcap", "fish": "tokcap.fish"}

every_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.dotted)


def has_word(text: str, word: str) -> bool:
    """Whether it is there, not only as a part of a longer one: `--token` is not in `--token-limit`."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def missing_from(text: str, command) -> list[str]:
    """The spellings of the command's options that a text does not have."""
    return [word for flag in command.flags for word in flag.spellings if not has_word(text, word)]


def test_the_application_has_what_the_table_calls_available():
    assert {command.path[0] for command in SUBCOMMANDS} == set(NAMES)


@every_command
def test_help_has_every_option(command):
    for screen in (Screen(60), Screen(80), Screen(140)):
        text = command_help(command, screen) if command.path else full_help(screen)
        assert not missing_from(text, command)
        for flag in command.flags:
            assert all(has_word(text, choice) for choice in flag.choices), flag


@every_command
def test_the_man_page_has_every_option(command):
    page = ROOT / "man" / f"{'-'.join(('tokcap', *command.path[:1]))}.1"
    text = page.read_text().replace("Fl ", "-")
    part = text.split(f".Ss {command.name}\n")[1].split("\n.Ss ")[0] if len(command.path) > 1 else text
    assert not missing_from(part, command)
    if command.path:
        assert f"See tokcap-{command.path[0]}(1)." in (ROOT / "man/tokcap.1").read_text()


@every_command
def test_the_readme_has_every_command_and_option(command):
    if len(command.path) > 0 and command.path != ("show",):
        (row,) = (
            line for line in README.splitlines() if re.match(rf"\| `{' '.join(command.path)}[` ]", line)
        )
        assert not [flag for flag in missing_from(row, command) if flag not in ("-h", "--help")]
    else:
        assert not missing_from(README, command)


@pytest.mark.parametrize("shell", SCRIPTS)
@every_command
def test_completions_have_every_command_and_option(command, shell):
    text = (ROOT / "completions" / SCRIPTS[shell]).read_text()
    assert all(has_word(text, word) for word in command.path)
    spellings = [word for flag in command.flags for word in flag.spellings]
    if shell == "fish":
        # Its own options say whether a name is a letter or a word.
        spelled = {
            word: f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in spellings
        }
        assert all(has_word(text, word) or has_word(text, form) for word, form in spelled.items())
    else:
        assert all(has_word(text, word) for word in spellings)
