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
from tokcap.core.request import AUTO, DEFAULTS
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import MODES, SHAPES
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, TypeAlias

    from tokcap.cli.kinds import Kind
    from tokcap.core.request import Value

    Form: TypeAlias = Literal["run", "show"]

    # What a shell can complete a value with.
    Names: TypeAlias = Literal["", "handles", "sessions", "tokenizers", "models", "agents", "files"]


class Option(Record):
    """One row of the table."""

    # The key in `config.toml`, and the field in `Request`.
    key: str
    kind: Kind
    # Where there is little room, only its first part, up to a semicolon, is shown.
    help: str
    # The heading in help; empty for options of subcommands.
    group: str = ""
    # How help shows the value, if its kind does not say it.
    name_of_value: str = ""
    short: str = ""
    # How help shows the default if the value itself is not clear.
    default_text: str = ""
    # Whether it has a long spelling. `-c STRING` has none, nor what is only for the shells.
    has_name: bool = True
    # Which forms of a call take it; none: an option of subcommands.
    forms: tuple[Form, ...] = ("run", "show")
    # Whether a variable and the config file can set it too. Not if it makes sense for one output only.
    ambient: bool = True
    # The table of the config file that contains its key; empty: the top level.
    section: str = ""
    # What a shell completes its value with.
    names: Names = ""
    # A call that shows it. Options with an example come first in the help.
    example: str = ""

    @property
    def name(self) -> str:
        return self.key.replace("_", "-")

    @property
    def flag(self) -> str:
        return "--" + self.key.replace("_", "-")

    @property
    def brief(self) -> str:
        return self.help.partition("; ")[0]

    @property
    def variable(self) -> str:
        return f"TOKCAP_{self.key.upper()}"

    @property
    def spellings(self) -> tuple[str, ...]:
        """`-n` and `--token-limit`, the letter first."""
        letter = (f"-{self.short}",) if self.short else ()
        return (*letter, self.flag) if self.has_name else letter

    @property
    def negation(self) -> str:
        """The flag that turns a switch of `tokcap` or `tokcap show` off; else empty."""
        return f"--no-{self.name}" if self.forms and self.has_name and isinstance(self.kind, Switch) else ""

    @property
    def takes_value(self) -> bool:
        return not isinstance(self.kind, Switch)

    @property
    def choices(self) -> tuple[str, ...]:
        return self.kind.words if isinstance(self.kind, Choice) else ()

    @property
    def spelled(self) -> str:
        """The option as help and tables show it: `-n, --token-limit N`."""
        return ", ".join(self.spellings) + (f" {self.value_name}" if self.takes_value else "")

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
    def metavar(self) -> str:
        return self.name_of_value or self.kind.metavar

    @property
    def value_name(self) -> str:
        """How the value is written in help and man page; empty for a switch."""
        return "|".join(self.choices) or self.metavar

    @property
    def shown_default(self) -> str:
        if self.default_text or self.key not in DEFAULTS or not self.forms:
            return self.default_text
        if isinstance(self.kind, Switch):
            return "on" if self.default else "off"
        return "none" if self.default in (None, "") else str(self.default)


WINDOW, FORMAT, COMMAND = "What is shown", "Output format", "The command"
STORE, STORED, BUDGET = "The store", "From a stored output", "The budget"

# Not for reading what is stored already.
RUN: tuple[Form, ...] = ("run",)


def in_group(group: str, *options: Option, **settings: object) -> list[Option]:
    """Return options with their heading, and what they have in common."""
    return [option.replace(group=group, **settings) for option in options]


