"""What the store records about a run."""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.core.tokenizer import BYTES
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.record import StoredRecord

if TYPE_CHECKING:
    from tokcap.core.request import Request
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured


def record_of(
    request: Request, captured: Captured, answered: Answer | None, duration_ms: int
) -> StoredRecord:
    """Return what is recorded about a run. The recorder adds the handle and the sizes."""
    ending = captured.ending
    command = request.command if request.record_arguments and request.command else None
    if command and request.redact:
        from tokcap.filters.redact import redacted_words

        command = redacted_words(command)
    indexes = answered.indexes if answered else {}
    totals = {
        stream: index.total_tokens
        for stream, index in indexes.items()
        # After a tokenizer failed, the index counts bytes, not tokens.
        if index.checkpoints.complete and index.tokenizer != BYTES
    }
    # A shape given by the user is not recorded: later calls detect the shape themselves.
    detected = answered if request.shape == AUTO else None
    return StoredRecord(
        shape=detected.shape if detected else AUTO,
        total_count=detected.total_count if detected else None,
        tokens={request.tokenizer: totals} if totals else {},
        token_limit=request.token_limit,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        duration_ms=duration_ms,
        command=command,
    )
