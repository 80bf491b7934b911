"""Every command and what it takes, as data: what help, man pages, completions and manifest are made from.

The wrapper and `show` are described by the grammar table; the other commands describe themselves, see
`tokcap.cli.commands`.
"""

from __future__ import annotations

from tokcap.options import BY_KEY, Choice, Switch, options_of
from tokcap.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.options import Form, Names, Option, Value

    Danger: TypeAlias = Literal["safe", "writes", "destructive", "runs_commands"]


class Flag(Record):
    """One option of one command."""

    # The letter first: `-n`, `--token-limit`.
    spellings: tuple[str, ...]
    help: str
    # integer, number, string, boolean, choice, size, duration
    type: str
    # What a value has to be, in words; empty for a switch, which takes none.
    expected: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    # What a switch is turned off by.
    negation: str = ""
    default: Value = None
    shown_default: str = ""
    group: str = ""
    variable: str = ""
    repeatable: bool = False
    names: Names = ""

    @property
    def name(self) -> str:
        """As programs call it: `token_limit`."""
        return self.spellings[-1].lstrip("-").replace("-", "_")


class Argument(Record):
    """One word that a command takes by its place."""

    metavar: str
    help: str
    required: bool = True
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    names: Names = ""


class Example(Record):
    """A call, and what it does."""

    call: str
    does: str


class Command(Record):
    """One thing that can be called."""

    # Behind `tokcap`; the wrapper has none.
    path: tuple[str, ...]
    # One sentence, and what there is to say beyond it.
    summary: str
    details: str = ""
    arguments: tuple[Argument, ...] = ()
    flags: tuple[Flag, ...] = ()
    danger: Danger = "safe"
    exit_codes: tuple[int, ...] = (0, 2, 125)
    examples: tuple[Example, ...] = ()

    @property
    def name(self) -> str:
        """`tokcap budget start`, as it is typed."""
        return " ".join(("tokcap", *self.path))

    @property
    def output_formats(self) -> tuple[str, ...]:
        forms = [flag.choices for flag in self.flags if "-o" in flag.spellings]
        return forms[0] if forms else ("text",)


class Group(Record):
    """Commands under one name: `tokcap budget`."""

    name: str
    summary: str


HELP = Flag(("-h", "--help"), "show what there is to know", "boolean")
VERSION = Flag(("-V", "--version"), "show the version", "boolean")
STRING = Flag(("-c",), "run STRING in a shell, as sh -c does", "string", "a shell command", "STRING")

WRAPPER = Command(
    path=(),
    summary="Run a command, or read standard input, and pass on no more tokens than asked.",
    arguments=(Argument("COMMAND [ARG]...", "the command, verbatim; none: standard input", required=False),),
    flags=(),
    danger="runs_commands",
    exit_codes=(0, 120, 124, 125, 126, 127),
    examples=(
        Example("tokcap -n 500 -- git log", "at most 500 tokens, whole lines, and a mark at the cut"),
        Example("tokcap --token-count -- cat notes.md", "only the number of tokens"),
        Example("tokcap -o json -n 500 -- git status", "the same in an envelope, for programs"),
    ),
)
SHOW = Command(
    path=("show",),
    summary="Read an output that tokcap has stored; the command does not run again.",
    arguments=(
        Argument(
            "HANDLE", "what the mark names, four or more of its first digits, or @last", names="handles"
        ),
    ),
    exit_codes=(0, 1, 2, 120, 125),
    examples=(
        Example("tokcap show 3f2a --token-offset 464", "the window that begins at token 464"),
        Example("tokcap show @last --grep 'error|warn'", "matching lines, with line number and token offset"),
        Example("tokcap show @last --pointer /items/3", "one value of a JSON document"),
    ),
)


def wrapper() -> Command:
    """`tokcap` itself."""
    return WRAPPER.but(flags=(*flags_of("run"), STRING, HELP, VERSION))


def show() -> Command:
    """`tokcap show`."""
    return SHOW.but(flags=(*flags_of("show"), HELP))


def flags_of(form: Form) -> tuple[Flag, ...]:
    return tuple(flag_of(option) for option in options_of(form))


def flag_of(option: Option) -> Flag:
    """A row of the grammar table."""
    switch = isinstance(option.kind, Switch)
    return Flag(
        spellings=(f"-{option.short}", option.flag) if option.short else (option.flag,),
        help=option.help,
        type=option.kind.type,
        expected="" if switch else option.kind.expected,
        metavar=option.metavar,
        choices=option.kind.words if isinstance(option.kind, Choice) else (),
        negation=f"--no-{option.name}" if switch else "",
        default=option.default,
        shown_default=option.shown_default,
        group=option.group,
        variable=option.variable if option.ambient else "",
        names=option.names,
    )


def row_of(flag: Flag) -> Option | None:
    """The row of the grammar table that a flag of some command repeats, if it does."""
    return BY_KEY.get(flag.name)
