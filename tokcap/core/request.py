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

    token_limit: int | None = None
    token_offset: int = 0
    token_count: bool = False
    tokenizer: str = "cl100k_base"
    output: Output = "text"
    shape: Shape = "auto"
    keep: Keep = "head"
    align: Align = "record"
    sentinel: str = "[TRUNCATED]"
    exact_total: bool = False
    fields: str = ""
    mode: Mode = "raw"
    session: str = ""
    turn: str = ""
    model: str = ""
    context_window: int | None = None
    result_pct: float = 0.25
    turn_pct: float = 0.5
    floor_tokens: int = 2000
    compact_before_spill: bool = False
    compact_hook: str = ""
    account: bool = True


class Request(View):
    """One call that runs a command or reads standard input."""

    command: tuple[str, ...] = ()
    stderr: StderrMode = "separate"
    pty: bool = False
    timeout: float | None = None
    kill_after: float = 5.0
    kill_on_limit: bool = False
    spill: SpillMode = "auto"
    max_bytes: int = 256 << 20
    clean: bool = False
    redact: bool = False
    record_arguments: bool = True
    spill_days: int = 14
    spill_total: int = 2 << 30


class ShowRequest(View):
    """One call of `show`: a stored output, or a part of it."""

    handle: str = ""
    stream: Stream = "out"
    pointer: str = ""
    grep: str = ""
    context: int = 0
