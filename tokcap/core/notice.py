"""Warnings: what a caller should know although the call succeeded. Every code is registered here."""

from __future__ import annotations

from tokcap.lean.record import Record

# Every code that a `Notice` may have, and what it means. The man page tokcap-json(5) is made from this.
MEANINGS = {
    "BESIDE_TABLE": "the document has values outside the table; the message shows them",
    "BUDGET_EXHAUSTED": "the total is used up; the next run is refused",
    "CHARGED_LATER": "the ledger could not be used after the run; a later call charges the session",
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
    "REPEAT_FAILED": "the output could not be compared with what was shown before; it is shown as usual",
    "RESERVATION_LOST": "the server of the ledger has lost this reservation, and maybe other usage too",
    "SECRETS_MASKED": "--redact masked this many secrets",
    "SETTING_IGNORED": "in a shell for agents: a setting does not work and was ignored",
    "SHAPE_MISMATCH": "the output is not what --shape says; it was treated as text",
    "SPILL_TRUNCATED": "only the beginning of the output is stored",
    "STDERR_HIDDEN": "there was no room for standard error",
    "STDERR_TRUNCATED": "standard error was cut",
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
