"""The encodings whose vocabularies come with tokcap: small texts without tiktoken, large ones by tiktoken.

Every call loads this module, so it imports nothing else until a text is counted.
"""

from __future__ import annotations

import os

from tokcap.core.tokenizer import WholeTokens
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.tokenizer import Cut
    from tokcap.environment import Environment
    from tokcap.tokens.bpe import BytePairTokenizer
    from tokcap.tokens.chunks import SafeCuts
    from tokcap.tokens.native_text import NativeEncoder
    from tokcap.tokens.small_text import SmallTextEncoder
    from tokcap.tokens.vocabulary import Vocabulary

NAMES = ("cl100k_base", "o200k_base")
DIRECTORY = os.path.join(os.path.dirname(__file__), "data")
# Do this much work, in nanoseconds, before loading tiktoken, which takes as long. In plain Python this is
# about 700 KB of source code, or 90 KB of Base64.
ALLOWANCE = {"cl100k_base": 95_000_000, "o200k_base": 200_000_000}
# So many texts are remembered with their tokens; a longer one than that alone.
MOST_RECENT, RECENT_CHARACTERS = 16, 1 << 16


def remember(recent: dict[str, bytes], text: str, lengths: bytes) -> None:
    """Remember the tokens of a text: most texts are counted first, and then asked for their tokens."""
    if len(recent) >= MOST_RECENT or len(text) > RECENT_CHARACTERS:
        recent.clear()
    recent[text] = lengths


class EmbeddedTokenizer(WholeTokens):
    """One embedded encoding. Both ways to count give the same tokens.

    `AddedTokenizer` is the same with the files of a vocabulary that the user has added.
    """

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = 1
    digest = ""
    # True for both vocabularies, as is the group of digits.
    longest_token_bytes = 128
    digit_group = 3

    def __init__(self, name: str) -> None:
        self.name = self.pre_split = name
        self._small_text: NativeEncoder | SmallTextEncoder | None = None
        self._byte_pair: BytePairTokenizer | None = None
        self._cuts: SafeCuts | None = None

    def prepare(self) -> None:
        """Load tiktoken: it counts large texts faster."""
        _ = self.byte_pair

    @property
    def byte_pair(self) -> BytePairTokenizer:
        """The same encoding by tiktoken, loaded when first asked for."""
        if self._byte_pair is None:
            self._byte_pair = self._load_byte_pair()
        return self._byte_pair

    def _load_byte_pair(self) -> BytePairTokenizer:
        from tokcap.tokens import vocabulary

        return byte_pair_of(self.name, vocabulary.load(self.name), self.name, self.longest_token_bytes)

    def count(self, text: str) -> int:
        count = self.count_without_tiktoken(text)
        return self.byte_pair.count(text) if count is None else count

    def count_without_tiktoken(self, text: str) -> int | None:
        """Return the same; None if tiktoken is loaded or has to be."""
        lengths = self._small_text_lengths(text)
        return None if lengths is None else len(lengths)

    def token_lengths(self, text: str) -> Sequence[int]:
        lengths = self._small_text_lengths(text)
        return self.byte_pair.token_lengths(text) if lengths is None else lengths

    def _small_text_lengths(self, text: str) -> Sequence[int] | None:
        """Return the token lengths without tiktoken; None if tiktoken is loaded or has to be."""
        if self._byte_pair is not None:
            return None
        if self._small_text is None:
            self._small_text = self._open_small_text()
        return self._small_text.token_lengths(text)

    def _open_small_text(self) -> NativeEncoder | SmallTextEncoder:
        from tokcap.tokens.native_text import native_encoder

        encoder = native_encoder(self.name)
        if encoder is None:
            from tokcap.tokens.small_text import SmallTextEncoder

            return SmallTextEncoder(self.name)
        return encoder

    def are_digits_alike(self) -> bool:
        """Return whether the number of tokens stays the same if a digit is replaced by another one."""
        # Every group of up to three digits is a token of both vocabularies.
        return True

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        if self._cuts is None:
            from tokcap.tokens.chunks import SafeCuts

            self._cuts = SafeCuts(self.pre_split)
        return self._cuts.first_after(data, search_from)

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        return self.byte_pair.find_safe_cut(data, in_piece=in_piece)

    def piece_end(self, data: bytes) -> int:
        return self.byte_pair.piece_end(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        return self.byte_pair.cut_in_middle(data, is_end=is_end)


def byte_pair_of(
    name: str,
    table: Vocabulary,
    pre_split: str,
    longest_bytes: int,
    kind: type[BytePairTokenizer] | None = None,
) -> BytePairTokenizer:
    """Build a tiktoken encoding from a vocabulary, without the network."""
    import tiktoken

    from tokcap.tokens.bpe import BytePairTokenizer
    from tokcap.tokens.pre_split import PRE_SPLIT, faster_for_tiktoken

    pattern = PRE_SPLIT[pre_split]
    encoding = tiktoken.Encoding(
        name, pat_str=faster_for_tiktoken(pattern), mergeable_ranks=table.ranks(), special_tokens={}
    )
    kind = kind or BytePairTokenizer
    return kind(name, encoding, longest_bytes, pattern, table.lengths, pre_split)


# A program that uses tokcap as a library reads each vocabulary once. Threads may share the tokenizers.
_opened: dict[str, EmbeddedTokenizer] = {}


class EmbeddedFamily:
    """The names of the vocabularies that come with tokcap."""

    names = NAMES

    def open(self, name: str, env: Environment | None = None) -> EmbeddedTokenizer | None:
        if name not in NAMES:
            return None
        return _opened.get(name) or _opened.setdefault(name, EmbeddedTokenizer(name))

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return "" if name in NAMES else None


FAMILY = EmbeddedFamily()
