"""Commands as data: the records that parsing, help, man pages, completions and manifest are made from.

A subcommand is described where it is defined, by `command`, in its module of `cli.commands`.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.kinds import Choice, Switch
from tokcap.cli.options import BY_KEY
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from tokcap.cli.kinds import Kind
    from tokcap.cli.options import Names, Option
    from tokcap.core.request import Value

    Danger: TypeAlias = Literal["safe", "writes", "destructive", "runs_commands"]
    # Takes the environment, and the arguments and options by name; returns the exit status.
    Handler: TypeAlias = Callable[..., int]

EXIT_MEANINGS = {
    exits.OK: "done",
    exits.BAD_USAGE: "bad usage: nothing was done",
    exits.BUDGET_EXHAUSTED: "the budget is exhausted: nothing was done",
    exits.TIMED_OUT: "the command timed out",
    exits.OWN_FAILURE: "tokcap itself failed",
    exits.NOT_EXECUTABLE: "the command cannot be executed",
    exits.NOT_FOUND: "the command was not found",
}
EXIT_MEANINGS_OF_A_RUN = {
    "0-255": "the command's own status, unchanged; 0 for standard input",
    f"{exits.SIGNAL_BASE}+N": "the command was killed by signal N",
}


class Flag(Record):
    """One option of one command."""

    # The letter first: `-n`, `--token-limit`.
    spellings: tuple[str, ...]
    help: str
    # Reads and checks a value.
    kind: Kind
    metavar: str = ""
    default: Value = None
    # How help shows the default; empty: help shows none.
    shown_default: str = ""
    # The flag that turns a switch off.
    negation: str = ""
    group: str = ""
    variable: str = ""
    names: Names = ""
    required: bool = False
    # Whether it may be given several times. The handler gets a tuple.
    repeatable: bool = False
    # See `Option`.
    brief: str = ""
    example: str = ""
    # The parameter of the handler, if it is not the name.
    passed_as: str = ""

    @property
    def name(self) -> str:
        """The name for programs: `token_limit`."""
        return self.spellings[-1].lstrip("-").replace("-", "_")

    @property
    def parameter(self) -> str:
        """The parameter of the handler that takes the value."""
        return self.passed_as or self.name

    @property
    def type(self) -> str:
        """One of integer, number, string, boolean, choice, size, duration."""
        return self.kind.type

    @property
    def takes_value(self) -> bool:
        return not isinstance(self.kind, Switch)

    @property
    def expected(self) -> str:
        """What a value must be, in words; empty for a switch."""
        return self.kind.expected if self.takes_value else ""

    @property
    def choices(self) -> tuple[str, ...]:
        return self.kind.words if isinstance(self.kind, Choice) else ()

    @property
    def value_name(self) -> str:
        """How the value is written: `N`, `head|tail|ends`; empty for a switch."""
        return "|".join(self.choices) if self.choices else self.metavar

    @property
    def spelled(self) -> str:
        """The flag as help and tables show it: `-n, --token-limit N`."""
        value = f" {self.value_name}" if self.takes_value else ""
        return ", ".join(self.spellings) + value


class Argument(Record):
    """One word that a command takes by its position."""

    metavar: str
    help: str
    required: bool = True
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    names: Names = ""
    # Whether options end at its first word, because the words are a command with its own options.
    is_command: bool = False
    # The parameter of the handler, if it is not the lower-case metavar.
    passed_as: str = ""

    @property
    def parameter(self) -> str:
        """The parameter of the handler that takes the word."""
        return self.passed_as or self.metavar.lower()

    @property
    def spelled(self) -> str:
        """The argument as a usage line shows it: `[NAME]`, `HANDLE...`, `[-- COMMAND [ARG]...]`."""
        word = "|".join(self.choices) or self.metavar
        if self.is_command:
            return f"-- {word} [ARG]..." if self.required else f"[-- {word} [ARG]...]"
        word += "..." if self.repeatable else ""
        return word if self.required else f"[{word}]"


class Example(Record):
    """A call, and what it does."""

    call: str
    does: str


class Command(Record):
    """One command: what it takes, what it does, and the function that does it."""

    # The words after `tokcap`; empty for `tokcap` itself.
    path: tuple[str, ...]
    # One sentence, and optional paragraphs.
    summary: str
    details: str = ""
    arguments: tuple[Argument, ...] = ()
    flags: tuple[Flag, ...] = ()
    danger: Danger = "safe"
    exit_codes: tuple[int, ...] = (exits.OK, exits.BAD_USAGE, exits.OWN_FAILURE)
    # What exit status 1 means; empty: the command has no such status.
    no: str = ""
    examples: tuple[Example, ...] = ()
    # Whether it is called in loops, or somebody waits for it: then its words are read without Typer.
    quick: bool = False
    # None: `tokcap` itself and `show`, which become a request instead.
    handler: Handler | None = None

    @property
    def name(self) -> str:
        """The command as it is typed: `tokcap budget start`."""
        return " ".join(("tokcap", *self.path))

    @property
    def sentence(self) -> str:
        """What it does, for a list with one line each."""
        return first_sentence(self.summary)

    @property
    def dotted(self) -> str:
        """The name for programs: `budget.start`."""
        return ".".join(self.path) or "run"

    @property
    def usage(self) -> str:
        words = (self.name, "[OPTIONS]", *(argument.spelled for argument in self.arguments))
        return " ".join(words)

    @property
    def exit_meanings(self) -> dict[str, str]:
        """Every exit status, and what it means."""
        if not self.path:
            own = {str(code): EXIT_MEANINGS[code] for code in self.exit_codes if code}
            return EXIT_MEANINGS_OF_A_RUN | own
        meanings = EXIT_MEANINGS | {exits.NO: self.no}
        return {str(code): meanings[code] for code in self.exit_codes}

    @property
    def output_formats(self) -> tuple[str, ...]:
        formats = [flag.choices for flag in self.flags if "-o" in flag.spellings]
        return formats[0] if formats else ("text",)


class Group(Record):
    """Commands under one name: `tokcap budget`."""

    name: str
    summary: str

    @property
    def sentence(self) -> str:
        return first_sentence(self.summary)


def first_sentence(text: str) -> str:
    """Return the first sentence without its full stop."""
    return text.partition(". ")[0].removesuffix(".")


HELP = Flag(("-h", "--help"), "show this help", Switch())


def command(
    *path: str,
    arguments: tuple[Argument, ...] = (),
    flags: tuple[Flag, ...] = (),
    examples: tuple[tuple[str, str], ...] = (),
    danger: Danger = "safe",
    no: str = "",
    quick: bool = False,
) -> Callable[[Handler], Command]:
    """Make a command of the function that does it; its docstring says what it does."""

    def described(function: Handler) -> Command:
        lines = [line.strip() for line in (function.__doc__ or "").strip().splitlines()]
        summary, _, details = "\n".join(lines).partition("\n\n")
        return Command(
            path=path,
            summary=" ".join(summary.split()),
            details=details,
            arguments=arguments,
            flags=(*flags, HELP),
            danger=danger,
            exit_codes=(exits.OK, *((exits.NO,) if no else ()), exits.BAD_USAGE, exits.OWN_FAILURE),
            no=no,
            examples=tuple(Example(*example) for example in examples),
            quick=quick,
            handler=function,
        )

    return described


def flag_of(option: Option) -> Flag:
    """Return a row of the option table as a flag of `tokcap` or `tokcap show`."""
    switch = isinstance(option.kind, Switch)
    return Flag(
        spellings=(f"-{option.short}", option.flag) if option.short else (option.flag,),
        help=option.help,
        kind=option.kind,
        metavar=option.metavar,
        default=option.default,
        shown_default=option.shown_default,
        negation=f"--no-{option.name}" if switch else "",
        group=option.group,
        variable=option.variable if option.ambient else "",
        names=option.names,
        brief=option.brief,
        example=option.example,
    )


def flag_like(key: str, help: str, shown_default: str = "") -> Flag:  # noqa: A002  # as the field is named
    """Return a flag of a subcommand that takes the same values as a row of the option table.

    If the flag is not given, its handler gets None.
    """
    option = BY_KEY[key]
    return Flag(
        spellings=(f"-{option.short}", option.flag) if option.short else (option.flag,),
        help=help,
        kind=option.kind,
        metavar=option.metavar,
        shown_default=shown_default or option.shown_default,
        names=option.names,
    )


# The option of every subcommand that can answer programs.
OUTPUT = flag_like("output", "format of the response")
