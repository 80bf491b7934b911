"""Decide which outputs are kept, from their ages, sizes and the time of the last use. No file is read."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tokcap.store.base import ListedOutput, Retention

DAY_SECONDS = 24 * 60 * 60
# An output that was stored or read within this time is kept in any case.
READ_SECONDS = 60 * 60


def split_by_retention(
    outputs: Iterable[ListedOutput], retention: Retention, now: float
) -> tuple[list[ListedOutput], list[ListedOutput]]:
    """Return what to keep, and what to remove: outputs that are too old, then the oldest above the total."""
    kept: list[ListedOutput] = []
    removed: list[ListedOutput] = []
    for output in sorted(outputs, key=lambda output: output.stored_at):
        expired = now - output.stored_at > retention.days * DAY_SECONDS
        (removed if expired and not in_use(output, now) else kept).append(output)
    total = sum(output.size_bytes for output in kept)
    for output in list(kept):
        if total <= retention.total_bytes:
            break
        if not in_use(output, now):
            kept.remove(output)
            removed.append(output)
            total -= output.size_bytes
    return kept, removed


def in_use(output: ListedOutput, now: float) -> bool:
    """Return whether it was stored or read recently: a reader may be paging through it."""
    return now - max(output.read_at, output.stored_at) < READ_SECONDS
