"""Build the response to a call from the captured output of the command and the way the command ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tokcap.api.captured_environment import cap_captured
from tokcap.api.keywords import build_run_request
from tokcap.core.response import Meta, Response
from tokcap.errors import TokenizerUnavailable, UsageError
from tokcap.forms import FORMS
from tokcap.lean.record import Record

if TYPE_CHECKING:
    from mmap import mmap

    from tokcap.core.request import Output, Request
    from tokcap.integrations.flags import FlagValues
    from tokcap.integrations.outcome import Outcome


class Reply(Record):
    """The bytes for stdout, and what tokcap says on stderr. With JSON output that is in the bytes."""

    stdout_data: bytes
    words: bytes = b""


def respond(data: bytes | mmap, flags: FlagValues, tokenizer: str, outcome: Outcome, started: float) -> Reply:
    """Cap the output of a command as its flags request. `started` is the monotonic start time."""
    output = flags.output or "text"
    try:
        captured = cap_captured(request_from(flags, tokenizer), data)
    except (TokenizerUnavailable, UsageError):
        # The flags are bad, and the call was refused for this before its command ran.
        return Reply(refusal(output, flags.tokenizer or tokenizer, outcome, started))
    if not FORMS[output].has_envelope:
        return Reply(captured.stdout_data, captured.words)
    return Reply(FORMS[output].write(with_outcome(captured.response, outcome, started)))


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
    meta = response.meta.but(
        duration_ms=round((time.monotonic() - started) * 1000),
        exit_code=outcome.status,
        exit_from="command",
    )
    return response.but(status=outcome.status, failure=outcome.failure, meta=meta)
