"""The grammar of the wrapper form and of `show`, stated once: this table.

Parsing, help, environment variables, config keys, man page, completions and the README's table all
come from here. A row added is an option added everywhere.
"""

from __future__ import annotations

from tokcap.cli.kinds import Choice, Duration, Fraction, LineOfText, Name, Size, Switch, WholeNumber
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import AUTO, MODES, SHAPES

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from tokcap.cli.kinds import Kind, Value

    Form: TypeAlias = Literal["run", "show"]

    # What can be listed while somebody types.
    Names: TypeAlias = Literal["", "handles", "sessions", "tokenizers", "models", "agents", "files"]

# First words that are tokcap's own. `tokcap -- show` runs a program of that name.
SUBCOMMANDS = ("show", "spill", "budget", "stats", "doctor", "hook", "manifest", "completion", "mcp")


class Option(Record):
    """One row of the grammar."""

    name: str
    kind: Kind
    default: Value
    help: str
    group: str
    metavar: str = ""
    short: str = ""
    # What the help says of the default where the value itself does not speak.
    default_text: str = ""
    # Which forms of a call take it.
    forms: tuple[Form, ...] = ("run", "show")
    # Whether a variable and the config file can set it too; not what is about one output only.
    ambient: bool = True
    # The table of the config file that its key stands in; empty: at the top.
    section: str = ""
    # What is listed for its value while somebody types.
    names: Names = ""
    # The same in a few words, for a help that fits a screen; empty: `help` is short enough.
    brief: str = ""
    # A call that shows it at its best; those that have one head the help.
    example: str = ""

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def key(self) -> str:
        """Name in `config.toml`, and of the field in `Request`."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        return f"TOKCAP_{self.key.upper()}"

    @property
    def value_name(self) -> str:
        """How the value is written in help and man page; empty for a switch."""
        if isinstance(self.kind, Choice):
            return "|".join(self.kind.words)
        return self.metavar

    @property
    def shown_default(self) -> str:
        if self.default_text:
            return self.default_text
        if isinstance(self.kind, Switch):
            return "on" if self.default else "off"
        return str(self.default)


WINDOW, FORM, COMMAND = "What is shown", "In which form", "The command"
STORE, STORED, BUDGET = "The store", "From a stored output", "The budget"

OPTIONS = (
    Option(
        name="token-limit",
        short="n",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default=None,
        default_text="none: pass everything",
        group=WINDOW,
        help="emit at most N tokens, the mark included",
        brief="at most N tokens",
        example="tokcap -n 500 -- git log",
    ),
    Option(
        name="token-offset",
        kind=WholeNumber(minimum=0),
        metavar="N",
        default=0,
        group=WINDOW,
        help="start at token N of the full output",
        brief="start at token N",
        example="tokcap show @last --token-offset 464",
    ),
    Option(
        name="token-count",
        kind=Switch(),
        default=False,
        group=WINDOW,
        help="run to the end, emit only the number of tokens",
        brief="only their number",
        example="tokcap --token-count -- cat notes.md",
    ),
    Option(
        name="keep",
        kind=Choice(family=KEEPS),
        default="head",
        group=WINDOW,
        help="which part of an oversized output survives",
    ),
    Option(
        name="align",
        kind=Choice(("record", "token")),
        default="record",
        group=WINDOW,
        help="cut between records (lines) or at any token",
        brief="cut between records, or at any token",
    ),
    Option(
        name="sentinel",
        kind=LineOfText(),
        metavar="TEXT",
        default="[TRUNCATED]",
        group=WINDOW,
        help="text of the mark; empty: no mark, windows tile arithmetically",
        brief="text of the mark; empty: none",
    ),
    Option(
        name="exact-total",
        kind=Switch(),
        default=False,
        group=WINDOW,
        help="count all of an output over 64 KiB too, instead of estimating how many tokens it has",
        brief="count all, do not estimate beyond 64 KiB",
    ),
    Option(
        name="tokenizer",
        kind=Name(expected="the name of a tokenizer"),
        metavar="NAME",
        default="cl100k_base",
        names="tokenizers",
        group=FORM,
        help="cl100k_base, o200k_base, any tiktoken encoding or model name, approx "
        "(characters / 4), or a registered plug-in",
        brief="also a model's name, or approx",
    ),
    Option(
        name="output",
        short="o",
        kind=Choice(("text", "json", "jsonl")),
        metavar="FORM",
        default="text",
        group=FORM,
        help="form of the response",
        brief="text, json or jsonl",
        example="tokcap -n 500 -o json -- git diff",
    ),
    Option(
        name="shape",
        kind=Choice((AUTO,), SHAPES),
        default="auto",
        group=FORM,
        help="what the payload is; auto: found out from the payload",
        brief="what the payload is",
    ),
    Option(
        name="fields",
        kind=LineOfText(),
        metavar="NAMES",
        default="",
        default_text="all",
        group=FORM,
        help="keep only these keys or columns, before counting: a,b.c",
        brief="only these keys or columns: a,b.c",
    ),
    Option(
        name="mode",
        kind=Choice(family=MODES),
        default="raw",
        group=FORM,
        help="how much to show: the output itself, its records as a table, what it is about, or one line",
        brief="how much to show",
    ),
    Option(
        name="stderr",
        kind=Choice(("separate", "merge", "pass", "drop")),
        default="separate",
        group=COMMAND,
        help="what becomes of the command's stderr: capped on its own descriptor, merged into "
        "stdout in order, passed on untouched and uncounted, or dropped",
        forms=("run",),
        brief="the command's stderr",
    ),
    Option(
        name="pty",
        kind=Switch(),
        default=False,
        group=COMMAND,
        forms=("run",),
        help="give the command a terminal of its own; its streams are merged",
        brief="give the command a terminal of its own",
    ),
    Option(
        name="timeout",
        kind=Duration(),
        metavar="DURATION",
        default=None,
        default_text="none",
        group=COMMAND,
        forms=("run",),
        help="end the command, and all that it has started, after this time: 90, 1.5m, 500ms; exit 124",
        brief="end the command after this time: 90, 1.5m",
    ),
    Option(
        name="kill-after",
        kind=Duration(),
        metavar="DURATION",
        default=5.0,
        default_text="5s",
        group=COMMAND,
        forms=("run",),
        help="how long they may take to end before they are killed",
        brief="then kill what has not ended",
    ),
    Option(
        name="kill-on-limit",
        kind=Switch(),
        default=False,
        group=COMMAND,
        forms=("run",),
        help="end the command once the window is full, instead of running it to its end",
        brief="end the command once the window is full",
    ),
    Option(
        name="clean",
        kind=Switch(),
        default=False,
        group=FORM,
        help="drop ANSI escapes, progress frames, trailing blanks and runs of blank lines: the output as "
        "a terminal would finally show it",
        forms=("run",),
        brief="drop ANSI escapes, progress, extra blanks",
    ),
    Option(
        name="spill",
        kind=Choice(("auto", "always", "never")),
        default="auto",
        group=STORE,
        help="store the full output; auto: when anything of it was withheld",
        forms=("run",),
        brief="store the output; auto: if cut",
    ),
    Option(
        name="max-bytes",
        kind=Size(),
        metavar="SIZE",
        default=256 << 20,
        default_text="256MiB",
        group=STORE,
        help="most bytes stored of one output",
        forms=("run",),
    ),
    Option(
        name="redact",
        kind=Switch(),
        default=False,
        group=STORE,
        help="mask what looks like a secret, in what is shown and in what is stored",
        forms=("run",),
        brief="mask what looks like a secret",
    ),
    Option(
        name="record-arguments",
        kind=Switch(),
        default=True,
        group=STORE,
        help="store the command's arguments with its output",
        forms=("run",),
        brief="store its arguments too",
    ),
    Option(
        name="spill-days",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default=14,
        group=STORE,
        help="remove stored outputs that are older",
        forms=("run",),
        brief="remove stored outputs that are older",
    ),
    Option(
        name="spill-total",
        kind=Size(),
        metavar="SIZE",
        default=2 << 30,
        default_text="2GiB",
        group=STORE,
        help="remove the oldest stored outputs when all of them are larger",
        forms=("run",),
        brief="remove the oldest beyond this size",
    ),
    Option(
        name="account",
        kind=Switch(),
        default=True,
        group=STORE,
        help="write one line on this call for tokcap stats: sizes and the program's name, no arguments",
        brief="one line on it, for tokcap stats",
    ),
    Option(
        name="session",
        kind=LineOfText(),
        metavar="NAME",
        default="",
        default_text="none",
        names="sessions",
        group=BUDGET,
        help="charge this session's budget; see tokcap budget",
        brief="charge this budget",
        example="tokcap --session review -- make test",
    ),
    Option(
        name="turn",
        kind=LineOfText(),
        metavar="ID",
        default="",
        default_text="none",
        group=BUDGET,
        help="count this result to a turn, which may take --turn-pct of the window",
        brief="count this result to a turn",
    ),
    Option(
        name="model",
        kind=LineOfText(),
        metavar="NAME",
        default="",
        default_text="none",
        names="models",
        group=BUDGET,
        help="the reader, for its window and tokenizer: gpt-4o, claude, or one of config.toml",
        brief="the reader: gpt-4o, claude, …",
    ),
    Option(
        name="context-window",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default=None,
        default_text="none",
        group=BUDGET,
        help="tokens of the reader's context; one result may take --result-pct of it",
        brief="tokens of the reader's context",
    ),
    Option(
        name="result-pct",
        kind=Fraction(),
        metavar="FRACTION",
        default=0.25,
        group=BUDGET,
        section="budget",
        help="what part of the window one result may take",
        brief="part of the window for one result",
    ),
    Option(
        name="turn-pct",
        kind=Fraction(),
        metavar="FRACTION",
        default=0.5,
        group=BUDGET,
        section="budget",
        help="what part of the window the results of one turn may take",
        brief="part of the window for one turn",
    ),
    Option(
        name="floor-tokens",
        kind=WholeNumber(minimum=0),
        metavar="N",
        default=2000,
        group=BUDGET,
        section="budget",
        help="what one result may take even of a full window",
        brief="what a result gets of a full window",
    ),
    Option(
        name="compact-before-spill",
        kind=Switch(),
        default=False,
        group=BUDGET,
        section="budget",
        help="when the window is so full that the floor decides, run --compact-hook once and reckon again",
        brief="run --compact-hook when the window is full",
    ),
    Option(
        name="compact-hook",
        kind=LineOfText(),
        metavar="COMMAND",
        default="",
        default_text="none",
        group=BUDGET,
        section="budget",
        help="shell command that compacts the reader's context, and then runs tokcap budget compacted",
        brief="shell command that compacts the context",
    ),
    Option(
        name="stream",
        kind=Choice(("out", "err")),
        default="out",
        group=STORED,
        help="which stream of the command is read",
        forms=("show",),
        ambient=False,
    ),
    Option(
        name="pointer",
        kind=LineOfText(),
        metavar="POINTER",
        default="",
        default_text="none: all of it",
        group=STORED,
        help="only the value at this JSON pointer: /items/3/body; a string comes out as text",
        forms=("show",),
        ambient=False,
        brief="only the value at this JSON pointer",
    ),
    Option(
        name="grep",
        kind=LineOfText(),
        metavar="REGEX",
        default="",
        default_text="none",
        group=STORED,
        help="only lines that match, with line number and token offset in front",
        forms=("show",),
        ambient=False,
        brief="only lines that match, with their places",
    ),
    Option(
        name="context",
        kind=WholeNumber(minimum=0),
        metavar="N",
        default=0,
        group=STORED,
        help="with --grep: also N lines before and after each match",
        forms=("show",),
        ambient=False,
        brief="with --grep: N lines around each match",
    ),
)

BY_KEY = {option.key: option for option in OPTIONS}


def options_of(form: Form) -> tuple[Option, ...]:
    """The rows that one form of a call takes."""
    return tuple(option for option in OPTIONS if form in option.forms)
