"""Split a stream of bytes into chunks that can be encoded separately, and count a whole text with them.

A chunk ends at a safe cut: encoding both sides separately gives the tokens of the whole. Most chunks have
about 16 KiB. Where there is no safe cut for long, the tokenizer searches for one by encoding; where it finds
none, the chunk gets as long as it must.
"""

from __future__ import annotations

from tokcap.core.tokenizer import after_cut, tokens_of
from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from tokcap.core.tokenizer import Tokenizer

CHUNK_BYTES = 1 << 14
# The first one is smaller: many windows end in it, and a chunk is always counted whole.
FIRST_CHUNK_BYTES = 1 << 12

# A safe cut is recognised by at most this many bytes around it.
CUT_CONTEXT_BYTES = 8

# Search for a safe cut by encoding only in a stretch of this length: it costs more than counting the stretch.
LONG_STRETCH_BYTES = 1 << 17

# The position of a token that starts inside a character.
INSIDE_A_CHARACTER = -1

# Safe cuts by pre-split. Byte-pair encoding works inside the pieces of a pre-split, so a cut is
# safe where a piece ends no matter what is further left or right. The patterns look only at ASCII bytes and
# at lead bytes of UTF-8, so they hold for invalid input too.

# After an ASCII letter or digit, before any other ASCII character except an apostrophe, and between a
# letter and a digit. No pre-split lets a piece run from a letter or digit into white space or a sign (a
# contraction starts at its apostrophe), and none looks at the text before a piece.
WORD_END = rb"[A-Za-z0-9](?=[\x00-&(-/:-@\[-`{-\x7f])|[A-Za-z](?=[0-9])|[0-9](?=[A-Za-z])"

# After a newline, before something that is neither white space nor `/` (in o200k_base, signs run on over
# newlines and slashes). Lead bytes of UTF-8 that can start white space are left out or restricted: U+0085,
# U+00A0 (C2), U+1680 (E1 9A), U+2000..U+205F (E2 80, E2 81), U+3000 (E3 80).
LINE_START = rb"\n(?=[!-.0-~\xc3-\xe0\xe4-\xf4]|\xe1[^\x9a]|\xe2[^\x80\x81]|\xe3[^\x80])"

WORDS_AND_LINES = WORD_END + rb"|" + LINE_START

# The GPT-2 family takes white space at the very end of a text as one piece, but not the same white space
# before a word. So the start of a line is not safe.
WORDS_ONLY = WORD_END

# See `pre_split.SENTENCEPIECE`. What is before a blank must be ASCII: `\u2581` is a blank too.
BETWEEN_CHARACTERS = (
    rb"[A-Za-z](?=[\x00-@\[-`{-\x7f])|[0-9](?=[\x00-\xff])|\n(?=[^\n])|[^\n](?=\n)|[^ >\x80-\xff](?= )"
)

# Matches end at safe cuts.
PATTERNS = {
    "sentencepiece": BETWEEN_CHARACTERS,
    **dict.fromkeys(("cl100k_base", "o200k_base", "o200k_harmony"), WORDS_AND_LINES),
    **dict.fromkeys(("llama3", "qwen2", "qwen35", "tekken", "deepseek3", "kimi"), WORDS_AND_LINES),
    **dict.fromkeys(("gpt2", "gpt2_digits", "r50k_base", "p50k_base", "p50k_edit"), WORDS_ONLY),
}


# A cut is at the end of one of these runs, never inside.
RUNS_WITHOUT_CUTS = rb"[A-Za-z]+|[0-9]+|[^A-Za-z0-9\n]+|\n+"
# A cut is usually this near.
NEAR_BYTES = 1 << 12


class SafeCuts:
    """The safe cuts of one pre-split. A pre-split that is not in `PATTERNS` has none."""

    def __init__(self, pre_split: str) -> None:
        from tokcap.lean.patterns import compiled

        source = PATTERNS.get(pre_split)
        self.pattern = compiled(source) if source else None
        self._runs: re.Pattern[bytes] | None = None

    def first_after(self, data: bytes | bytearray, search_from: int) -> int | None:
        """Return the first safe cut after `search_from`; None if there is none."""
        if self.pattern is None:
            return None
        match = self.pattern.search(data, search_from, search_from + NEAR_BYTES)
        return match.end() if match else self._first_further_away(data, search_from + NEAR_BYTES)

    def _first_further_away(self, data: bytes | bytearray, place: int) -> int | None:
        """Search on, and skip long runs: a search for their end is many times faster than one for a cut."""
        assert self.pattern
        size = len(data)
        while place < size:
            if self._runs is None:
                import re

                self._runs = re.compile(RUNS_WITHOUT_CUTS)
            run = self._runs.match(data, place)
            # A cut may be at the end of the run: its last byte is searched again.
            if run and run.end() - place > NEAR_BYTES:
                place = run.end()
            start = place - CUT_CONTEXT_BYTES
            if match := self.pattern.search(data, start, place + NEAR_BYTES):
                return match.end()
            place += NEAR_BYTES
        return None


def split(blocks: Iterable[bytes], tokenizer: Tokenizer) -> Iterator[bytes]:
    """Regroup blocks of any size into chunks for this tokenizer. The chunks join to the same bytes."""
    return iter(Chunks(blocks, tokenizer))


class Chunks:
    """Chunks of a stream for one tokenizer. `in_piece`: the cut before the blocks has it (see `Cut`)."""

    def __init__(self, blocks: Iterable[bytes], tokenizer: Tokenizer, *, in_piece: bool = False) -> None:
        self._blocks = blocks
        # What encodes the last chunk.
        self.tokenizer = tokenizer
        # Whether the cut after the last chunk has it.
        self.in_piece = in_piece

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
                if seen is None and search_from < len(buffer) and not self.in_piece:
                    seen = tokenizer.safe_cut(buffer, begin, search_from)
                    search_from = max(search_from, len(buffer) - CUT_CONTEXT_BYTES) if seen is None else seen
                cut, in_piece = seen, False
                if (len(buffer) if seen is None else seen) - begin > stretch_bytes:
                    # Always the same size: a run that repeats itself then gives the same stretch again.
                    stretch = bytes(buffer[begin : begin + stretch_bytes])
                    found = tokenizer.find_safe_cut(stretch, in_piece=self.in_piece)
                    if found is None:
                        stretch_bytes *= 2
                        continue
                    cut, in_piece = begin + found.place, found.in_piece
                if cut is None:
                    break
                self.in_piece = in_piece
                yield bytes(buffer[begin:cut])
                tokenizer = self.tokenizer = after_cut(tokenizer)
                begin = cut
                stretch_bytes = LONG_STRETCH_BYTES
                if in_piece or (seen is not None and seen < begin + CHUNK_BYTES):
                    seen = None
                search_from = begin + CHUNK_BYTES if in_piece else max(search_from, begin + CHUNK_BYTES)
            del buffer[:begin]
            search_from -= begin
        if self.in_piece:
            self.in_piece = False
            end = tokenizer.piece_end(bytes(buffer))
            yield bytes(buffer[:end])
            self.tokenizer = after_cut(tokenizer)
            del buffer[:end]
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
        from tokcap.tokens.byte_tokenizer import ByteTokenizer

        return count_bytes(data, ByteTokenizer())
