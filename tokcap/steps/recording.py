"""Storing the output of a run: its record, and the commands that fetch the rest."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.answer import Ways
from tokcap.steps.continuation import capped_notice, readable, remark_on, way_to
from tokcap.store.record import StoredRecord
from tokcap.tokens import ByteTokenizer

if TYPE_CHECKING:
    from tokcap.core.request import Request
    from tokcap.forms.envelope import Meta
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.store.base import Ticket
    from tokcap.store.recorder import Recorder


def ways_to(ticket: Ticket | None, view: Request) -> Ways:
    """Return the commands that fetch the rest of an output; none if it cannot be stored."""
    if ticket is None:
        return Ways()
    stored = ticket.stored_bytes
    remarks = {stream: remark_on(stored[stream]) for stream, lost in ticket.lost_bytes.items() if lost}
    return Ways(
        out=way_to(ticket.handle, view),
        err=way_to(ticket.handle, view, "err"),
        remark=remarks.get("out", ""),
        err_remark=remarks.get("err", ""),
        handle=ticket.handle,
    )


def record_of(
    request: Request, captured: Captured | None, answered: Answer | None, duration_ms: int
) -> StoredRecord:
    """Return what is recorded about a run. The recorder adds the handle and the sizes."""
    ending = captured.ending if captured else None
    command = request.command if request.record_arguments and request.command else None
    if command and request.redact:
        from tokcap.filters.redact import redacted_words

        command = redacted_words(command)
    indexes = answered.indexes if answered else {}
    totals = {
        stream: index.total_tokens
        for stream, index in indexes.items()
        # After a tokenizer failed, the index counts bytes, not tokens.
        if index.checkpoints.complete and index.tokenizer != ByteTokenizer.name
    }
    # A shape given by the user is not recorded: later calls detect the shape themselves.
    detected = answered if request.shape == "auto" else None
    return StoredRecord(
        shape=detected.shape if detected else "auto",
        total_count=detected.total_count if detected else None,
        tokens={request.tokenizer: totals} if totals else {},
        token_limit=request.token_limit,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        duration_ms=duration_ms,
        command=command,
    )


def store_passed_output(
    request: Request, captured: Captured, recorder: Recorder, meta: Meta
) -> tuple[Meta, tuple[Notice, ...]]:
    """Store an output that was streamed through, because `--spill always` asks for it."""
    try:
        recorder.commit(record_of(request, captured, None, meta.duration_ms), {})
    except StoreError as error:
        return meta, (Notice("NOT_STORED", f"the output was not stored: {error}"),)
    ticket = recorder.reserve()
    assert ticket
    return stored_meta(meta, ticket), capped_notice(
        ticket.stored_bytes["out"], ticket.lost_bytes["out"], None
    )


def stored_meta(meta: Meta, ticket: Ticket) -> Meta:
    """Add to the metadata where the output is stored."""
    return meta.but(
        handle=ticket.handle,
        spill_path=None if ticket.spill_path is None else readable(ticket.spill_path),
        spill_truncated=True if ticket.truncated else None,
    )
