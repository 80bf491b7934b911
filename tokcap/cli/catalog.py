"""Every command and what it takes, as data: what help, man pages, completions and manifest are made from.

The wrapper and `show` are described by the grammar table; the other commands describe themselves, see
`tokcap.cli.described`.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.kinds import Choice, Switch
from tokcap.cli.options import BY_KEY, options_of
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.cli.kinds import Kind, Value
    from tokcap.cli.options import Form, Names, Option

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
    required: bool = False
    # What reads and judges a value; None: any text will do.
    kind: Kind | None = None
    # See `Option`.
    brief: str = ""
    example: str = ""

    @property
    def name(self) -> str:
        """As programs call it: `token_limit`."""
        return self.spellings[-1].lstrip("-").replace("-", "_")

    @property
    def takes_value(self) -> bool:
        return self.type != "boolean"

    @property
    def value_name(self) -> str:
        """How the value is written: `N`, `head|tail|ends`; empty for a switch."""
        return "|".join(self.choices) if self.choices else self.metavar

    @property
    def spelled(self) -> str:
        """`-n, --token-limit N`, as it stands in help and tables."""
        value = f" {self.value_name}" if self.takes_value else ""
        return ", ".join(self.spellings) + value


class Argument(Record):
    """One word that a command takes by its place."""

    metavar: str
    help: str
    required: bool = True
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    names: Names = ""

    @property
    def spelled(self) -> str:
        """`[NAME]`, `HANDLE...`, as it stands in a usage line."""
        word = "|".join(self.choices) or self.metavar
        word += "..." if self.repeatable else ""
        return word if self.required else f"[{word}]"


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
    # What status 1 means, where a command can end with it.
    no: str = ""
    examples: tuple[Example, ...] = ()

    @property
    def name(self) -> str:
        """`tokcap budget start`, as it is typed."""
        return " ".join(("tokcap", *self.path))

    @property
    def sentence(self) -> str:
        """What it does, for a list with a line for each."""
        return first_sentence(self.summary)

    @property
    def dotted(self) -> str:
        """`budget.start`, as programs call it."""
        return ".".join(self.path) or "run"

    @property
    def usage(self) -> str:
        words = (self.name, "[OPTIONS]", *(argument.spelled for argument in self.arguments))
        return " ".join(words)

    @property
    def exit_meanings(self) -> dict[str, str]:
        """Every exit status, and what it means."""
        if not self.path:
            return OF_THE_COMMAND | {str(code): MEANINGS[code] for code in self.exit_codes if code}
        meanings = MEANINGS | {exits.NO: self.no}
        return {str(code): meanings[code] for code in self.exit_codes}

    @property
    def output_formats(self) -> tuple[str, ...]:
        forms = [flag.choices for flag in self.flags if "-o" in flag.spellings]
        return forms[0] if forms else ("text",)


class Group(Record):
    """Commands under one name: `tokcap budget`."""

    name: str
    summary: str

    @property
    def sentence(self) -> str:
        """As that of a command."""
        return first_sentence(self.summary)


def first_sentence(text: str) -> str:
    """Without its full stop."""
    return text.partition(". ")[0].removesuffix(".")


MEANINGS = {
    exits.OK: "done",
    exits.BAD_USAGE: "bad usage: nothing was done",
    exits.BUDGET_EXHAUSTED: "the budget is exhausted: nothing was run",
    exits.TIMED_OUT: "the time was up",
    exits.OWN_FAILURE: "tokcap's own failure",
    exits.NOT_EXECUTABLE: "the command cannot be executed",
    exits.NOT_FOUND: "the command was not found",
}
OF_THE_COMMAND = {
    "0-255": "the command's own, unchanged, or 0 for standard input",
    f"{exits.SIGNAL_BASE}+N": "the command was killed by signal N",
}

# One line for each name of `SUBCOMMANDS`: the help of tokcap itself does not wait for them to load.
SUBCOMMAND_BRIEFS = {
    "show": "read a stored output",
    "spill": "stored outputs",
    "budget": "one budget for many calls",
    "stats": "what was shown and saved",
    "doctor": "find out what is wrong",
    "hook": "for coding agents",
    "manifest": "all of this, as JSON",
    "completion": "for bash, zsh, fish",
    "mcp": "serve agents by MCP",
}


HELP = Flag(("-h", "--help"), "show this help", "boolean")
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
    no="there is no such output, value or line",
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
    # What only `show` has comes first.
    own = sorted(flags_of("show"), key=lambda flag: BY_KEY[flag.name].forms != ("show",))
    limit_of_the_run = [
        flag.but(shown_default="that of the run") if flag.name == "token_limit" else flag for flag in own
    ]
    return SHOW.but(flags=(*limit_of_the_run, HELP))


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
        kind=option.kind,
        brief=option.brief,
        example=option.example,
    )


def row_of(flag: Flag) -> Option | None:
    """The row of the grammar table that a flag of some command repeats, if it does."""
    return BY_KEY.get(flag.name)
