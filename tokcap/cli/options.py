"""The option table: every option of `tokcap` and `tokcap show`, stated once.

Parsing, help, environment variables, config keys, man page, completions and the tables of the reference are
made from it. To add an option, add a row here and a field with its default to `core.request`.
"""

from __future__ import annotations

from tokcap.cli.kinds import (
    Choice,
    Duration,
    Fraction,
    LineOfText,
    Name,
    ServerUrl,
    Size,
    Switch,
    WholeNumber,
)
from tokcap.core.request import AUTO, DEFAULTS, flag_of
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import MODES, SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal, TypeAlias

    from tokcap.cli.kinds import Kind
    from tokcap.core.request import Value

    Form: TypeAlias = Literal["run", "show"]

    # What a shell can complete a value with.
    Names: TypeAlias = Literal["", "handles", "sessions", "tokenizers", "added", "models", "agents", "files"]


class Option(Record):
    """One row of the table."""

    # The key in `config.toml`, and the field in `Request`.
    key: str
    kind: Kind
    help: str
    group: str
    metavar: str = ""
    short: str = ""
    # How help shows the default if the value itself is not clear.
    default_text: str = ""
    # Which forms of a call take it.
    forms: tuple[Form, ...] = ("run", "show")
    # Whether a variable and the config file can set it too. Not if it makes sense for one output only.
    ambient: bool = True
    # The table of the config file that contains its key; empty: the top level.
    section: str = ""
    # What a shell completes its value with.
    names: Names = ""
    # A shorter `help`, so that the help of all options fits a screen; empty: `help` is short enough.
    brief: str = ""
    # A call that shows it. Options with an example come first in the help.
    example: str = ""

    @property
    def name(self) -> str:
        return self.key.replace("_", "-")

    @property
    def flag(self) -> str:
        return flag_of(self.key)

    @property
    def variable(self) -> str:
        return f"TOKCAP_{self.key.upper()}"

    def text_in(self, variables: Mapping[str, str]) -> str | None:
        """Return what its variable says; None if nothing.

        An empty variable is a value only for options that take any text.
        """
        raw = variables.get(self.variable) if self.ambient else None
        return raw if raw or isinstance(self.kind, LineOfText) else None

    @property
    def default(self) -> Value:
        return DEFAULTS[self.key]

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


WINDOW, FORMAT, COMMAND = "What is shown", "Output format", "The command"
STORE, STORED, BUDGET = "The store", "From a stored output", "The budget"

