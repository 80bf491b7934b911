"""Byte-pair tokenizers: a loaded tiktoken encoding, made safe for texts of any length.

tiktoken gets short texts only. On a long text without a safe cut its regular expression engine can give up
(a million blanks), and its merging takes 50 bytes of memory per byte. Such texts are split and merged here
in parts, and the tokens are the same.
"""

from __future__ import annotations

from array import array
from functools import cached_property

from tokcap.core.tokenizer import Cut, WholeTokens
from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.byte_tokenizer import next_character
from tokcap.tokens.chunks import SafeCuts, as_text
from tokcap.tokens.replacement import in_source, whole_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tiktoken

    from tokcap.tokens.long_runs import LongRuns

# The longest text that tiktoken gets. Its engine gives up near a million blanks.
PLAIN_CHARACTERS = 1 << 17
# A longer piece is merged in parts. The last tokens of a part are dropped and merged again with what follows,
# because that may group them differently.
PART_BYTES = 1 << 14
UNSURE_TOKENS = 64
# The tokens on each side of a seam that must stay the same when they are encoded together.
SEAM_TOKENS = 4
# Move a seam at most this often, then merge the whole piece, however slow that is.
SEAM_MOVES = 1000
# A longer run has no cut either, and encoding it whole would take 50 times its size.
MOST_SEARCHED_BYTES = 1 << 19
# Remember the cuts in this many texts: a run that repeats itself gives the same few texts again and again.
MOST_FOUND_CUTS = 8


class BytePairTokenizer(WholeTokens):
    """A tiktoken encoding.

    `published_pattern` is its pre-split, if `encoding` has another one that is only fast in tiktoken.
    `lengths` has the length of each token, by rank. `pre_split` is the name of its pre-split, if that is not
    the name of the encoding.
    """

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = 1
    digest = ""
    # For the encodings that are not embedded this is right too: their runs of digits are one piece.
    digit_group = 0

    def __init__(
        self,
        name: str,
        encoding: tiktoken.Encoding,
        longest_token_bytes: int,
        published_pattern: str = "",
        lengths: bytes = b"",
        pre_split: str = "",
    ) -> None:
        self.name = name
        self.longest_token_bytes = longest_token_bytes
        self._encoding = encoding
        self._published_pattern = published_pattern
        self._lengths = lengths
        self._pre_split = pre_split or name
        self._cuts = SafeCuts(self._pre_split)
        self._last = ("", 0)
        self._found_cuts: dict[tuple[bytes, bool], Cut | None] = {}

    def prepare(self) -> None:
        """Do nothing: the encoding is loaded."""

    def count(self, text: str) -> int:
        # Long runs often repeat the same chunk.
        last_text, last_count = self._last
        if text == last_text:
            return last_count
        count = len(self.encode(text))
        self._last = (text, count)
        return count

    def token_lengths(self, text: str) -> Sequence[int]:
        tokens = self.encode(text)
        if self._lengths:
            return list(map(self._lengths.__getitem__, tokens))
        return list(map(len, self._encoding.decode_tokens_bytes(list(tokens))))

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return self._cuts.first_after(data, search_from)

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        """Find a cut between two pieces of the pre-split, or inside a long one."""
        if self._long_runs is None or len(data) > MOST_SEARCHED_BYTES:
            return None
        found, key = self._found_cuts, (data, in_piece)
        if key in found:
            return found[key]
        text = whole_characters(data)
        if in_piece:
            cut, tokens = self._long_runs.cut_in_piece(text)
        else:
            cut, tokens = self._long_runs.cut_after_beginning(text)
        if cut is not None:
            cut = Cut(in_source(data, cut.place), cut.in_piece)
            if tokens:
                # The caller counts this chunk next.
                self._last = (as_text(data[: cut.place]), tokens)
        # A new dictionary, because another thread may be reading this one.
        self._found_cuts = {**found, key: cut} if len(found) < MOST_FOUND_CUTS else {key: cut}
        return cut

    def piece_end(self, data: bytes) -> int:
        assert self._long_runs
        return in_source(data, self._long_runs.piece_end(as_text(data)))

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        if self._long_runs is None:
            return None
        begin = next_character(data, 0)
        cut = self._long_runs.cut_in_middle(whole_characters(data[begin:]), is_end=is_end)
        return None if cut is None else begin + in_source(data[begin:], cut)

    @cached_property
    def _long_runs(self) -> LongRuns | None:
        from tokcap.tokens.long_runs import RUNS, LongRuns
        from tokcap.tokens.piece_cuts import PieceCuts

        if self._pre_split not in RUNS:
            return None
        cuts = PieceCuts(self._merge, self._length, self.longest_token_bytes)
        return LongRuns(self._pre_split, self._pattern, self._merge, cuts)

    def encode(self, text: str) -> Sequence[int]:
        """Return all tokens of a text. The text of a special token is ordinary text."""
        try:
            if len(text) <= PLAIN_CHARACTERS:
                return self._encoding.encode_ordinary(text)
            return self._encode_long(text)
        except BaseException as error:
            # Interrupts and a lack of memory are passed on: the text did not cause them.
            if is_failure(error) and not isinstance(error, MemoryError):
                raise TokenizerFailed(f"{self.name} failed on this text: {error}") from error
            raise

    def _encode_long(self, text: str) -> Sequence[int]:
        # tiktoken depends on `regex`, which reads the same patterns and has no limit.
        import regex

        # An array: millions of tokens take four bytes each.
        tokens = array("I")
        for match in regex.finditer(self._pattern, text):
            piece = match.group().encode()
            if len(piece) <= PART_BYTES:
                tokens.extend(self._merge(piece))
            else:
                tokens.extend(self._merge_in_parts(piece))
        return tokens

    @property
    def _pattern(self) -> str:
        # The encoding of an embedded vocabulary has a pattern that is fast in tiktoken's engine only.
        return self._published_pattern or self._encoding._pat_str

    def _merge(self, piece: bytes) -> list[int]:
        return self._encoding._encode_single_piece(piece)

    def _merge_in_parts(self, piece: bytes) -> Sequence[int]:
        """Return the tokens of one piece of any length, in time and memory proportional to its length.

        A sequence of tokens is the encoding of its bytes if and only if every two neighbours are. So two
        encodings can be joined where the tokens around the seam encode to themselves.
        """
        tokens = array("I")
        done = moves = 0
        while done < len(piece):
            part = self._merge(piece[done : done + PART_BYTES])
            if not self._joins(tokens, part):
                # Start one token earlier, which moves the seam.
                done -= self._length(tokens.pop())
                moves += 1
                if moves > SEAM_MOVES:
                    return self._merge(piece)
                continue
            if done + PART_BYTES < len(piece):
                del part[-UNSURE_TOKENS:]
            tokens.extend(part)
            done += sum(map(self._length, part))
        return tokens

    def _joins(self, left: Sequence[int], right: list[int]) -> bool:
        if not left:
            return True
        around = [*left[-SEAM_TOKENS:], *right[:SEAM_TOKENS]]
        return self._merge(self._encoding.decode_bytes(around)) == around

    def _length(self, token: int) -> int:
        return self._lengths[token] if self._lengths else len(self._encoding.decode_single_token_bytes(token))


def is_failure(error: BaseException) -> bool:
    """Return whether a library failed. An interrupt by the user is not a failure; a panic of pyo3 is one."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
