"""The answer to one call as data: payload, failure, warnings and `meta`. A form writes it as bytes.

Every code of a warning is registered here.
"""

from __future__ import annotations

from tokcap import exits
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import TypeAlias

    from tokcap.core.cut import Finding
    from tokcap.core.payload import LongText
    from tokcap.core.request import Mode
    from tokcap.errors import TokcapError
    from tokcap.exits import Ending

    Scalar: TypeAlias = "int | str | bool | tuple[str, ...] | list[dict[str, int | str]]"

SCHEMA_VERSION = "1.0"

# How much of the end of stderr goes into `error.detail`.
DETAIL_CHARACTERS = 1000


# Every code that a `Notice` may have, and what it means. The man page tokcap-json(5) is made from this.
MEANINGS = {
    "BESIDE_TABLE": "the document has values outside the table; the message shows them",
    "BUDGET_EXHAUSTED": "the total is used up; the next run is refused",
    "BUDGET_LOW": "four fifths of the total of an agent's session are used",
    "CHARGED_LATER": "the ledger could not be used after the run; a later call charges the session",
    "COLUMNS_SHOWN": "a row is wider than a window; the message says which of its columns are shown",
    "COMMAND_STOPPED": "tokcap stopped the command: the window was full, or the call was interrupted",
    "COMPACTION_ADVISED": "the model's context window is nearly full; compact it",
    "CUT_FAILED": "no window could be cut; the beginning of the output is shown instead",
    "FIELDS_IGNORED": "--fields was ignored: the output is text",
    "FIELD_TRUNCATED": "a value is too long for any window of this limit; its pointer and size are given",
    "FIELD_UNKNOWN": "a name in --fields matches nothing; the message lists the names that exist",
    "HOOK_FAILED": "the compaction hook failed",
    "LAST_OUTPUT": "on a terminal: which stored output @last is, and how old",
    "LEDGER_UNREACHABLE": "the ledger could not be reached before the run; a later call charges the session",
    "LIMIT_TOO_SMALL": "the limit is too small for even one character",
    "NOT_CHARGED": "the session could not be charged",
    "NOT_SHARED": "the output could not be copied to the store of --store: only this host can show its rest",
    "NOT_STORED": "the output could not be stored; it is still shown",
    "OFFSET_PAST_END": "the offset is at or after the end of the output; nothing is shown",
    "OUTPUT_OPEN": "a process in the background still has the output open; what it writes later is lost",
    "PASSWORD_EXPOSED": "other users can read the file that contains the password of the ledger",
    "PATTERN_TOO_SLOW": "the pattern of --focus takes too long and was stopped; it had no effect",
    "PIPELINE": "in a shell for agents: how the stages of a pipeline ended, and where their output is",
    "REPEAT_FAILED": "the output could not be compared with what was shown before; it is shown as usual",
    "RESERVATION_LOST": "the server of the ledger has lost this reservation, and maybe other usage too",
    "SECRETS_MASKED": "--redact masked this many secrets",
    "SETTING_IGNORED": "in a shell for agents: a setting does not work and was ignored",
    "SHAPE_MISMATCH": "the output is not what --shape says; it was treated as text",
    "SPILL_TRUNCATED": "only the beginning of the output is stored",
    "STDERR_HIDDEN": "there was no room for standard error",
    "STDERR_TRUNCATED": "standard error was cut",
    "STILL_RUNNING": "the command may still run: this is what it has written so far",
    "STORE_DAMAGED": "a stored record, index or file is damaged; what is shown was checked and is right",
    "TIMED_OUT": "in text form: the command or the input was stopped by --timeout",
    "TOKENIZER_FAILED": "the tokenizer failed on this output; each byte was counted as one token",
    "TOKENIZER_SUBSTITUTED": "the model's tokenizer is not published or was not added; it counts differently",
    "TOKENS_ESTIMATED": "tokens were counted with a profile of a vocabulary that is not published",
}


class Notice(Record):
    """One warning. Its code is one of `MEANINGS` and never changes."""

    code: str
    message: str
    pointer: str | None = None
    tokens: int | None = None
    tokens_estimate: int | None = None
    # Whether it only says what was left out for lack of room: in text form the mark already says that.
    of_the_cut: bool = False


