"""Settle, optionally store, and report output that was passed through unchanged."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.core.response import Meta
from tokcap.core.spool import Spool
from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps import usage_notes
from tokcap.steps.answer import respond
from tokcap.steps.continuation import continuation_of
from tokcap.steps.delivery import warnings_of
from tokcap.steps.inputs import RunInput

if TYPE_CHECKING:
    from tokcap.core.response import Response
    from tokcap.steps.capture import Captured
    from tokcap.steps.destinations import Destinations
    from tokcap.steps.opening import Call


def report_passed_output(
    call: Call, destinations: Destinations, captured: Captured, notices: tuple[Notice, ...]
) -> Response:
    """Charge the session, store the output if asked to, and return the response without a payload."""
    out, err = destinations.out, destinations.err
    charged_tokens = None
    if call.paying:
        charged_tokens = destinations.tokens_passed(call)
        notices += call.paying.settle(charged_tokens, "run")
    meta = Meta(call.stopwatch.milliseconds, call.tokenizer.name)
    if call.recorder and call.request.spill == "always":
        try:
            ticket = call.recorder.reserve()
            call.recorder.commit(call.record_of(captured, None), {})
        except StoreError as error:
            notices += (Notice("NOT_STORED", f"the output was not stored: {error}"),)
        else:
            if ticket:
                stored = continuation_of(ticket, call.request, always=True)
                meta = meta.but(**stored.as_meta())
                notices += stored.notices(None)
    call.env.tell_after(err.tail, warnings_of(notices))
    given = RunInput(Spool(), ending=captured.ending, captured=captured, err_tail=err.tail)
    response = respond(given, None, meta, notices)
    exact = charged_tokens if call.tokenizer.stable and not captured.failure else None
    size_bytes = out.passed + err.passed
    usage_notes.note_passed(call.asked, call.tokenizer, size_bytes, response.status, call.env, exact)
    return response
