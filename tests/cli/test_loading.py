"""A subcommand loads only its own module, and nothing slow that it does not need."""

from __future__ import annotations

import pytest

from tests.support.loading import modules_loaded_for
from tests.support.tiers import some_everyday
from tokcap.cli.catalog import all_commands, all_groups
from tokcap.core.request import SUBCOMMANDS

# Libraries and modules of the standard library that take longer to import than Python takes to start.
SLOW = {
    *("typer", "click", "rich", "pydantic", "orjson", "tiktoken", "platformdirs", "matplotlib", "mcp"),
    *("typing", "inspect", "dataclasses", "enum", "importlib.metadata", "tomllib", "asyncio", "subprocess"),
}
OTHER_FRONT_DOORS = ("tokcap.doctor", "tokcap.hooks", "tokcap.mcp", "tokcap.api", "tokcap.pipeline")

IN_LOOPS = [
    ("budget", "check", "work"),
    ("budget", "check", "work", "-o", "json"),
    ("budget", "record", "work", "--input", "5"),
    ("budget", "status", "work"),
    ("budget", "turn", "--session", "work"),
    ("budget", "compacted", "work", "--used", "7"),
    ("spill", "path", "@last"),
    ("spill", "list"),
]


def loaded_commands(loaded):
    """The subcommands whose modules were loaded. A large one has a second module, `budget_lists`."""
    prefix = "tokcap.cli.commands."
    return {name.removeprefix(prefix).partition("_")[0] for name in loaded if name.startswith(prefix)}


def other_front_doors(loaded):
    return {name for name in loaded if name.startswith(OTHER_FRONT_DOORS)}


@pytest.mark.parametrize("words", some_everyday(map(list, IN_LOOPS), 4), ids=" ".join)
def test_what_is_called_in_loops_is_parsed_without_typer(words, inside, with_store):
    inside("budget", "start", "work", "--total", "1000")
    inside("--spill", "always", stdin=b"stored\n")
    loaded = modules_loaded_for(*words, stdin=b"")
    assert loaded.isdisjoint(SLOW | {"re", "json"})
    assert loaded_commands(loaded) == {words[0]}
    assert other_front_doors(loaded) == set()


def test_stats_loads_no_typer_and_no_other_subcommand(with_store):
    loaded = modules_loaded_for("stats", stdin=b"")
    assert loaded.isdisjoint({"typer", "click", "rich", "pydantic", "matplotlib", "importlib.metadata"})
    assert loaded_commands(loaded) == {"stats"}
    assert other_front_doors(loaded) == set()


def test_the_answer_to_an_agent_loads_no_subcommand():
    loaded = modules_loaded_for("hook", "run", "claude-code", stdin=b"{}")
    assert loaded.isdisjoint(
        {"typer", "click", "rich", "pydantic", "orjson", "tiktoken", "importlib.metadata"}
    )
    assert loaded_commands(loaded) == set()
    assert not {
        name for name in loaded if name.startswith(("tokcap.doctor", "tokcap.mcp", "tokcap.pipeline"))
    }


@pytest.mark.parametrize("name", some_everyday([name for name in SUBCOMMANDS if name != "show"], 4))
def test_help_loads_only_the_description_of_its_command(name):
    path = next(command.path for command in all_commands() if command.path[:1] == (name,))
    groups = {group.name for group in all_groups()}
    for words in {path, (name,)} if name in groups else {path}:
        loaded = modules_loaded_for(*words, "--help", stdin=b"")
        # `textwrap` needs `re`, which needs `enum`.
        assert loaded.isdisjoint(SLOW - {"enum"})
        assert loaded_commands(loaded) == {name}
        assert other_front_doors(loaded) == set()