class Failure(Record):
    """The `error` of an envelope."""

    code: str
    message: str
    detail: str = ""


class Meta(Record):
    """The `meta` of an envelope. A field that does not apply is None and is left out."""

    duration_ms: int = 0
    tokenizer: str = ""
    # The beginning of the SHA-256 digest of the file that it was compiled from, if the user has added it.
    tokenizer_digest: str | None = None
    tokenizer_exact: bool | None = None
    truncated: bool | None = None
    token_limit: int | None = None
    token_offset: int | None = None
    token_count: int | None = None
    returned_tokens: int | None = None
    total_tokens: int | None = None
    total_tokens_estimate: int | None = None
    next_offset: int | None = None
    # The words after `tokcap` that show the next window, in the view that the offset counts in.
    continue_: tuple[str, ...] | None = None
    truncation_hint: str | None = None
    # What `--keep focus` found in the whole output: where, and what kind of thing.
    focus: tuple[Finding, ...] | None = None
    first_pointer: str | None = None
    next_pointer: str | None = None
    returned_count: int | None = None
    total_count: int | None = None
    handle: str | None = None
    stored_at: int | None = None
    spill_path: str | None = None
    spill_truncated: bool | None = None
    shape: str | None = None
    mode: Mode | None = None
    session: str | None = None
    budget_remaining: int | None = None
    # How the answer refers to an output that was shown before, "unchanged" or "diff"; and the handle of that.
    repeat: str | None = None
    repeat_of: str | None = None
    exit_code: int | None = None
    exit_from: str | None = None
    signal: int | None = None
    binary: bool | None = None
    schema_version: str = SCHEMA_VERSION

    def as_json(self) -> dict[str, Scalar]:
        # `continue` is a keyword of Python, so its field ends with an underscore.
        fields = {name.rstrip("_"): value for name, value in self.__dict__.items() if value is not None}
        if self.focus is not None:
            fields["focus"] = [finding.as_json() for finding in self.focus]
        return fields


class Response(Record):
    """One answer: the composed payload (None if there is none), and what is said about it."""

    status: int
    body: bytes | LongText | None
    failure: Failure | None
    notices: tuple[Notice, ...]
    meta: Meta

    @property
    def is_long(self) -> bool:
        """Whether the payload is written block by block."""
        return self.body is not None and not isinstance(self.body, bytes)

    @property
    def payload(self) -> bytes | None:
        """The payload in one piece. A long one is copied for that."""
        return None if self.body is None else bytes(self.body)


def failure_of(ending: Ending | None, stderr_tail: bytes) -> Failure | None:
    """Return how a command failed; None if it succeeded or there was no command."""
    if ending is None or ending.status == exits.OK:
        return None
    detail = last_lines(stderr_tail.decode("utf-8", "replace"))
    if ending.stopped_for == "timeout":
        return Failure("TIMEOUT", "the command timed out (--timeout)", detail)
    if ending.signal is not None:
        import signal

        name = signal.Signals(ending.signal).name if ending.signal in set(signal.Signals) else "unnamed"
        return Failure("COMMAND_KILLED", f"the command was killed by signal {ending.signal} ({name})", detail)
    return Failure("COMMAND_FAILED", f"the command exited with status {ending.status}", detail)


def last_lines(text: str, characters: int = DETAIL_CHARACTERS) -> str:
    """Return the end of a text, at most this long: whole lines if at least one fits."""
    if len(text) <= characters:
        return text
    end = text[-characters:]
    _, newline, lines = end.partition("\n")
    return lines if newline and lines.strip() else end


def refusal(error: TokcapError, tokenizer: str, duration_ms: int) -> Response:
    """Return the response to a call that was refused, or that failed before there was an answer."""
    return Response(
        status=error.exit_status,
        body=None,
        # Names from the command line may contain bytes that are not UTF-8, which JSON does not allow.
        failure=Failure(error.code, str(error).encode("utf-8", "surrogateescape").decode("utf-8", "replace")),
        notices=(),
        meta=Meta(duration_ms, tokenizer, exit_code=error.exit_status, exit_from="tokcap"),
    )
