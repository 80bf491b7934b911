"""Split a stream of bytes into chunks that can be encoded separately, and count a whole text with them.

A chunk ends at a safe cut. Most chunks have about 16 KiB. Where there is no safe cut for long, the tokenizer
searches for one by encoding; where it finds none, the chunk gets as long as it must.
"""

from __future__ import annotations

from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcap.core.tokenizer import Tokenizer

CHUNK_BYTES = 1 << 14
# The first one is smaller: many windows end in it, and a chunk is always counted whole.
FIRST_CHUNK_BYTES = 1 << 12

# A safe cut is recognised by at most this many bytes around it.
CUT_CONTEXT_BYTES = 8

# Search for a safe cut by encoding only in a stretch of this length: it costs as much as counting the
# stretch.
LONG_STRETCH_BYTES = 1 << 18


def split(blocks: Iterable[bytes], tokenizer: Tokenizer) -> Iterator[bytes]:
    """Regroup blocks of any size into chunks for this tokenizer. The chunks join to the same bytes."""
    buffer = bytearray()
    # Never search the same bytes twice: a stretch without a cut may be very long.
    search_from = FIRST_CHUNK_BYTES
    long_stretch_bytes = LONG_STRETCH_BYTES
    for block in blocks:
        buffer += block
        begin = 0
        while search_from < len(buffer):
            cut = tokenizer.safe_cut(buffer, begin, search_from)
            if cut is None:
                search_from = max(search_from, len(buffer) - CUT_CONTEXT_BYTES)
                if len(buffer) - begin > long_stretch_bytes:
                    cut = tokenizer.find_safe_cut(bytes(buffer[begin:]))
                    # After a failure, try again when there is twice as much.
                    long_stretch_bytes *= 2
                if cut is None:
                    break
                cut += begin
            yield bytes(buffer[begin:cut])
            begin = cut
            search_from = begin + CHUNK_BYTES
            long_stretch_bytes = LONG_STRETCH_BYTES
        del buffer[:begin]
        search_from -= begin
    if buffer:
        yield bytes(buffer)


def count_bytes(data: bytes, tokenizer: Tokenizer) -> int:
    """Count the tokens of a finished text. Invalid UTF-8 counts as its replacement text."""
    return sum(tokenizer.count(as_text(chunk)) for chunk in split([data], tokenizer))


def as_text(data: bytes) -> str:
    """Return the text that tokenizers see for these bytes."""
    return data.decode("utf-8", "replace")


def safe_count(data: bytes, tokenizer: Tokenizer) -> int:
    """Return what a text costs; in bytes, which are never fewer, if the tokenizer fails on it."""
    try:
        return count_bytes(data, tokenizer)
    except TokenizerFailed:
        from tokcap.tokens.byte_tokenizer import ByteTokenizer

        return count_bytes(data, ByteTokenizer())
