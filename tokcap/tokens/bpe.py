"""Byte-pair tokenizers: tiktoken's encodings, the embedded ones built from our own tables.

tiktoken is asked for short stretches only. On long ones without a certain cut its regular expression
engine can give up (a million blanks) and its merging takes 50 bytes of memory per byte; these are
split and merged here in parts, with the same tokens as a result.
"""

from __future__ import annotations

from tokcap.errors import TokenizerFailed, TokenizerUnavailable
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    import tiktoken

    from tokcap.tokens.quick import QuickEncoder

# The pre-split of each embedded encoding, as OpenAI defined it.
PRE_SPLIT = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)"
        r"|[^\r\n\p{L}\p{N}]?+\p{L}++"
        r"|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$"
        r"|\s*[\r\n]"
        r"|\s+(?!\S)"
        r"|\s"
    ),
    "o200k_base": (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
        r"|\s*[\r\n]+"
        r"|\s+(?!\S)"
        r"|\s+"
    ),
}

# Differs from another encoding in its special tokens only, and those are plain text here.
SAME_ORDINARY_TOKENS = {"o200k_harmony": "o200k_base"}

# Of both embedded vocabularies.
LONGEST_EMBEDDED = 128

# What tiktoken is given at once. Its engine gives up near a million blanks.
PLAIN_CHARACTERS = 1 << 17
# A longer piece is merged in parts, of which the last tokens are not trusted: merging them again
# with what follows may group them otherwise.
PART_BYTES = 1 << 14
UNSURE_TOKENS = 64
# Tokens on either side of a seam that must come out the same when encoded together.
SEAM_TOKENS = 4
# A run of one character has at least that many bytes on either side of a cut inside it.
RUN_BYTES = 1 << 15
# How often a seam is moved before the piece is merged whole, whatever that costs.
SEAM_MOVES = 1000


