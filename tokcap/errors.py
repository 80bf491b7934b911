"""All errors of tokcap in one tree. The program catches them in `__main__`; library calls raise them.

    TokcapError                  INTERNAL
    ├── UsageError               USAGE
    │   ├── SessionNotStarted    USAGE
    │   └── BadNumber            USAGE
    ├── BudgetExhausted          BUDGET_EXHAUSTED
    ├── TokenizerUnavailable     TOKENIZER_UNAVAILABLE
    ├── TokenizerRefused         TOKENIZER_REFUSED
    ├── CommandNotFound          COMMAND_NOT_FOUND
    ├── CommandNotExecutable     COMMAND_NOT_EXECUTABLE
    ├── StreamError              IO_ERROR
    ├── NotFound                 NOT_FOUND
    ├── StoreError               STORE_ERROR
    │   ├── DamagedOutput        STORE_ERROR
    │   └── LedgerError          STORE_ERROR
    ├── PatternTooSlow           PATTERN_TOO_SLOW
    ├── HookRefused              HOOK_REFUSED
    ├── PackageMissing           PACKAGE_MISSING
    └── ReaderGone               (silent)

Each class has a stable `code` and its exit status. The man page tokcap-json(5) prints its
docstring. The message is one line that says what happened and what to do.
"""

from __future__ import annotations

from tokcap import exits

# Codes of a command that ran and failed. No exception is raised for these: the output is still shown.
COMMAND_FAILURES = {
    "COMMAND_FAILED": "the command ended with an exit status other than 0",
    "COMMAND_KILLED": "the command was killed by a signal",
    "TIMEOUT": "the command timed out (--timeout)",
}


# The base of all errors that a user may see.
class TokcapError(Exception):
    """Any other failure of tokcap itself."""

    code = "INTERNAL"
    exit_status = exits.OWN_FAILURE


class UsageError(TokcapError):
    """The call itself is wrong; nothing was run."""

    code = "USAGE"

    def __init__(self, message: str, *, of_a_subcommand: bool = False) -> None:
        super().__init__(message)
        if of_a_subcommand:
            self.exit_status = exits.BAD_USAGE


class SessionNotStarted(UsageError):
    """The session has not been started; the message contains the command that starts it."""


class BadNumber(UsageError, ValueError):
    """A number of tokens, or a share of a window, is out of range."""


class BudgetExhausted(TokcapError):
    """The budget of a session or a turn is used up; nothing was run."""

    code = "BUDGET_EXHAUSTED"
    exit_status = exits.BUDGET_EXHAUSTED


class TokenizerUnavailable(TokcapError):
    """The tokenizer does not exist or cannot be loaded; nothing was run."""

    code = "TOKENIZER_UNAVAILABLE"


class TokenizerRefused(TokcapError):
    """A vocabulary cannot be compiled exactly, or its name is taken; nothing was added."""

    code = "TOKENIZER_REFUSED"
    exit_status = exits.NO


class CommandNotFound(TokcapError):
    """The command does not exist."""

    code = "COMMAND_NOT_FOUND"
    exit_status = exits.NOT_FOUND


class CommandNotExecutable(TokcapError):
    """The command exists but cannot be executed."""

    code = "COMMAND_NOT_EXECUTABLE"
    exit_status = exits.NOT_EXECUTABLE


class StreamError(TokcapError):
    """Input cannot be read, output cannot be written, or the status of a command cannot be determined."""

    code = "IO_ERROR"


class NotFound(TokcapError):
    """The handle, value, line or session does not exist, or the name is ambiguous."""

    code = "NOT_FOUND"
    exit_status = exits.NO


class StoreError(TokcapError):
    """The data directory or the ledger cannot be used, or a stored output is damaged."""

    code = "STORE_ERROR"


class DamagedOutput(StoreError):
    """Bytes of a stored output are not those that were stored; they are never shown."""

    def __init__(self, output: str, damage: str) -> None:
        super().__init__(f"{output} is damaged: {damage}; run the command again, which stores it again")


class LedgerError(StoreError):
    """The ledger of sessions cannot be read or written; without it no session runs a command."""


class LedgerUnreachable(LedgerError):
    """The server of the ledger does not answer, so it is unknown what it has done."""


class PatternTooSlow(TokcapError):
    """The pattern of --grep or --focus takes too long, and was stopped; after a run, a warning."""

    code = "PATTERN_TOO_SLOW"
    exit_status = exits.BAD_USAGE


class HookRefused(TokcapError):
    """A hook cannot be installed, or not safely; no file was changed."""

    code = "HOOK_REFUSED"
    exit_status = exits.NO


class PackageMissing(TokcapError):
    """An optional package is not installed; the message contains the command that installs it."""

    code = "PACKAGE_MISSING"


class ReaderGone(TokcapError):
    """The reader of tokcap's output has closed it. Only the exit status reports this."""

    exit_status = exits.READER_GONE


class TokenizerFailed(Exception):
    """A tokenizer failed on some text. Becomes a warning: the pipeline counts bytes instead."""
