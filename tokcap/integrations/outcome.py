"""How a command of somebody's tool ended: an exception in, the exit status and the envelope's error out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.core.response import DETAIL_CHARACTERS, Failure, last_lines
from tokcap.errors import TokcapError, UsageError
from tokcap.exits import OK
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from tokcap.integrations.framework import Framework

FAILED = "COMMAND_FAILED"
# What Python ends with after an exception that nobody caught.
UNCAUGHT = 1


class Outcome(Record):
    """The status that the program would have ended with, and why."""

    status: int = OK
    failure: Failure | None = None


def outcome_of(error: BaseException | None, framework: Framework) -> Outcome:
    """What the framework, or Python itself, makes of an exception that a command let go."""
    if error is None:
        return Outcome()
    if isinstance(error, framework.exit):
        return exited(error.exit_code)
    if isinstance(error, SystemExit):
        return exited(error.code)
    if isinstance(error, KeyboardInterrupt):
        return failed(framework.interrupted_status, "interrupted")
    if isinstance(error, framework.abort | EOFError):
        return failed(UNCAUGHT, "aborted")
    if isinstance(error, framework.shown_error):
        code = UsageError.code if isinstance(error, framework.usage_error) else FAILED
        return failed(error.exit_code, error.format_message(), code=code)
    import traceback

    code = error.code if isinstance(error, TokcapError) else FAILED
    message = "".join(traceback.format_exception_only(error))
    return failed(UNCAUGHT, message, last_lines("".join(traceback.format_exception(error))), code)


def exited(code: object) -> Outcome:
    """The end by a status, or by `sys.exit("message")`."""
    if code is None:
        return Outcome()
    if not isinstance(code, int):
        return failed(UNCAUGHT, str(code))
    status = code & 0xFF
    return failed(status, f"the command exited with status {status}") if status else Outcome()


def failed(status: int, message: str, detail: str = "", code: str = FAILED) -> Outcome:
    # The limit does not cover it, so it must not be of any length.
    words = " ".join(message.split())[:DETAIL_CHARACTERS]
    return Outcome(status, Failure(code, clean(words) or "the command failed", clean(detail)))


def clean(text: str) -> str:
    """Text without lone surrogates, which JSON must not have."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
