"""Build the response to a call from what the command printed or returned, and from how it ended."""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING

from tokcap.api.captured_environment import CapturedEnvironment, cap_captured
from tokcap.api.keywords import build_run_request
from tokcap.api.values import as_json, is_structure
from tokcap.core.response import DETAIL_CHARACTERS, Failure, Meta, Response, last_lines
from tokcap.errors import TokcapError, TokenizerUnavailable, UsageError
from tokcap.exits import OK
from tokcap.outputs import FORMS
from tokcap.startup.record import Record
from tokcap.tokens import count_bytes, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from tokcap.core.request import Output, Request
    from tokcap.integrations.flags import FlagValues, Framework

COMMAND_FAILED = "COMMAND_FAILED"
# The exit status of Python after an uncaught exception.
UNCAUGHT_STATUS = 1
SHORT_DETAIL_CHARACTERS, SHORT_MESSAGE_CHARACTERS = 200, 60


class Outcome(Record):
    """The exit status that the program would have without tokcap, and the reason."""

    status: int = OK
    failure: Failure | None = None


class Reply(Record):
    """The bytes for stdout, and what tokcap says on stderr. With JSON output that is in the bytes."""

    stdout_data: bytes
    words: bytes = b""


def respond(data: bytes | mmap, flags: FlagValues, tokenizer: str, outcome: Outcome, started: float) -> Reply:
    """Cap the output of a command as its flags request. `started` is the monotonic start time."""
    output = flags.output or "text"
    if not FORMS[output].has_envelope:
        captured = cap_captured(request_from(flags, tokenizer), data, CapturedEnvironment(counts=False))
        return Reply(captured.stdout_data, captured.words)
    # The limit covers the error too. If an error leaves too little room, less of it is said.
    for each in (outcome, *briefer(outcome)):
        limit = flags.token_limit
        while True:
            try:
                captured = cap_captured(request_from(flags.replace(token_limit=limit), tokenizer), data)
            except (TokenizerUnavailable, UsageError):
                # No room, or bad flags; then the call was refused for them before its command ran.
                break
            written = FORMS[output].write(with_outcome(captured.response, each, started))
            excess = (
                0 if flags.token_limit is None else count_of(written, flags, tokenizer) - flags.token_limit
            )
            if excess <= 0:
                return Reply(written)
            limit = max((limit or 0) - excess, 1)
    return Reply(refusal(output, flags.tokenizer or tokenizer, each, started))


def count_of(data: bytes, flags: FlagValues, tokenizer: str) -> int:
    return count_bytes(data, open_tokenizer(flags.tokenizer or tokenizer))


def briefer(outcome: Outcome) -> Iterator[Outcome]:
    """Yield the outcome with less and less of its error."""
    failure = outcome.failure
    if failure:
        yield outcome.replace(failure=failure.replace(detail=failure.detail[-SHORT_DETAIL_CHARACTERS:]))
        yield outcome.replace(failure=failure.replace(detail=""))
        message = failure.message[:SHORT_MESSAGE_CHARACTERS]
        yield outcome.replace(failure=failure.replace(detail="", message=message))


def request_from(flags: FlagValues, tokenizer: str) -> Request:
    """Return the flags of a call as a request. Raise `UsageError` for bad values."""
    return build_run_request(
        (),
        {
            "limit": flags.token_limit,
            "offset": flags.token_offset,
            "token_count": flags.token_count,
            "tokenizer": flags.tokenizer or tokenizer,
            "output": flags.output or "text",
            # Not needed: the same command with another offset gives the next window.
            "spill": "never",
            # The usage log is for calls of tokcap, not for those of another tool.
            "account": False,
        },
    )


def refusal(output: Output, tokenizer: str, outcome: Outcome, started: float) -> bytes:
    """Return the response to a call that was refused before its command ran."""
    if not FORMS[output].has_envelope:
        return b""
    response = Response(outcome.status, None, None, (), Meta(tokenizer=tokenizer))
    return FORMS[output].write(with_outcome(response, outcome, started))


def with_outcome(response: Response, outcome: Outcome, started: float) -> Response:
    """Return the response with the exit status and the error of the command."""
    duration_ms = round((time.monotonic() - started) * 1000)
    meta = response.meta.replace(duration_ms=duration_ms, exit_code=outcome.status, exit_from="command")
    return response.replace(status=outcome.status, failure=outcome.failure, meta=meta)


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
    short = " ".join(message.split())[:DETAIL_CHARACTERS] or "the command failed"
    return Outcome(status, Failure(code, without_surrogates(short), without_surrogates(detail)))


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON must not contain."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def printed(value: object) -> bytes:
    """Return what is shown of a return value: text as it is, structures as JSON, nothing of a number."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, str):
        text = value if value.endswith("\n") or not value else f"{value}\n"
        return text.encode("utf-8", "surrogatepass")
    return as_json(value) + b"\n" if is_structure(value) else b""
