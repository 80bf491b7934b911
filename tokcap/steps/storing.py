"""What a run leaves in the store: how it is found again, and what is written down of it."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.answer import Ways
from tokcap.steps.continuation import capped_notice, readable, remark_on, way_to
from tokcap.store import EntryRecord
from tokcap.tokens import ByteTokenizer

if TYPE_CHECKING:
    from tokcap.core.request import Request
    from tokcap.forms.envelope import Meta
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.steps.recording import Keeping


def ways_to(keeping: Keeping, view: Request) -> Ways:
    """How the rest of a run's output is fetched, if it can be stored."""
    handle = keeping.handle()
    if not handle:
        return Ways()
    stored = keeping.stored_bytes()
    remarks = {stream: remark_on(stored[stream]) for stream, lost in keeping.lost_bytes().items() if lost}
    return Ways(
        out=way_to(handle, view),
        err=way_to(handle, view, "err"),
        remark=remarks.get("out", ""),
        err_remark=remarks.get("err", ""),
        handle=handle,
    )


def record_of(
    request: Request, captured: Captured | None, answered: Answer | None, duration_ms: int
) -> EntryRecord:
    """What the store writes down of a run."""
    ending = captured.ending if captured else None
    command = request.command if request.record_arguments and request.command else None
    if command and request.redact:
        from tokcap.filters.redact import redacted_words

        command = redacted_words(command)
    indexes = answered.indexes if answered else {}
    totals = {
        stream: index.total_tokens
        for stream, index in indexes.items()
        # Bytes that had to be taken for tokens are none.
        if index.checkpoints.complete and index.tokenizer != ByteTokenizer.name
    }
    return EntryRecord(
        # A shape that somebody insisted on is not what the next one finds.
        shape=answered.shape if answered and request.shape == "auto" else "auto",
        total_count=answered.total_count if answered and request.shape == "auto" else None,
        tokens={request.tokenizer: totals} if totals else {},
        token_limit=request.token_limit,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        duration_ms=duration_ms,
        command=command,
    )


def store_what_was_passed(
    request: Request, captured: Captured, keeping: Keeping, meta: Meta
) -> tuple[Meta, tuple[Notice, ...]]:
    """Store an output that is out already, because it was asked for."""
    try:
        keeping.keep(record_of(request, captured, None, meta.duration_ms), {})
    except StoreError as error:
        return meta, (Notice("NOT_STORED", f"the output was not stored: {error}"),)
    meta = meta.but(
        handle=keeping.handle(),
        spill_path=readable(keeping.path()),
        spill_truncated=True if keeping.truncated else None,
    )
    return meta, capped_notice(keeping.stored_bytes()["out"], keeping.lost_bytes()["out"], None)
