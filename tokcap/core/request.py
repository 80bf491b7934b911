"""What one call asks for: frozen records that merge flags, variables, config file and defaults.

The defaults of all options are stated here and nowhere else.
"""

from __future__ import annotations

from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from tokcap.core.response import Notice

    Output: TypeAlias = Literal["text", "json", "jsonl"]
    Shape: TypeAlias = Literal["auto", "text", "json", "jsonl", "csv", "tsv"]
    Keep: TypeAlias = Literal["head", "tail", "ends", "focus", "auto"]
    Align: TypeAlias = Literal["record", "token"]
    Mode: TypeAlias = Literal["raw", "table", "summary", "handle_only"]
    StderrMode: TypeAlias = Literal["separate", "merge", "pass", "drop"]
    Stream: TypeAlias = Literal["out", "err"]
    SpillMode: TypeAlias = Literal["auto", "always", "never"]
    Repeat: TypeAlias = Literal["full", "mark", "diff"]
    OnLedgerFailure: TypeAlias = Literal["closed", "open"]

    # The tokenizer and the model that reads: no model was named; the tokenizer is the model's own; it is
    # another one, as the caller wished; it is another one, because the model's own is not published.
    TokenizerMatch: TypeAlias = Literal["unknown", "own", "chosen", "substitute"]

    Value: TypeAlias = "int | float | bool | str | None"

# The shape of an output that is not declared, or not known yet.
AUTO: Shape = "auto"

# A limit covers both streams. One part in this many is reserved for stderr.
STDERR_SHARE = 4
# From this limit on a mark names its command: the payload gives way for it. A longer sentinel, or options in
# the command, need as many tokens more.
NAMING_LIMIT = 40

# The first words that tokcap handles itself, each with a line for its help. `tokcap -- show` runs a program
# named `show`.
SUBCOMMANDS = {
    "show": "read a stored output",
    "wait": "what a command writes now",
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


class View(Record):
    """How an output is shown."""

    token_limit: int | None = None
    # A lower limit for an answer that leaves something out; not an option.
    limit_if_cut: int | None = None
    token_offset: int = 0
    token_count: bool = False
    tokenizer: str = "cl100k_base"
    output: Output = "text"
    shape: Shape = AUTO
    keep: Keep = "head"
    focus: str = ""
    ask: str = ""
    align: Align = "record"
    sentinel: str = "[TRUNCATED]"
    exact_total: bool = False
    fields: str = ""
    mode: Mode = "raw"
    # Whether the session chose the mode because little is left; not an option.
    mode_of_session: bool = False
    session: str = ""
    store: str = ""
    ledger: str = ""
    ledger_file: str = ""
    on_ledger_failure: OnLedgerFailure = "closed"
    turn: str = ""
    model: str = ""
    # Found out from model and tokenizer; not an option.
    tokenizer_match: TokenizerMatch = "unknown"
    context_window: int | None = None
    result_pct: float = 0.25
    turn_pct: float = 0.5
    floor_tokens: int = 2000
    compact_before_spill: bool = False
    compact_hook: str = ""
    account: bool = True


class Request(View):
    """One call that runs a command, or reads standard input if there is no command."""

    command: tuple[str, ...] = ()
    # Whether the caller takes tokcap for the shell that it runs; not an option.
    as_shell: bool = False
    # The name of the output while it is running, if the caller has reserved one; not an option.
    running: str = ""
    # What is known before the call; not an option.
    notices: tuple[Notice, ...] = ()
    stderr: StderrMode = "separate"
    timeout: float | None = None
    kill_after: float = 5.0
    kill_on_limit: bool = False
    pipes: bool = True
    spill: SpillMode = "auto"
    repeat: Repeat = "full"
    max_bytes: int = 256 << 20
    clean: bool = False
    redact: bool = False
    record_arguments: bool = True
    spill_days: int = 14
    spill_total: int = 2 << 30


class ShowRequest(View):
    """One call of `show`: a stored output, or a part of it."""

    handle: str = "@last"
    stream: Stream = "out"
    pointer: str = ""
    gaps: bool = False
    grep: str = ""
    context: int = 0
    clean: bool = False


class WaitRequest(ShowRequest):
    """One call of `wait`: what a command has written since its reader looked last."""

    until: str = ""
    since: str = ""
    timeout: float | None = None
    # Under which name the place of this reader is kept; empty: that of the session, if there is one.
    reader: str = ""
    # Whether the answer is not wanted any more.
    gave_up: Callable[[], bool] | None = None


# Fields that no option sets.
OTHERS = (
    "command",
    "as_shell",
    "running",
    "notices",
    "handle",
    *("tokenizer_match", "limit_if_cut", "mode_of_session"),
)
# The default of every option by its key. The class values of a record are the defaults of its fields.
DEFAULTS: dict[str, Value] = {
    key: getattr(record, key)
    for record in (ShowRequest, Request)
    for key in record._fields
    if key not in OTHERS
}


def flag_of(key: str) -> str:
    """Return the flag that sets a field: `--token-limit` for `token_limit`."""
    return "--" + key.replace("_", "-")
