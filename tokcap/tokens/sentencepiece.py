"""Byte-pair encoding over characters, as SentencePiece trains it: Gemma, Llama 2, Mistral 7B.

The whole text is one piece, blanks are written as `▁`, and a character that is not in the vocabulary becomes
its bytes. Here `▁` is a blank again, and the text is divided where no token has both neighbours.
"""

from __future__ import annotations

from tokcap.core.tokenizer import Cut, WholeTokens
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens.added import AddedEncoding, AddedTokenizer
from tokcap.tokens.buckets import NO_RANK
from tokcap.tokens.small_text import SINGLE

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from tokcap.tokens.added import Description
    from tokcap.tokens.bpe import BytePairTokenizer
    from tokcap.tokens.buckets import Ranks
    from tokcap.tokens.vocabulary import Vocabulary

# How a blank is written in these vocabularies. In a text it means the same as a blank.
WRITTEN_BLANK = "\u2581"
WRITTEN_BLANK_BYTES = WRITTEN_BLANK.encode()
# It has so many bytes more than a blank.
LONGER_BY = len(WRITTEN_BLANK_BYTES) - 1


class CharacterEncoding(AddedEncoding):
    """What the encoder for small texts has to know. Pieces are found in bytes; characters are merged."""

    # See `Description`.
    blank_run: int = 0

    def pieces(self, text: str, split: re.Pattern[bytes]) -> list[bytes] | None:
        return split.findall(text.encode())

    def first_parts(self, piece: bytes, ranks: Ranks) -> list[bytes]:
        word = piece.lstrip(b" ")
        blanks = len(piece) - len(word)
        if 1 < blanks <= self.blank_run:
            # Indented code has the same words after many runs of blanks.
            is_known = len(word) == 1 or ranks[word] != NO_RANK
            return [piece[:blanks], *([word] if is_known else self._characters(word, ranks))]
        return self._characters(piece, ranks)

    def _characters(self, piece: bytes, ranks: Ranks) -> list[bytes]:
        if piece.isascii():
            return [*map(SINGLE.__getitem__, piece)]
        parts: list[bytes] = []
        for character in piece.decode():
            encoded = character.encode()
            if len(encoded) == 1 or ranks[encoded] != NO_RANK:
                parts.append(encoded)
            else:
                parts += map(SINGLE.__getitem__, encoded)
        return parts


class SentencePieceTokenizer(AddedTokenizer):
    """A tokenizer in a directory of the user, without a blank before the text."""

    def __init__(self, directory: str, described: Description) -> None:
        super().__init__(directory, described)
        self.longest_token_bytes *= 1 + LONGER_BY

    def _encoding(self, path: str, allowance: int) -> AddedEncoding:
        return CharacterEncoding(path, allowance, self.pre_split, "", self.described.blank_run)

    def _byte_pair_of(self, table: Vocabulary) -> BytePairTokenizer:
        from tokcap.tokens.characters_bpe import byte_pair_of_characters

        return byte_pair_of_characters(self.name, table, self.pre_split, self.described.longest_token_bytes)

    def _normalized(self, text: str) -> str:
        return text if text.isascii() else text.replace(WRITTEN_BLANK, " ")

    def token_lengths(self, text: str) -> Sequence[int]:
        if text.isascii() or WRITTEN_BLANK not in text:
            return super().token_lengths(text)
        data = text.encode()
        plain = data.replace(WRITTEN_BLANK_BYTES, b" ")
        return lengths_in_source(data, super().token_lengths(plain.decode()))

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        plain = data.replace(WRITTEN_BLANK_BYTES, b" ")
        found = super().find_safe_cut(plain)
        return found and Cut(in_source(data, found.place))

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        plain = data.replace(WRITTEN_BLANK_BYTES, b" ")
        found = super().cut_in_middle(plain, is_end=is_end)
        return found and in_source(data, found)


def blanks_in_plain(data: bytes) -> list[int]:
    """Return where the written blanks of a text are once each of them is one byte."""
    found: list[int] = []
    place = data.find(WRITTEN_BLANK_BYTES)
    while place >= 0:
        found.append(place - LONGER_BY * len(found))
        place = data.find(WRITTEN_BLANK_BYTES, place + 1)
    return found


def in_source(data: bytes, place: int) -> int:
    """Translate a position in the text with plain blanks to the text itself."""
    from bisect import bisect_left

    return place + LONGER_BY * bisect_left(blanks_in_plain(data), place)


def lengths_in_source(data: bytes, lengths: Sequence[int]) -> Sequence[int]:
    """Translate the lengths of tokens of the text with plain blanks to lengths in the text itself."""
    blanks = [*blanks_in_plain(data), len(data)]
    found, end, number = [], 0, 0
    for length in lengths:
        end += length
        first = number
        while blanks[number] < end:
            number += 1
        found.append(length + LONGER_BY * (number - first))
    return found


class Prefix(Record):
    """When a text gets a blank before it."""

    # Whether a text that begins with a blank gets one too.
    before_blanks: bool

    def is_put_before(self, text: str) -> bool:
        return bool(text) and (self.before_blanks or text[0] not in (" ", WRITTEN_BLANK))


# By the name in a description.
PREFIXES = {"always": Prefix(True), "unless blank": Prefix(False)}


class PrefixedTokenizer(WholeTokens):
    """A tokenizer that puts a blank before every text. Its first token may be only that blank."""

    stable = True
    cuts_anywhere = True
    most_tokens_per_byte = 1
    prefix_tokens = 1

    def __init__(self, plain: SentencePieceTokenizer, prefix: Prefix) -> None:
        self.continued: SentencePieceTokenizer = plain
        self._prefix = prefix
        self.name, self.digest, self.described = plain.name, plain.digest, plain.described
        self.longest_token_bytes, self.digit_group = plain.longest_token_bytes, plain.digit_group
        self.prepare, self.safe_cut = plain.prepare, plain.safe_cut
        self.piece_end, self.cut_in_middle = plain.piece_end, plain.cut_in_middle

    def count(self, text: str) -> int:
        return self.continued.count(" " + text if self._prefix.is_put_before(text) else text)

    def token_lengths(self, text: str) -> Sequence[int]:
        if not self._prefix.is_put_before(text):
            return self.continued.token_lengths(text)
        first, *others = self.continued.token_lengths(" " + text)
        return [first - 1, *others]

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        from tokcap.tokens.chunks import as_text

        if not self._prefix.is_put_before(as_text(data[:8])):
            return self.continued.find_safe_cut(data)
        found = self.continued.find_safe_cut(b" " + data)
        return Cut(found.place - 1) if found and found.place > 1 else None


def opened(directory: str, described: Description) -> SentencePieceTokenizer | PrefixedTokenizer:
    """Return the tokenizer in a directory."""
    plain = SentencePieceTokenizer(directory, described)
    prefix = PREFIXES.get(described.prefix)
    return PrefixedTokenizer(plain, prefix) if prefix else plain