OPTIONS = (
    Option(
        key="token_limit",
        short="n",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default_text="none: show everything",
        group=WINDOW,
        help="show at most N tokens, including the mark",
        brief="at most N tokens",
        example="tokcap -n 500 -- git log",
    ),
    Option(
        key="token_offset",
        kind=WholeNumber(minimum=0),
        metavar="N",
        group=WINDOW,
        help="start at token N of the full output",
        brief="start at token N",
        example="tokcap show @last --token-offset 464",
    ),
    Option(
        key="token_count",
        kind=Switch(),
        group=WINDOW,
        help="print only the number of tokens of the full output",
        brief="only the count",
        example="tokcap --token-count -- cat notes.md",
    ),
    Option(
        key="keep",
        kind=Choice(family=KEEPS),
        group=WINDOW,
        help="which part of an output over the limit to show",
        brief="part to show if over the limit",
    ),
    Option(
        key="focus",
        kind=LineOfText(),
        metavar="REGEX",
        default_text="none",
        group=WINDOW,
        help="show lines that match first; implies --keep focus",
        brief="lines that matter to you",
        ambient=False,
    ),
    Option(
        key="align",
        kind=Choice(("record", "token")),
        group=WINDOW,
        help="cut between records (lines, rows, values) or at any token",
        brief="cut between records, or at any token",
    ),
    Option(
        key="sentinel",
        kind=LineOfText(),
        metavar="TEXT",
        group=WINDOW,
        help="text of the mark; empty: no mark, and each window has exactly the limit",
        brief="text of the mark; empty: no mark",
    ),
    Option(
        key="exact_total",
        kind=Switch(),
        group=WINDOW,
        help="count all tokens of an output over 64 KiB instead of estimating the total",
        brief="count all; no estimate over 64 KiB",
    ),
    Option(
        key="tokenizer",
        kind=Name(expected="the name of a tokenizer"),
        metavar="NAME",
        names="tokenizers",
        group=FORMAT,
        help="cl100k_base, o200k_base, any tiktoken encoding or model name, a vocabulary added by "
        "`tokcap tokenizer add`, approx (characters / 4), or a registered plug-in",
        brief="tokenizer, model name, or approx",
    ),
    Option(
        key="output",
        short="o",
        kind=Choice(family=FORMS),
        metavar="FORM",
        group=FORMAT,
        help="format of the response",
        brief="text, json or jsonl",
        example="tokcap -n 500 -o json -- git diff",
    ),
    Option(
        key="shape",
        kind=Choice((AUTO,), SHAPES),
        group=FORMAT,
        help="what kind of data the output is; auto: detect it",
        brief="kind of data; auto: detect it",
    ),
    Option(
        key="fields",
        kind=LineOfText(),
        metavar="NAMES",
        default_text="all",
        group=FORMAT,
        help="show only these keys or columns, selected before counting: a,b.c",
        brief="only these keys or columns: a,b.c",
    ),
    Option(
        key="mode",
        kind=Choice(family=MODES),
        group=FORMAT,
        help="how much to show: the output itself, its records as a table, a summary, or one line",
        brief="how much to show",
    ),
    Option(
        key="stderr",
        kind=Choice(("separate", "merge", "pass", "drop")),
        group=COMMAND,
        help="what to do with the command's stderr: cap it separately, merge it into stdout in "
        "order, pass it on unchanged and uncounted, or drop it",
        forms=("run",),
        brief="what to do with stderr",
    ),
    Option(
        key="pty",
        kind=Switch(),
        group=COMMAND,
        forms=("run",),
        help="run the command in a pseudo-terminal; its streams are merged",
        brief="run the command in a pseudo-terminal",
    ),
    Option(
        key="timeout",
        kind=Duration(),
        metavar="DURATION",
        default_text="none",
        group=COMMAND,
        forms=("run",),
        help="stop the command and its child processes after this time: 90, 1.5m, 500ms; exit 124",
        brief="stop the command after this time: 90, 1.5m",
    ),
    Option(
        key="kill_after",
        kind=Duration(),
        metavar="DURATION",
        default_text="5s",
        group=COMMAND,
        forms=("run",),
        help="time between the TERM signal and the KILL signal",
        brief="time from TERM to KILL",
    ),
    Option(
        key="kill_on_limit",
        kind=Switch(),
        group=COMMAND,
        forms=("run",),
        help="stop the command when the window is full, instead of running it to its end",
        brief="stop the command when the window is full",
    ),
    Option(
        key="clean",
        kind=Switch(),
        group=FORMAT,
        help="remove ANSI escapes, progress frames, trailing spaces and repeated blank lines: the output as "
        "a terminal finally shows it",
        brief="remove ANSI escapes, progress, extra blanks",
    ),
    Option(
        key="spill",
        kind=Choice(("auto", "always", "never")),
        group=STORE,
        help="store the full output; auto: if any of it was not shown",
        forms=("run",),
        brief="store the output; auto: if cut",
    ),
    Option(
        key="max_bytes",
        kind=Size(),
        metavar="SIZE",
        default_text="256MiB",
        group=STORE,
        help="store at most this many bytes of one output",
        brief="store at most this much of one output",
        forms=("run",),
    ),
    Option(
        key="redact",
        kind=Switch(),
        group=STORE,
        help="mask what looks like a secret, both in what is shown and in what is stored",
        forms=("run",),
        brief="mask what looks like a secret",
    ),
    Option(
        key="record_arguments",
        kind=Switch(),
        group=STORE,
        help="store the command's arguments with its output",
        forms=("run",),
        brief="store its arguments too",
    ),
    Option(
        key="spill_days",
        kind=WholeNumber(minimum=1),
        metavar="N",
        group=STORE,
        help="remove stored outputs older than N days",
        forms=("run",),
        brief="remove stored outputs older than N days",
    ),
    Option(
        key="spill_total",
        kind=Size(),
        metavar="SIZE",
        default_text="2GiB",
        group=STORE,
        help="remove the oldest stored outputs when all together exceed this size",
        forms=("run",),
        brief="remove the oldest over this total size",
    ),
    Option(
        key="store",
        kind=ServerUrl(),
        metavar="URL",
        default_text="none",
        group=STORE,
        help="where every host can read stored outputs: s3://BUCKET, gs://BUCKET, az://CONTAINER, each "
        "with or without /PREFIX, or file:///DIRECTORY; the data directory then is a cache of it",
        brief="bucket that all hosts read stored outputs from",
    ),
    Option(
        key="account",
        kind=Switch(),
        group=STORE,
        help="log this call for tokcap stats: sizes and the program's name, no arguments",
        brief="log this call for tokcap stats",
    ),
    Option(
        key="session",
        # Not an empty one: a script whose variable is empty would run uncharged.
        kind=Name("the name of a session; to use none, unset TOKCAP_SESSION"),
        metavar="NAME",
        default_text="none",
        names="sessions",
        group=BUDGET,
        help="charge the budget of this session; see tokcap budget",
        brief="charge this budget",
        example="tokcap --session review -- make test",
    ),
    Option(
        key="ledger",
        kind=ServerUrl(),
        metavar="URL",
        default_text="none",
        group=BUDGET,
        help="where sessions are kept, for many machines: redis://HOST, rediss://HOST, unix://PATH or "
        "postgresql://HOST/DB; a password is refused here, where others can see it",
        brief="server that keeps sessions, for many machines",
    ),
    Option(
        key="ledger_file",
        kind=LineOfText(),
        metavar="FILE",
        default_text="none",
        names="files",
        group=BUDGET,
        help="a file that contains the URL for --ledger, which may then contain a password",
        brief="file with the URL for --ledger",
    ),
    Option(
        key="on_ledger_failure",
        kind=Choice(("closed", "open")),
        group=BUDGET,
        help="if the server of --ledger cannot be reached before the run: refuse with exit status 125, or "
        "(open) run uncharged with a warning, and charge the session later",
        brief="refuse, or run uncharged",
        metavar="WHAT",
    ),
    Option(
        key="repeat",
        kind=Choice(("full", "mark", "diff")),
        group=BUDGET,
        forms=("run",),
        help="in a session, what to do with an output that was shown since the last compaction: show it, or "
        "answer with one line (mark); diff: also show only what differs from the command's last output",
        brief="output shown before: all, one line, changes",
    ),
    Option(
        key="turn",
        kind=LineOfText(),
        metavar="ID",
        default_text="none",
        group=BUDGET,
        help="count this result toward a turn; a turn may take --turn-pct of the context window",
        brief="count this result toward a turn",
    ),
    Option(
        key="model",
        kind=LineOfText(),
        metavar="NAME",
        default_text="none",
        names="models",
        group=BUDGET,
        help="the model that reads the output; sets context window and tokenizer: gpt-4o, claude, or a name "
        "in config.toml",
        brief="model that reads it: gpt-4o, claude, …",
    ),
    Option(
        key="context_window",
        kind=WholeNumber(minimum=1),
        metavar="N",
        default_text="none",
        group=BUDGET,
        help="size of the model's context window in tokens; one result may take --result-pct of it",
        brief="size of the model's context window",
    ),
    Option(
        key="result_pct",
        kind=Fraction(),
        metavar="FRACTION",
        group=BUDGET,
        section="budget",
        help="part of the context window that one result may take",
        brief="part of the window for one result",
    ),
    Option(
        key="turn_pct",
        kind=Fraction(),
        metavar="FRACTION",
        group=BUDGET,
        section="budget",
        help="part of the context window that the results of one turn may take together",
        brief="part of the window for one turn",
    ),
    Option(
        key="floor_tokens",
        kind=WholeNumber(minimum=0),
        metavar="N",
        group=BUDGET,
        section="budget",
        help="tokens that one result may take even if the context window is full",
        brief="tokens per result in a full window",
    ),
    Option(
        key="compact_before_spill",
        kind=Switch(),
        group=BUDGET,
        section="budget",
        help="when the context is nearly full, run --compact-hook once and retry",
        brief="when nearly full, run --compact-hook once",
    ),
    Option(
        key="compact_hook",
        kind=LineOfText(),
        metavar="COMMAND",
        default_text="none",
        group=BUDGET,
        section="budget",
        help="shell command that compacts the model's context and then runs tokcap budget compacted",
        brief="shell command that compacts the context",
    ),
    Option(
        key="stream",
        kind=Choice(("out", "err")),
        group=STORED,
        help="which stream of the command to read",
        forms=("show",),
        ambient=False,
    ),
    Option(
        key="pointer",
        kind=LineOfText(),
        metavar="POINTER",
        default_text="none: show everything",
        group=STORED,
        help="show only the value at this JSON pointer: /items/3/body; a string is shown as plain text",
        forms=("show",),
        ambient=False,
        brief="only the value at this JSON pointer",
    ),
    Option(
        key="grep",
        kind=LineOfText(),
        metavar="REGEX",
        default_text="none",
        group=STORED,
        help="show only matching lines, each after its line number and token offset",
        forms=("show",),
        ambient=False,
        brief="only matching lines, with their positions",
    ),
    Option(
        key="context",
        kind=WholeNumber(minimum=0),
        metavar="N",
        group=STORED,
        help="with --grep: also show N lines before and after each match",
        forms=("show",),
        ambient=False,
        brief="with --grep: N lines around each match",
    ),
)

BY_KEY = {option.key: option for option in OPTIONS}


def options_of(form: Form) -> tuple[Option, ...]:
    """Return the rows that one form of a call takes."""
    return tuple([option for option in OPTIONS if form in option.forms])


def options_by_flag(form: Form) -> dict[str, Option]:
    """Return the same rows by their flags, long and short."""
    rows = options_of(form)
    by_flag = {"--" + option.key.replace("_", "-"): option for option in rows}
    return by_flag | {"-" + option.short: option for option in rows if option.short}
