"""A stream of bytes in, chunks out that can be encoded apart; and the count of a whole text.

A chunk ends at a certain cut. Most have some 16 KiB; where no certain cut comes for long, the tokenizer
is asked to prove one, and where it cannot, a chunk is as long as it must be.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcap.core.tokenizer import Tokenizer

CHUNK_BYTES = 1 << 14
# The first one is smaller: many a window ends within it, and all of a chunk is counted.
FIRST_CHUNK_BYTES = 1 << 12

# A certain cut is recognised by the bytes around it, at most this many.
AROUND_A_CUT = 8

# A stretch without a certain cut is that long before a cut is sought by proof, which costs as much as
# counting it.
LONG_STRETCH = 1 << 18


def split(blocks: Iterable[bytes], tokenizer: Tokenizer) -> Iterator[bytes]:
    """Regroup blocks of any size into chunks for this tokenizer. They join to the same bytes."""
    buffer = bytearray()
    # What was searched for a cut in vain is not searched again: a stretch may be very long.
    search_from = FIRST_CHUNK_BYTES
    long_stretch = LONG_STRETCH
    for block in blocks:
        buffer += block
        begin = 0
        while search_from < len(buffer):
            cut = tokenizer.certain_cut(buffer, begin, search_from)
            if cut is None:
                search_from = max(search_from, len(buffer) - AROUND_A_CUT)
                if len(buffer) - begin > long_stretch:
                    cut = tokenizer.proven_cut(bytes(buffer[begin:]))
                    # After a failure it is tried again when there is twice as much.
                    long_stretch *= 2
                if cut is None:
                    break
                cut += begin
            yield bytes(buffer[begin:cut])
            begin = cut
            search_from = begin + CHUNK_BYTES
            long_stretch = LONG_STRETCH
        del buffer[:begin]
        search_from -= begin
    if buffer:
        yield bytes(buffer)


def count_bytes(data: bytes, tokenizer: Tokenizer) -> int:
    """Tokens of a finished text; bytes that are no UTF-8 count as their replacement text."""
    return sum(tokenizer.count(as_text(chunk)) for chunk in split([data], tokenizer))


def as_text(data: bytes) -> str:
    """What the tokenizers see of bytes."""
    return data.decode("utf-8", "replace")
