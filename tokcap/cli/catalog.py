"""All commands by name, as records of `description`: for help, man pages, completion, manifest and guides.

The module of a subcommand is loaded when its commands are asked for. What Typer parses is described by what
Typer made of the functions.
"""

from __future__ import annotations

from tokcap.cli.description import Argument, Command
from tokcap.cli.kinds import Choice, Name, Switch
from tokcap.cli.options import Option, options_of
from tokcap.cli.subcommand import CALLS
from tokcap.core.request import SUBCOMMANDS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tokcap.cli.options import Names

HELP = Option("help", Switch(), "show this help", short="h", forms=(), ambient=False)
VERSION = HELP.replace(key="version", short="V", help="show the version")
STRING = Option(
    "string",
    Name(expected="a shell command"),
    "run STRING in a shell, as sh -c does",
    name_of_value="STRING",
    short="c",
    has_name=False,
    forms=(),
    ambient=False,
)

RUN = Command(
    path=(),
    summary="Run a command, or read standard input, and show no more than a number of tokens of its output.",
    arguments=(
        Argument(
            "COMMAND [ARG]...", "the command and its arguments; none: read standard input", required=False
        ),
    ),
    # An option without a spelling is only a variable and a key.
    options=(*[option for option in options_of("run") if option.spellings], STRING, HELP, VERSION),
    exit_codes=(120, 124, 125, 126, 127),
)
# What only `show` has comes first.
SHOW_OPTIONS = sorted(options_of("show"), key=lambda option: option.forms != ("show",))
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
    options=(
        *(
            option.replace(default_text="that of the run") if option.key == "token_limit" else option
            for option in SHOW_OPTIONS
        ),
        HELP,
    ),
    exit_codes=(0, 1, 2, 120, 125),
    epilog="Exit status 1: there is no such output, value or line."
    " Example: tokcap show @last --grep 'error|warn'.",
)

# What a shell completes a value with, by the name of the value.
NAMES: dict[str, Names] = {
    "HANDLE": "handles",
    "SESSION": "sessions",
    "TOKENIZER": "tokenizers",
    "MODEL": "models",
    "AGENT": "agents",
    "FILE": "files",
}


def commands_of(name: str) -> tuple[Command, ...]:
    """Return the commands of one subcommand, in the order of its help."""
    if name == "show":
        return (SHOW,)
    if name in CALLS:
        below = [path for path in CALLS if path.startswith(f"{name} ")]
        return tuple(with_help(CALLS[path]) for path in (name, *below))
    from tokcap.cli.application import command_of

    return tuple(described(command_of(name), (name,)))


def described(command: Any, path: tuple[str, ...]) -> Iterator[Command]:
    """Yield a command that Typer has made, and those below it."""
    below = getattr(command, "commands", {})
    if not below:
        yield command_like(command, path)
    for name, one in below.items():
        if " ".join((*path, name)) in CALLS:
            yield with_help(CALLS[" ".join((*path, name))])
        else:
            yield from described(one, (*path, name))


def with_help(call: Any) -> Command:
    """Return a command that the option table parses, with the option that all have."""
    command: Command = call.replace(options=(*call.options, HELP))
    return command


def command_like(command: Any, path: tuple[str, ...]) -> Command:
    """Return the description of one Typer command."""
    summary, _, details = (command.help or "").partition("\n\n")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    return Command(
        path=path,
        summary=" ".join(summary.split()),
        details=details.strip(),
        arguments=tuple(map(argument_like, arguments)),
        options=(*map(option_like, options), HELP),
        epilog=command.epilog or "",
    )


def argument_like(argument: Any) -> Argument:
    bare = argument.metavar.strip("[].")
    return Argument(
        metavar=bare,
        help=argument.help,
        required=argument.required,
        repeatable=argument.nargs == -1,
        choices=tuple(bare.split("|")) if "|" in bare else (),
        names=NAMES.get(bare, ""),
    )


def option_like(option: Any) -> Option:
    letters = [word for word in option.opts if not word.startswith("--")]
    (name,) = (word for word in option.opts if word.startswith("--"))
    metavar = option.metavar or ""
    kind: Any = Switch() if option.is_flag else Name(expected=metavar)
    return Option(
        key=name[2:].replace("-", "_"),
        short=letters[0][1:] if letters else "",
        kind=Choice(tuple(metavar.split("|"))) if "|" in metavar else kind,
        name_of_value=metavar,
        help=f"{option.help}; required" if option.required else option.help,
        forms=(),
        ambient=False,
        default_text=str(option.default) if option.default else "",
        names=NAMES.get(metavar, ""),
    )


def all_commands() -> tuple[Command, ...]:
    """Return `tokcap` itself, `show`, and all other commands, sorted by name."""
    others = [command for name in SUBCOMMANDS if name != "show" for command in commands_of(name)]
    return (RUN, SHOW, *sorted(others, key=lambda command: command.path))


def summary_of(name: str) -> str:
    """Return what a subcommand does, in one sentence: its own, or that of its group."""
    if name == "show" or name in CALLS:
        return commands_of(name)[0].summary
    from tokcap.cli.application import command_of

    return " ".join((command_of(name).help or "").partition("\n\n")[0].split())
