"""Byte-pair encoding over characters by tiktoken, which merges bytes.

The compiled vocabulary has the first bytes of each character as tokens of the lowest ranks, so tiktoken makes
all characters first. It never gets a character that is not in the vocabulary.
"""

from __future__ import annotations

import re
from array import array
from functools import cached_property

from tokcap.core.tokenizer import Cut
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.bpe import BytePairTokenizer
from tokcap.tokens.replacement import in_source, whole_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.tokens.vocabulary import Vocabulary

LONGEST_CHARACTER_BYTES = 4


def byte_pair_of_characters(
    name: str, table: Vocabulary, pre_split: str, longest_bytes: int
) -> CharactersTokenizer:
    """Build a tiktoken encoding from a vocabulary."""
    from tokcap.tokens.embedded import byte_pair_of

    found = byte_pair_of(name, table, pre_split, longest_bytes, CharactersTokenizer)
    assert isinstance(found, CharactersTokenizer)
    return found


class CharactersTokenizer(BytePairTokenizer):
    """A tiktoken encoding that makes characters first. Any other character is as many tokens as bytes."""

    @cached_property
    def _known(self) -> frozenset[str]:
        """All characters of the vocabulary. Those of ASCII are bytes anyway."""
        tokens = self._encoding.token_byte_values()
        short = [token for token in tokens if len(token) <= LONGEST_CHARACTER_BYTES]
        found = (token.decode("utf-8", "ignore") for token in short)
        # The beginning of a character is a token too, and has no text.
        return frozenset((*map(chr, range(0x80)), *(text for text in found if len(text) == 1)))

    def _unknown(self, text: str) -> re.Pattern[str] | None:
        """Return a pattern for the characters that are not in the vocabulary; None if there are none."""
        if text.isascii() or self._known.issuperset(text):
            return None
        unknown = set(text) - self._known
        return re.compile(f"[{re.escape(''.join(sorted(unknown)))}]+")

    def encode(self, text: str) -> Sequence[int]:
        unknown = self._unknown(text)
        if unknown is None:
            return super().encode(text)
        tokens = array("I")
        end = 0
        for match in unknown.finditer(text):
            tokens.extend(super().encode(text[end : match.start()]))
            # The token of a byte has its number.
            tokens.extend(match.group().encode())
            end = match.end()
        tokens.extend(super().encode(text[end:]))
        return tokens

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        text = whole_characters(data)
        if place := self._last_unknown(text):
            return Cut(in_source(data, len(text[:place].encode())))
        return super().find_safe_cut(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        if data.isascii():
            return super().cut_in_middle(data, is_end=is_end)
        from tokcap.tokens.byte_tokenizer import next_character

        begin = next_character(data, 0)
        text = whole_characters(data[begin:])
        if place := self._last_unknown(text):
            return begin + in_source(data[begin:], len(text[:place].encode()))
        return super().cut_in_middle(data, is_end=is_end)

    def _last_unknown(self, text: str) -> int:
        """Return where the last unknown character is that does not begin the text; 0 if there is none."""
        unknown = self._unknown(text)
        if unknown is None:
            return 0
        return max(match.end() - 1 for match in unknown.finditer(text))
