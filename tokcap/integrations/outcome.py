"""Turn the exception that ended a command into an exit status and the error of the envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.core.response import DETAIL_CHARACTERS, Failure, last_lines
from tokcap.errors import TokcapError, UsageError
from tokcap.exits import OK
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from tokcap.integrations.framework import Framework

COMMAND_FAILED = "COMMAND_FAILED"
# The exit status of Python after an uncaught exception.
UNCAUGHT_STATUS = 1


class Outcome(Record):
    """The exit status that the program would have without tokcap, and the reason."""

    status: int = OK
    failure: Failure | None = None


def outcome_of(error: BaseException | None, framework: Framework) -> Outcome:
    """Return what the framework, or Python itself, makes of an exception that a command raised."""
    if error is None:
        return Outcome()
    if isinstance(error, framework.exit):
        return exited(error.exit_code)
    if isinstance(error, SystemExit):
        return exited(error.code)
    if isinstance(error, KeyboardInterrupt):
        return failed(framework.interrupted_status, "interrupted")
    if isinstance(error, framework.abort | EOFError):
        return failed(UNCAUGHT_STATUS, "aborted")
    if isinstance(error, framework.shown_error):
        code = UsageError.code if isinstance(error, framework.usage_error) else COMMAND_FAILED
        return failed(error.exit_code, error.format_message(), code=code)
    import traceback

    code = error.code if isinstance(error, TokcapError) else COMMAND_FAILED
    message = "".join(traceback.format_exception_only(error))
    return failed(UNCAUGHT_STATUS, message, last_lines("".join(traceback.format_exception(error))), code)


def exited(code: object) -> Outcome:
    """Return the outcome of `sys.exit(code)`, where `code` can be a status or a message."""
    if code is None:
        return Outcome()
    if not isinstance(code, int):
        return failed(UNCAUGHT_STATUS, str(code))
    status = code & 0xFF
    return failed(status, f"the command exited with status {status}") if status else Outcome()


def failed(status: int, message: str, detail: str = "", code: str = COMMAND_FAILED) -> Outcome:
    # The token limit does not cover the error, so its length is limited here.
    short_message = " ".join(message.split())[:DETAIL_CHARACTERS]
    return Outcome(
        status,
        Failure(code, without_surrogates(short_message) or "the command failed", without_surrogates(detail)),
    )


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON must not contain."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
