"""Split a stream of bytes into chunks that can be encoded separately, and count a whole text with them.

A chunk ends at a safe cut: encoding both sides separately gives the tokens of the whole. Most chunks have
about 16 KiB. Where there is no safe cut for long, the tokenizer searches for one by encoding; where it finds
none, the chunk gets as long as it must.
"""

from __future__ import annotations

from tokcap.core.tokenizer import WholeTokens, tokens_of
from tokcap.errors import TokenizerFailed
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tokcap.core.tokenizer import Tokenizer

CHUNK_BYTES = 1 << 14
# The first one is smaller: many windows end in it, and a chunk is always counted whole.
FIRST_CHUNK_BYTES = 1 << 12

# A safe cut is recognised by the byte before it and the byte after it.
CUT_CONTEXT_BYTES = 1

# Search for a safe cut by encoding only in a stretch of this length: it costs more than counting the stretch.
LONG_STRETCH_BYTES = 1 << 17

# The position of a token that starts inside a character.
INSIDE_A_CHARACTER = -1

# Safe cuts by the two bytes around them, as classes of `BYTE_CLASSES`: `a` a letter, `0` a digit, `n` a line
# break, `b` a blank, `t` other white space, `q` an apostrophe, `/` and `>` themselves, `-` another sign of
# ASCII, `L` a byte that begins a character other than white space, `X` any other byte.
#
# After a letter or digit, before anything else in ASCII except an apostrophe: no pre-split lets a piece run
# from a letter or digit into white space or a sign (a contraction starts at its apostrophe), and none looks
# at the text before a piece.
WORD_ENDS = ("ab", "a-", "an", "0b", "0-", "0n", "a0", "0a", "a/", "0/", "a>", "0>", "at", "0t")
# At the start of a line that begins with neither white space nor `/`: in o200k_base, signs run on over
# newlines and slashes. The GPT-2 family takes white space at the very end of a text as one piece, but not
# the same white space before a word, so the start of a line is not safe there.
LINE_STARTS = ("na", "n0", "n-", "nq", "n>", "nL")
WORDS_AND_LINES = (*WORD_ENDS, *LINE_STARTS)

# How much is searched for a cut at a time. A cut is usually much nearer.
SEARCHED_BYTES = 1 << 12


def byte_classes() -> bytes:
    """Return the class of each byte, in the letters of the cuts."""
    table = bytearray(b"-" * 0x80 + b"X" * 0x80)
    for first, last, name in ((0x41, 0x5A, "a"), (0x61, 0x7A, "a"), (0x30, 0x39, "0"), (0x09, 0x0D, "t")):
        table[first : last + 1] = name.encode() * (last + 1 - first)
    for byte, name in (("\n", "n"), (" ", "b"), ("'", "q"), ("/", "/"), (">", ">")):
        table[ord(byte)] = ord(name)
    # Not C2, E1, E2 and E3: some characters that they begin are white space.
    for first, last in ((0xC3, 0xE0), (0xE4, 0xF4)):
        table[first : last + 1] = b"L" * (last + 1 - first)
    return bytes(table)


BYTE_CLASSES = byte_classes()


class CutTokenizer(WholeTokens):
    """The base of tokenizers with safe cuts that can be seen: between two bytes of certain classes.

    They hold for invalid input too. Searching needs no patterns, which most calls would import for it.
    """

    stable = True
    cuts_anywhere = True

    def __init__(self, name: str, cuts: Sequence[str]) -> None:
        self.name = name
        self._pairs = [pair.encode() for pair in cuts]

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        for begin in range(search_from, len(data) - 1, SEARCHED_BYTES):
            classes = data[begin : begin + SEARCHED_BYTES + 1].translate(BYTE_CLASSES)
            nearest = len(classes)
            for pair in self._pairs:
                place = classes.find(pair, 0, nearest + 1)
                nearest = nearest if place < 0 else place
            if nearest < len(classes):
                return begin + nearest + 1
        return None


def split(blocks: Iterable[bytes], tokenizer: Tokenizer) -> Iterator[bytes]:
    """Regroup blocks of any size into chunks for this tokenizer. The chunks join to the same bytes."""
    return iter(Chunks(blocks, tokenizer))


class Chunks:
    """Chunks of a stream for one tokenizer."""

    def __init__(self, blocks: Iterable[bytes], tokenizer: Tokenizer) -> None:
        self._blocks = blocks
        # What encodes the last chunk.
        self.tokenizer = tokenizer

    def __iter__(self) -> Iterator[bytes]:
        tokenizer = self.tokenizer
        buffer = bytearray()
        # Never search the same bytes twice: a stretch without a cut may be very long.
        search_from = FIRST_CHUNK_BYTES
        stretch_bytes = LONG_STRETCH_BYTES
        for block in self._blocks:
            buffer += block
            begin = 0
            # The next cut that can be seen.
            seen: int | None = None
            while True:
                if seen is None and search_from < len(buffer):
                    seen = tokenizer.safe_cut(buffer, begin, search_from)
                    search_from = max(search_from, len(buffer) - CUT_CONTEXT_BYTES) if seen is None else seen
                cut = seen
                if (len(buffer) if seen is None else seen) - begin > stretch_bytes:
                    # Always the same size: a run that repeats itself then gives the same stretch again.
                    found = tokenizer.find_safe_cut(bytes(buffer[begin : begin + stretch_bytes]))
                    if found is None:
                        stretch_bytes *= 2
                        continue
                    cut = begin + found
                if cut is None:
                    break
                yield bytes(buffer[begin:cut])
                if tokenizer.continued:
                    tokenizer = self.tokenizer = tokenizer.continued
                begin = cut
                stretch_bytes = LONG_STRETCH_BYTES
                if seen is not None and seen < begin + CHUNK_BYTES:
                    seen = None
                search_from = max(search_from, begin + CHUNK_BYTES)
            del buffer[:begin]
            search_from -= begin
        if buffer:
            yield bytes(buffer)


def count_bytes(data: bytes, tokenizer: Tokenizer) -> int:
    """Count the tokens of a finished text. Invalid UTF-8 counts as its replacement text."""
    chunks = Chunks([data], tokenizer)
    units = sum(chunks.tokenizer.units(as_text(chunk)) for chunk in chunks)
    return tokens_of(units, tokenizer)


def as_text(data: bytes) -> str:
    """Return the text that tokenizers see for these bytes."""
    return data.decode("utf-8", "replace")


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def safe_count(data: bytes, tokenizer: Tokenizer) -> int:
    """Return what a text costs; in bytes, which are never fewer, if the tokenizer fails on it."""
    try:
        return count_bytes(data, tokenizer)
    except TokenizerFailed:
        from tokcap.tokens.approx import ByteTokenizer

        return count_bytes(data, ByteTokenizer())
