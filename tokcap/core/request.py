"""What one call asks for: frozen records in which flags, environment, config file and defaults are merged."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Output: TypeAlias = Literal["text", "json", "jsonl"]
    Shape: TypeAlias = Literal["auto", "text", "json", "jsonl", "csv", "tsv"]
    Keep: TypeAlias = Literal["head", "tail", "ends"]
    Align: TypeAlias = Literal["record", "token"]
    Mode: TypeAlias = Literal["raw", "table", "summary", "handle_only"]
    StderrMode: TypeAlias = Literal["separate", "merge", "pass", "drop"]
    Stream: TypeAlias = Literal["out", "err"]
    SpillMode: TypeAlias = Literal["auto", "always", "never"]


class View(Record):
    """How an output is shown."""

    token_limit: int | None
    token_offset: int
    token_count: bool
    tokenizer: str
    output: Output
    shape: Shape
    keep: Keep
    align: Align
    sentinel: str
    exact_total: bool
    fields: str
    mode: Mode
    session: str
    turn: str
    model: str
    context_window: int | None
    result_pct: float
    turn_pct: float
    floor_tokens: int
    compact_before_spill: bool
    compact_hook: str
    account: bool


class Request(View):
    """One call that runs a command or reads standard input."""

    command: tuple[str, ...]
    stderr: StderrMode
    pty: bool
    timeout: float | None
    kill_after: float
    kill_on_limit: bool
    spill: SpillMode
    max_bytes: int
    clean: bool
    redact: bool
    record_arguments: bool
    spill_days: int
    spill_total: int


class ShowRequest(View):
    """One call of `show`: a stored output, or a part of it."""

    handle: str
    stream: Stream
    pointer: str
    grep: str
    context: int
