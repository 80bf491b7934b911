"""All commands, by name. The module of a subcommand is loaded when its commands are asked for."""

from __future__ import annotations

from tokcap.cli.description import HELP, Argument, Command, Example, Flag, flag_of
from tokcap.cli.kinds import Name, Switch
from tokcap.cli.options import BY_KEY, options_of
from tokcap.core.request import SUBCOMMANDS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from tokcap.cli.description import Group

# One line for each subcommand: the help of `tokcap` itself does not wait for their modules to load.
SUBCOMMAND_BRIEFS = {
    "show": "read a stored output",
    "spill": "list, find, remove outputs",
    "budget": "one budget for many calls",
    "tokenizer": "add a model's vocabulary",
    "count": "count tokens of files",
    "stats": "what was shown and saved",
    "doctor": "check the installation",
    "hook": "for coding agents",
    "manifest": "all of this, as JSON",
    "completion": "for bash, zsh, fish",
    "mcp": "serve agents over MCP",
}

VERSION = Flag(("-V", "--version"), "show the version", Switch())
STRING = Flag(("-c",), "run STRING in a shell, as sh -c does", Name(expected="a shell command"), "STRING")

RUN = Command(
    path=(),
    summary="Run a command, or read standard input, and show no more than a number of tokens of its output.",
    arguments=(
        Argument(
            "COMMAND [ARG]...", "the command and its arguments; none: read standard input", required=False
        ),
    ),
    danger="runs_commands",
    exit_codes=(0, 120, 124, 125, 126, 127),
    examples=(
        Example("tokcap -n 500 -- git log", "at most 500 tokens, in whole lines, with a mark at the cut"),
        Example("tokcap --token-count -- cat notes.md", "only the number of tokens"),
        Example("tokcap -o json -n 500 -- git status", "the same as a JSON envelope, for programs"),
    ),
)
SHOW = Command(
    path=("show",),
    summary="Read an output that tokcap has stored; the command does not run again.",
    arguments=(
        Argument(
            "HANDLE",
            "the handle in the mark, four or more characters of it, or @last, @last-1, ...;"
            " HANDLE@N begins at token N",
            names="handles",
        ),
    ),
    exit_codes=(0, 1, 2, 120, 125),
    no="there is no such output, value or line",
    examples=(
        Example("tokcap show lake@464", "the window that begins at token 464"),
        Example("tokcap show @last --grep 'error|warn'", "matching lines, with line number and token offset"),
        Example("tokcap show @last --pointer /items/3", "one value of a JSON document"),
    ),
)


def run() -> Command:
    """Return `tokcap` itself, with its options."""
    flags = tuple(flag_of(option) for option in options_of("run"))
    return RUN.but(flags=(*flags, STRING, HELP, VERSION))


def show() -> Command:
    """Return `tokcap show`, with its options."""
    flags = [flag_of(option) for option in options_of("show")]
    # What only `show` has comes first.
    flags.sort(key=lambda flag: BY_KEY[flag.name].forms != ("show",))
    with_limit_of_the_run = [
        flag.but(shown_default="that of the run") if flag.name == "token_limit" else flag for flag in flags
    ]
    return SHOW.but(flags=(*with_limit_of_the_run, HELP))


def commands_of(name: str) -> tuple[Command, ...]:
    """Return the commands of one subcommand, in the order of its help."""
    if name == "show":
        return (show(),)
    found: tuple[Command, ...] = module_of(name).COMMANDS
    return found


def group_of(name: str) -> Group | None:
    """Return the group of one subcommand; None if the name is a command itself."""
    return None if name == "show" else getattr(module_of(name), "GROUP", None)


def all_commands() -> tuple[Command, ...]:
    """Return `tokcap` itself, `show`, and all other commands, sorted by name."""
    others = [command for name in SUBCOMMANDS if name != "show" for command in commands_of(name)]
    return (run(), show(), *sorted(others, key=lambda command: command.path))


def all_groups() -> tuple[Group, ...]:
    """Return the names that only lead to commands."""
    return tuple(group for name in SUBCOMMANDS if (group := group_of(name)))


def module_of(name: str) -> ModuleType:
    # `importlib` takes longer to import than this takes to read.
    return __import__(f"tokcap.cli.commands.{name}", fromlist=["COMMANDS"])
