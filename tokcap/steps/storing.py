"""What the store records about a run."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.store import EntryRecord
from tokcap.tokens import ByteTokenizer

if TYPE_CHECKING:
    from tokcap.core.request import Request
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured


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