class BytePairTokenizer:
    """A tiktoken encoding, loaded when it is needed: an embedded one is quick without it on small texts."""

    stable = True
    cuts_anywhere = True

    def prepare(self) -> None:
        """Load the encoding: for much, it is faster than counting without it."""
        _ = self.encoding

    def __init__(
        self, name: str, load: Callable[[], tiktoken.Encoding], longest_token_bytes: int = LONGEST_EMBEDDED
    ) -> None:
        self.name = name
        self.longest_token_bytes = longest_token_bytes
        self._load = load
        self._loaded: tiktoken.Encoding | None = None
        self._lengths = b""
        self._cuts: re.Pattern[bytes] | None = None
        self._quick: QuickEncoder | None = None

    @property
    def encoding(self) -> tiktoken.Encoding:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def count(self, text: str) -> int:
        lengths = self._quick_lengths(text)
        return len(self.encode(text) if lengths is None else lengths)

    def token_lengths(self, text: str) -> Sequence[int]:
        lengths = self._quick_lengths(text)
        if lengths is not None:
            return lengths
        tokens = self.encode(text)
        if self._lengths:
            return list(map(self._lengths.__getitem__, tokens))
        return list(map(len, self.encoding.decode_tokens_bytes(list(tokens))))

    def _quick_lengths(self, text: str) -> Sequence[int] | None:
        """The same without tiktoken, as long as that is not loaded; both give the same tokens."""
        if self._loaded is not None or self.name not in PRE_SPLIT:
            return None
        if self._quick is None:
            from tokcap.tokens.quick import QuickEncoder

            self._quick = QuickEncoder(self.name)
        return self._quick.token_lengths(text)

    def certain_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        if self._cuts is None:
            from tokcap.tokens.splits import certain_cuts_of

            self._cuts = certain_cuts_of(self.name)
            if self._cuts is None:
                return None
        match = self._cuts.search(data, search_from)
        return match.end() if match else None

    def proven_cut(self, data: bytes) -> int | None:
        """A place in a stretch without certain cuts: between two pieces, or inside a run of one character."""
        if self.encoding.name not in PRE_SPLIT:
            return None
        return self._cut_in_run(data) or self._cut_between_pieces(data)

    def _cut_in_run(self, data: bytes) -> int | None:
        """A place in a long run of one ASCII character: all of it is one piece, on either side of the cut.

        Digits are not: they come in pieces of three.
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
        """Where a piece of the pre-split ends that is certain to end there: others follow it whole."""
        import regex

        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        ends = [match.end() for match in regex.finditer(self._pattern, text)]
        # Blanks at the end of a text are other pieces than the same blanks before a word.
        certain = [end for end in ends[:-2] if not text[end - 1].isspace()]
        return len(text[: certain[-1]].encode()) if certain else None

    def encode(self, text: str) -> Sequence[int]:
        """All tokens of a text. The text of special tokens is ordinary text."""
        try:
            if len(text) <= PLAIN_CHARACTERS:
                return self.encoding.encode_ordinary(text)
            return self._encode_long(text)
        except BaseException as error:
            # Interrupts pass, and a lack of memory says nothing of the text.
            if is_failure(error) and not isinstance(error, MemoryError):
                raise TokenizerFailed(f"{self.name} failed on this text: {error}") from error
            raise

    def _encode_long(self, text: str) -> Sequence[int]:
        from array import array

        # `regex` is what tiktoken itself brings along; it reads the same patterns, without a limit.
        import regex

        # Millions of tokens are kept in four bytes each, not as objects.
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
        # As published, without backtracking: what tiktoken got instead is for its engine alone.
        return PRE_SPLIT.get(self.name) or self.encoding._pat_str

    def _merge(self, piece: bytes) -> list[int]:
        return self.encoding._encode_single_piece(piece)

    def _merge_in_parts(self, piece: bytes) -> Sequence[int]:
        """Tokens of one piece of any length, in time and memory proportional to it.

        A sequence of tokens is the encoding of its bytes if and only if every two neighbours are, so
        two encodings may be joined wherever the tokens around the seam encode to themselves.
        """
        from array import array

        tokens = array("I")
        done = moves = 0
        while done < len(piece):
            part = self._merge(piece[done : done + PART_BYTES])
            if not self._joins(tokens, part):
                # Begin one token earlier; the seam then lies elsewhere.
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
        return self._merge(self.encoding.decode_bytes(around)) == around

    def _length(self, token: int) -> int:
        return len(self.encoding.decode_single_token_bytes(token))


def is_failure(error: BaseException) -> bool:
    """Whether a library in Rust failed: pyo3 turns a panic into what is no Exception. Interrupts are none."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def load_embedded(name: str) -> BytePairTokenizer:
    """An embedded encoding. Reads its vocabulary at the first count, not now."""
    tokenizer: BytePairTokenizer

    def load() -> tiktoken.Encoding:
        import tiktoken

        from tokcap.tokens import vocabulary
        from tokcap.tokens.grouping import grouped

        table = vocabulary.load(name)
        tokenizer._lengths = table.lengths
        return tiktoken.Encoding(
            name, pat_str=grouped(PRE_SPLIT[name]), mergeable_ranks=table.ranks(), special_tokens={}
        )

    tokenizer = BytePairTokenizer(name, load)
    return tokenizer


def encoding_name_of(name: str) -> str:
    """The encoding that a model uses; an encoding's own name stays."""
    import tiktoken

    if name not in tiktoken.list_encoding_names():
        try:
            name = tiktoken.encoding_name_for_model(name)
        except KeyError:
            raise TokenizerUnavailable(
                f"--tokenizer: {name!r} is no tokenizer, tiktoken encoding or model known here; "
                "try cl100k_base, o200k_base or approx"
            ) from None
    return SAME_ORDINARY_TOKENS.get(name, name)


def load_foreign(encoding_name: str) -> BytePairTokenizer:
    """An encoding whose table tiktoken has to find: in its cache, or on the network."""
    import tiktoken

    try:
        encoding = tiktoken.get_encoding(encoding_name)
    except Exception as error:
        # tiktoken lets through whatever its download raises.
        raise TokenizerUnavailable(
            f"--tokenizer: tiktoken cannot load {encoding_name!r} here ({type(error).__name__}); "
            "cl100k_base, o200k_base and approx need no download"
        ) from error
    return BytePairTokenizer(encoding_name, lambda: encoding, max(map(len, encoding.token_byte_values())))