OPTIONS = (
    *in_group(
        WINDOW,
        Option(
            "token_limit",
            WholeNumber(1),
            "at most N tokens; the mark is included",
            short="n",
            default_text="none: show everything",
            example="tokcap -n 500 -- git log",
        ),
        Option(
            "token_offset",
            WholeNumber(0),
            "start at token N; tokens of the full output are counted",
            example="tokcap show @last --token-offset 464",
        ),
        Option(
            "token_count",
            Switch(),
            "only the count; print nothing but the number of tokens of the full output",
            example="tokcap --token-count -- cat notes.md",
        ),
        Option(
            "keep",
            Choice(family=KEEPS),
            "part that is shown; of an output over the limit",
            example="tokcap -n 500 --keep auto -- pytest",
        ),
        Option(
            "focus",
            LineOfText(),
            "show lines that match first; implies --keep focus",
            name_of_value="REGEX",
            ambient=False,
        ),
        Option(
            "ask",
            LineOfText(),
            "show lines that answer this first; a question in the reader's own words; implies --keep focus",
            name_of_value="TEXT",
        ),
        Option(
            "align",
            Choice(("record", "token")),
            "cut between records, or at any token; records are lines, rows or values",
        ),
        Option(
            "sentinel",
            LineOfText(),
            "text of the mark, empty: no mark; each window then has exactly the limit",
        ),
        Option(
            "exact_total",
            Switch(),
            "count all, no estimate over 64 KiB; otherwise totals of large outputs are estimates",
        ),
    ),
    *in_group(
        FORMAT,
        Option(
            "tokenizer",
            Name(expected="the name of a tokenizer"),
            "tokenizer, model name, or approx; cl100k_base, o200k_base, any tiktoken encoding, a vocabulary"
            " added by `tokcap tokenizer add`, approx (characters / 4), or a registered plug-in",
            names="tokenizers",
        ),
        Option(
            "output",
            Choice(family=FORMS),
            "format of response; jsonl: one record a line, then the envelope",
            name_of_value="FORM",
            short="o",
            example="tokcap -n 500 -o json -- git diff",
        ),
        Option("shape", Choice((AUTO,), SHAPES), "what kind of data the output is; auto: detect it"),
        Option(
            "fields",
            LineOfText(),
            "only these keys or columns: a,b.c; they are selected before counting",
            name_of_value="NAMES",
            default_text="all",
        ),
        Option(
            "mode",
            Choice(family=MODES),
            "how much to show; the output itself, its records as a table, a summary, or one line",
        ),
        Option(
            "clean",
            Switch(),
            "remove ANSI escapes, progress, extra blanks; the output is shown as a terminal finally shows it",
        ),
    ),
    *in_group(
        COMMAND,
        Option(
            "stderr",
            Choice(("separate", "merge", "pass", "drop")),
            "what to do with stderr; cap it separately, merge it into stdout in order, pass it on unchanged"
            " and uncounted, or drop it",
        ),
        Option(
            "timeout",
            Duration(),
            "stop the command after this time: 90, 1.5m; its child processes are stopped too, exit 124",
        ),
        Option("kill_after", Duration(), "time from the TERM signal to the KILL signal", default_text="5s"),
        Option(
            "pipes",
            Switch(),
            "store what the last stage of a pipeline reads; in tokcap-bash and tokcap-zsh, if that is head,"
            " tail, grep, sed, awk, wc or sort",
            has_name=False,
        ),
        Option(
            "kill_on_limit",
            Switch(),
            "stop the command when the window is full; otherwise it runs to its end",
        ),
        forms=RUN,
    ),
    *in_group(
        STORE,
        Option(
            "spill",
            Choice(("auto", "always", "never")),
            "store the full output; auto: if any of it was not shown",
        ),
        Option("max_bytes", Size(), "store at most this much of one output", default_text="256MiB"),
        Option("redact", Switch(), "mask secrets; by form and by value, in what is shown and stored"),
        Option("record_arguments", Switch(), "store the command's arguments with its output"),
        Option("spill_days", WholeNumber(1), "remove stored outputs older than N days"),
        Option(
            "spill_total",
            Size(),
            "remove the oldest over this total size; it is that of all stored outputs",
            default_text="2GiB",
        ),
        forms=RUN,
    ),
    *in_group(
        STORE,
        Option(
            "store",
            ServerUrl(),
            "bucket that all hosts read stored outputs from; s3://BUCKET, gs://BUCKET, az://CONTAINER, each"
            " with or without /PREFIX, or file:///DIRECTORY: the data directory then is a cache of it",
        ),
        Option(
            "account", Switch(), "log this call for tokcap stats; sizes and the program's name, no arguments"
        ),
    ),
    *in_group(
        BUDGET,
        Option(
            "session",
            # Not an empty one: a script whose variable is empty would run uncharged.
            Name("the name of a session; to use none, unset TOKCAP_SESSION"),
            "charge this budget; see tokcap budget",
            names="sessions",
            example="tokcap --session review -- make test",
        ),
        Option(
            "ledger",
            ServerUrl(),
            "server that keeps sessions, for many machines; redis://HOST, rediss://HOST, unix://PATH or"
            " postgresql://HOST/DB: a password is refused here, where others can see it",
        ),
        Option(
            "ledger_file",
            LineOfText(),
            "file with the URL for --ledger; the URL may then contain a password",
            name_of_value="FILE",
            names="files",
        ),
        Option(
            "on_ledger_failure",
            Choice(("closed", "open")),
            "refuse, or run uncharged; if the server of --ledger cannot be reached before the run: refuse"
            " with exit status 125, or (open) run with a warning, and charge the session later",
            name_of_value="WHAT",
        ),
        Option(
            "repeat",
            Choice(("full", "mark", "diff")),
            "output shown before: all, one line, changes; it was shown in this session since the last"
            " compaction. diff: also show only what differs from the command's last output",
            forms=RUN,
        ),
        Option(
            "turn",
            LineOfText(),
            "count this result toward a turn; a turn may take --turn-pct of the context window",
            name_of_value="ID",
        ),
        Option(
            "model",
            LineOfText(),
            "model that reads it: gpt-4o, claude; it sets context window and tokenizer, and may be a name"
            " in config.toml",
            name_of_value="NAME",
            names="models",
        ),
        Option(
            "context_window",
            WholeNumber(1),
            "size of the model's context window; in tokens. One result may take --result-pct of it",
        ),
    ),
    *in_group(
        BUDGET,
        Option("result_pct", Fraction(), "part of the context window for one result"),
        Option("turn_pct", Fraction(), "part of the context window for one turn"),
        Option("floor_tokens", WholeNumber(0), "tokens per result in a full window"),
        Option("compact_before_spill", Switch(), "when nearly full, run --compact-hook once; then retry"),
        Option(
            "compact_hook",
            LineOfText(),
            "shell command that compacts the context; it then runs tokcap budget compacted",
            name_of_value="COMMAND",
        ),
        section="budget",
    ),
    *in_group(
        STORED,
        Option("stream", Choice(("out", "err")), "which stream of the command to read"),
        Option(
            "pointer",
            LineOfText(),
            "only the value at this JSON pointer; for example /items/3/body. A string is shown as plain text",
            name_of_value="POINTER",
            default_text="none: show everything",
        ),
        Option(
            "gaps",
            Switch(),
            "list the gaps of the last focus answer; each after its line number and token offset",
        ),
        Option(
            "grep",
            LineOfText(),
            "only matching lines; each after its line number and token offset",
            name_of_value="REGEX",
        ),
        Option("context", WholeNumber(0), "with --grep: N lines before and after each match"),
        forms=("show",),
        ambient=False,
    ),
)

BY_KEY = {option.key: option for option in OPTIONS}


def options_of(form: Form) -> tuple[Option, ...]:
    """Return the rows that one form of a call takes."""
    return tuple([option for option in OPTIONS if form in option.forms])


def by_flag(rows: Iterable[Option]) -> dict[str, Option]:
    """Return options by their spellings, long and short."""
    return {spelling: option for option in rows for spelling in option.spellings}


def row_like(key: str, text: str = "") -> Option:
    """Return an option of a subcommand that takes the values of a row of the table."""
    row = BY_KEY[key]
    return row.replace(help=text or row.help, group="", default_text="", forms=(), ambient=False)


def own_option(key: str, kind: Kind, text: str, name_of_value: str = "", default: str = "") -> Option:
    """Return an option that is not in the table, for a subcommand."""
    return Option(key, kind, text, name_of_value=name_of_value, default_text=default, forms=(), ambient=False)
