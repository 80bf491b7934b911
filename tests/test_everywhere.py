"""Every command and option is in help, and in the README or the reference.

`test_man` and `test_completions` check the same for man pages and completions.
"""

from __future__ import annotations

import re

import pytest

from tests.support.program import ROOT
from tokcap.cli.catalog import RUN, all_commands
from tokcap.cli.help import help_of_run

COMMANDS = all_commands()
README = (ROOT / "README.md").read_text()
# It has a table of all subcommands.
REFERENCE = (ROOT / "docs" / "reference.md").read_text()

every_command = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)


def has_word(text: str, word: str) -> bool:
    """Return whether the whole word is there: `--token` is not in `--token-limit`."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None


def missing_from(text: str, command) -> list[str]:
    """Return the spellings of the command's options that a text does not have."""
    return [word for option in command.options for word in option.spellings if not has_word(text, word)]


@pytest.mark.parametrize("columns", [80, 140])
def test_help_has_every_option(columns):
    # The help of subcommands is tested in `tests/cli/test_help.py`.
    text = help_of_run(columns)
    assert not missing_from(text, RUN)
    for option in RUN.options:
        assert all(has_word(text, choice) for choice in option.choices), option


@every_command
def test_readme_and_reference_have_every_command_and_the_options_of_calls(command):
    if command.path and command.path != ("show",):
        # The options of a subcommand are in its help and its man page.
        words = [each.spelled for each in command.arguments]
        assert f"| `{' '.join((*command.path, *words))}" in REFERENCE.replace("\\|", "|")
    else:
        assert not missing_from(README + REFERENCE, command)
