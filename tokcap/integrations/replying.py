"""What was taken of a command's output, and how it ended, in; the answer that was asked for out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tokcap import pipeline
from tokcap.api.keywords import request_of
from tokcap.api.surroundings import Surroundings
from tokcap.core.response import Meta, Response
from tokcap.environment import STDOUT
from tokcap.errors import TokenizerUnavailable, UsageError
from tokcap.forms import FORMS
from tokcap.source.given import GivenBytes
from tokcap.steps.delivery import warnings_of

if TYPE_CHECKING:
    from mmap import mmap

    from tokcap.core.request import Output, Request
    from tokcap.integrations.flags import Asked
    from tokcap.integrations.outcome import Outcome


def reply(
    data: bytes | mmap, asked: Asked, tokenizer: str, outcome: Outcome, started: float
) -> tuple[bytes, tuple[str, ...]]:
    """The bytes for stdout, and the warnings that go with a text."""
    output = asked.output or "text"
    try:
        request = request_for(asked, tokenizer)
        with Surroundings() as world:
            done = pipeline.run(request, world.env, lambda _request, _env: GivenBytes(data))
            written = bytes(world.written[STDOUT])
    except (TokenizerUnavailable, UsageError):
        # It is what the call was refused for, before its command began.
        return refusal(output, asked.tokenizer or tokenizer, outcome, started), ()
    if not FORMS[output].has_envelope:
        return written, tuple(warnings_of(done.response.notices))
    return FORMS[output].write(concluded(done.response, outcome, started)), ()


def request_for(asked: Asked, tokenizer: str) -> Request:
    """What was asked for, as a call of tokcap; `UsageError` if that is none."""
    return request_of(
        (),
        {
            "limit": asked.token_limit,
            "offset": asked.token_offset,
            "token_count": asked.token_count,
            "tokenizer": asked.tokenizer or tokenizer,
            "output": asked.output or "text",
            # The same command with another offset gives the next window.
            "spill": "never",
            # It is another tool's call, and none of the user's account.
            "account": False,
        },
    )


def refusal(output: Output, tokenizer: str, outcome: Outcome, started: float) -> bytes:
    """The answer to a call that never came to its command."""
    if not FORMS[output].has_envelope:
        return b""
    response = Response(outcome.status, None, None, (), Meta(tokenizer=tokenizer))
    return FORMS[output].write(concluded(response, outcome, started))


def concluded(response: Response, outcome: Outcome, started: float) -> Response:
    """The same answer with the command's own ending in it."""
    meta = response.meta.but(
        duration_ms=round((time.monotonic() - started) * 1000),
        exit_code=outcome.status,
        exit_from="command",
    )
    return response.but(status=outcome.status, failure=outcome.failure, meta=meta)
