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
    output_tokens = destinations.tokens_passed() if call.paying else None
    meta = Meta(call.stopwatch.milliseconds, call.tokenizer.name, call.tokenizer.digest or None)
    if call.recorder and call.request.spill == "always":
        try:
            ticket = call.recorder.reserve()
            call.recorder.commit(call.record_of(captured, None), {})
        except StoreError as error:
            notices += (Notice("NOT_STORED", f"the output was not stored: {error}"),)
        else:
            if ticket:
                stored = continuation_of(ticket, call.request, always=True, program=call.env.program)
                meta = meta.but(**stored.as_meta())
                notices += stored.notices(None) + call.recorder.notices
    destinations.write_words(words_about(notices, err.tail))
    if call.paying:
        uncharged = call.paying.settle(destinations.tokens_passed(), "run")
        call.env.write_words(words_about(uncharged))
        notices += uncharged
    given = RunInput(Spool(), ending=captured.ending, captured=captured, err_tail=err.tail)
    response = respond(given, None, meta, notices)
    exact = output_tokens if call.tokenizer.stable and not captured.failure else None
    size_bytes = out.passed + err.passed
    usage_notes.note_passed(call.asked, call.tokenizer, size_bytes, response.status, call.env, exact)
    return response


def words_about(notices: tuple[Notice, ...], stderr: bytes = b"") -> bytes:
    """Return all warnings in full, for stderr after what was written there. Nothing limits them here."""
    if not notices:
        return b""
    from tokcap.steps.own_words import words_within

    return words_within(notices, (), stderr, None)
