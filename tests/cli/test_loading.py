"""A subcommand loads only its own module, and nothing slow that it does not need."""

from __future__ import annotations

import pytest

from tests.support.loading import modules_loaded_for
from tests.support.tiers import some_everyday

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
    ("count", __file__),
]


def loaded_commands(loaded):
    """The subcommands whose modules were loaded. A large one has a second module, `budget_calls`."""
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


@pytest.mark.parametrize("words", [("stats",), ("budget", "list"), ("spill", "list"), ("hook", "list")])
def test_what_people_type_loads_typer_and_no_other_subcommand(words, with_store):
    loaded = modules_loaded_for(*words, stdin=b"")
    assert "typer" in loaded
    # Typer would use both.
    assert loaded.isdisjoint({"rich", "pydantic", "matplotlib", "tiktoken"})
    assert loaded_commands(loaded) == {words[0]}


def test_the_answer_to_an_agent_loads_no_subcommand():
    loaded = modules_loaded_for("hook", "run", "claude-code", stdin=b"{}")
    assert loaded.isdisjoint(
        {"typer", "click", "rich", "pydantic", "orjson", "tiktoken", "importlib.metadata"}
    )
    assert loaded_commands(loaded) == set()
    assert not {
        name for name in loaded if name.startswith(("tokcap.doctor", "tokcap.mcp", "tokcap.pipeline"))
    }
