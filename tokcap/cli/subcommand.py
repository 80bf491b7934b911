"""Run a subcommand. Only the module of the one that is called is loaded, and each call is parsed once.

What agents and loops call is in `CALLS`, and needs no library. What people type is a Typer application.
"""

from __future__ import annotations

from tokcap.errors import ReaderGone, StreamError, TokcapError, UsageError
from tokcap.startup.record import TYPE_CHECKING, Table
from tokcap.system.shortage import shortage_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from tokcap.environment import Environment

    class Call(Protocol):
        """A subcommand that does without Typer."""

        def answer(self, words: Sequence[str], env: Environment) -> int: ...


# By the first words of the call. To add one, write its module and add a line.
CALLS: Table[Call] = Table(
    **{
        "budget status": "tokcap.cli.commands.budget_calls:STATUS",
        "budget record": "tokcap.cli.commands.budget_calls:RECORD",
        "budget check": "tokcap.cli.commands.budget_calls:CHECK",
        "budget turn": "tokcap.cli.commands.budget_calls:TURN",
        "budget compacted": "tokcap.cli.commands.budget_calls:COMPACTED",
        "budget statusline": "tokcap.cli.commands.budget_calls:STATUSLINE",
        "wait": "tokcap.cli.commands.wait:WAIT",
        "count": "tokcap.cli.commands.count:COUNT",
        "mcp": "tokcap.cli.commands.mcp:MCP",
        "mcp wrap": "tokcap.cli.commands.mcp:WRAP",
        "hook run": "tokcap.cli.hook_options:HOOK_RUN",
        "completion words": "tokcap.cli.completion:WORDS",
    }
)


def run_subcommand(name: str, words: Sequence[str], env: Environment) -> int:
    """Run one subcommand and return its exit status; every error is one line."""
    try:
        if (path := " ".join((name, *words[:1]))) in CALLS:
            return CALLS[path].answer(words[1:], env)
        if name in CALLS:
            return CALLS[name].answer(words, env)
        from tokcap.cli.application import run_application

        return run_application(name, words, env)
    except UsageError as error:
        raise UsageError(f"{called(name, words)}: {error}", of_a_subcommand=True) from None
    except BrokenPipeError:
        raise ReaderGone("the reader of standard output is gone") from None
    except OSError as error:
        if shortage_of(error):
            raise
        where = f"{error.filename}: " if error.filename else ""
        raise StreamError(f"{called(name, words)}: {where}{error.strerror or error}") from None
    except ImportError as error:
        if shortage_of(error) or (error.name or "").startswith("tokcap"):
            raise
        from tokcap.system.installation import installation

        raise TokcapError(
            f"{error.name or error} cannot be loaded; the installation is incomplete,"
            f" run: {installation().again}"
        ) from None


def called(name: str, words: Sequence[str]) -> str:
    """Return the words that name the command of a call."""
    path = " ".join((name, *words[:1]))
    if path in CALLS or name in CALLS:
        return path if path in CALLS else name
    from tokcap.cli.application import command_of

    return path if words and words[0] in getattr(command_of(name), "commands", ()) else name
