"""Payloads that are too long to be copied: they are kept outside of memory, and written block by block."""

from __future__ import annotations

from tokcap.core.scratch import LongText, Scratch
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.response import Response


def in_blocks(blocks: Iterator[bytes]) -> LongText:
    """Return blocks as one text."""
    scratch = Scratch()
    for block in blocks:
        scratch.write(block)
    return LongText(scratch.text())


def long_blocks(response: Response) -> Iterator[bytes]:
    """Yield the payload of a response."""
    if response.body is None:
        return
    if isinstance(response.body, bytes):
        yield response.body
    else:
        yield from response.body.blocks()
