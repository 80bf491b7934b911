"""Every command and option is in help, and in the README or the reference.

`test_man` and `test_completions` check the same for man pages and completions.
"""

from __future__ import annotations

import re

import pytest

from tests.support.program import ROOT
from tokcap.cli.catalog import all_commands
from tokcap.cli.help import command_help, full_help
from tokcap.system.screen import Screen

COMMANDS = all_commands()
README = (ROOT / "README.md").read_text()
# It has a table of all subcommands.
REFERENCE = (ROOT / "docs" / "reference.md").read_text()

every_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.dotted)


def has_word(text: str, word: str) -> bool:
    """Return whether the whole word is there: `--token` is not in `--token-limit`."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def missing_from(text: str, command) -> list[str]:
    """Return the spellings of the command's options that a text does not have."""
    return [word for flag in command.flags for word in flag.spellings if not has_word(text, word)]


@every_command
def test_help_has_every_option(command):
    for screen in (Screen(60), Screen(80), Screen(140)):
        text = command_help(command, screen) if command.path else full_help(screen)
        assert not missing_from(text, command)
        for flag in command.flags:
            assert all(has_word(text, choice) for choice in flag.choices), flag


@every_command
def test_readme_and_reference_have_every_command_and_option(command):
    if command.path and command.path != ("show",):
        # The arguments of a command follow its name, and so may the name of a command below it.
        rows = [
            line for line in REFERENCE.splitlines() if re.match(rf"\| `{' '.join(command.path)}[` ]", line)
        ]
        row = min(rows, key=lambda row: len(row.partition("` |")[0]))
        assert not [flag for flag in missing_from(row, command) if flag not in ("-h", "--help")]
    else:
        assert not missing_from(README + REFERENCE, command)
