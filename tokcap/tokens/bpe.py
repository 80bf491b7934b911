"""Byte-pair tokenizers: a loaded tiktoken encoding, made safe for texts of any length.

tiktoken gets short texts only. On a long text without a safe cut its regular expression engine can give up
(a million blanks), and its merging takes 50 bytes of memory per byte. Such texts are split and merged here
in parts, and the tokens are the same.
"""

from __future__ import annotations

from array import array

from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.chunks import SafeCuts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tiktoken

# The longest text that tiktoken gets. Its engine gives up near a million blanks.
PLAIN_CHARACTERS = 1 << 17
# A longer piece is merged in parts. The last tokens of a part are dropped and merged again with what follows,
# because that may group them differently.
PART_BYTES = 1 << 14
UNSURE_TOKENS = 64
# The tokens on each side of a seam that must stay the same when they are encoded together.
SEAM_TOKENS = 4
# A cut inside a run of one character has at least this many bytes of the run on each side.
RUN_BYTES = 1 << 15
# Move a seam at most this often, then merge the whole piece, however slow that is.
SEAM_MOVES = 1000


class BytePairTokenizer:
    """A tiktoken encoding.

    `published_pattern` is its pre-split without backtracking. Without one, `find_safe_cut` finds nothing.
    `lengths` has the length of each token, by rank.
    """

    stable = True
    cuts_anywhere = True

    def __init__(
        self,
        name: str,
        encoding: tiktoken.Encoding,
        longest_token_bytes: int,
        published_pattern: str = "",
        lengths: bytes = b"",
    ) -> None:
        self.name = name
        self.longest_token_bytes = longest_token_bytes
        self._encoding = encoding
        self._published_pattern = published_pattern
        self._lengths = lengths
        self._cuts = SafeCuts(name)

    def prepare(self) -> None:
        """Do nothing: the encoding is loaded."""

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def token_lengths(self, text: str) -> Sequence[int]:
        tokens = self.encode(text)
        if self._lengths:
            return list(map(self._lengths.__getitem__, tokens))
        return list(map(len, self._encoding.decode_tokens_bytes(list(tokens))))

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        return self._cuts.first_after(data, search_from)

    def find_safe_cut(self, data: bytes) -> int | None:
        """Find a cut inside a run of one character, or between two pieces of the pre-split."""
        if not self._published_pattern:
            return None
        return self._cut_in_run(data) or self._cut_between_pieces(data)

    def _cut_in_run(self, data: bytes) -> int | None:
        """Cut in the middle of a long run of one ASCII character, where both sides are one piece.

        A run of digits is not one piece: digits are split into groups of three.
        """
        middle = len(data) // 2
        around = data[middle - RUN_BYTES : middle + RUN_BYTES]
        if around != around[:1] * (2 * RUN_BYTES) or around[0] >= 0x80 or around[:1].isdigit():
            return None
        tokens = self.encode(data[:middle].decode("utf-8", "replace"))
        left, unsure = tokens[:-UNSURE_TOKENS], tokens[-UNSURE_TOKENS:]
        cut = middle - sum(map(self._length, unsure))
        if cut < middle - RUN_BYTES // 2 or not left or not self._joins(left, self._merge(around)):
            return None
        return cut

    def _cut_between_pieces(self, data: bytes) -> int | None:
        """Cut after the last piece of the pre-split that cannot change, because whole pieces follow it."""
        import regex

        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        ends = [match.end() for match in regex.finditer(self._pattern, text)]
        # White space is split differently at the end of a text than before a word.
        safe = [end for end in ends[:-2] if not text[end - 1].isspace()]
        return len(text[: safe[-1]].encode()) if safe else None

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
        return len(self._encoding.decode_single_token_bytes(token))


def is_failure(error: BaseException) -> bool:
    """Return whether a library failed. An interrupt by the user is not a failure; a panic of pyo3 is one."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"
