"""Everything tokcap refuses or fails at, as one tree. Raised anywhere, caught in `__main__`.

    TokcapError
    ├── UsageError               USAGE
    │   ├── SessionNotStarted    USAGE
    │   └── BadNumber            USAGE
    ├── BudgetExhausted          BUDGET_EXHAUSTED
    ├── TokenizerUnavailable     TOKENIZER_UNAVAILABLE
    ├── CommandNotFound          COMMAND_NOT_FOUND
    ├── CommandNotExecutable     COMMAND_NOT_EXECUTABLE
    ├── StreamError              IO_ERROR
    ├── NotFound                 NOT_FOUND
    ├── StoreError               STORE_ERROR
    │   └── LedgerError          STORE_ERROR
    ├── HookRefused              HOOK_REFUSED
    ├── ConfigExists             CONFIG_EXISTS
    ├── PackageMissing           PACKAGE_MISSING
    └── ReaderGone               (silent)

Each class carries its stable `code` and its exit status; the message is one line that says what
happened and what to do.
"""

from __future__ import annotations

from tokcap import exits


class TokcapError(Exception):
    """Base of all errors that a user may see."""

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
    """There is no such session; the message holds the line that starts it."""


class BadNumber(UsageError, ValueError):
    """No number of tokens, or no share of a window."""


class BudgetExhausted(TokcapError):
    """Nothing is left of what a session or a turn may cost; nothing was run."""

    code = "BUDGET_EXHAUSTED"
    exit_status = exits.BUDGET_EXHAUSTED


class TokenizerUnavailable(TokcapError):
    """No tokenizer of that name can be loaded here; nothing was run."""

    code = "TOKENIZER_UNAVAILABLE"


class CommandNotFound(TokcapError):
    """There is no such command."""

    code = "COMMAND_NOT_FOUND"
    exit_status = exits.NOT_FOUND

    def __init__(self, message: str, *, command: str = "") -> None:
        super().__init__(message)
        # The name that was not found.
        self.command = command


class CommandNotExecutable(TokcapError):
    """The command exists and cannot be executed."""

    code = "COMMAND_NOT_EXECUTABLE"
    exit_status = exits.NOT_EXECUTABLE


class StreamError(TokcapError):
    """Standard input cannot be read, an output cannot be written, or how a command ended cannot be learnt."""

    code = "IO_ERROR"


class NotFound(TokcapError):
    """What was asked for is not there, or more than one thing could be meant."""

    code = "NOT_FOUND"
    exit_status = exits.NO


class StoreError(TokcapError):
    """The data directory cannot be used. While a command runs this is a warning, never a failure."""

    code = "STORE_ERROR"


class LedgerError(StoreError):
    """The account of sessions cannot be read or written; without it no session runs a command."""


class HookRefused(TokcapError):
    """A hook cannot be installed, or not safely; no file was changed."""

    code = "HOOK_REFUSED"
    exit_status = exits.NO


class ConfigExists(TokcapError):
    """A config file is there, and is not written over."""

    code = "CONFIG_EXISTS"
    exit_status = exits.NO


class PackageMissing(TokcapError):
    """An optional package is not installed; the message holds the line that installs it."""

    code = "PACKAGE_MISSING"


class ReaderGone(TokcapError):
    """Whoever read tokcap's output has gone away; this is told by the exit status alone."""

    exit_status = exits.READER_GONE


class TokenizerFailed(Exception):
    """A tokenizer failed on some text. Told as a warning: the pipeline counts bytes instead."""
