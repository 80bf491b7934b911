"""The fallback when a tokenizer fails on a payload: every byte counts as one token."""

from __future__ import annotations

from tokcap.core.tokenizer import BYTES, WholeTokens
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.tokenizer import Cut


class ByteTokenizer(WholeTokens):
    """Every byte is a token. No tokenizer makes more tokens, so a cap that holds in bytes holds in tokens."""

    name = BYTES
    stable = False
    cuts_anywhere = False
    digit_group = 0
    most_tokens_per_byte = 1
    digest = ""
    longest_token_bytes = 1

    def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

    def count(self, text: str) -> int:
        return len(text.encode())

    def token_lengths(self, text: str) -> Sequence[int]:
        return [1] * self.count(text)

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        cut = next_character(data, search_from + 1)
        return cut if cut < len(data) else None

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        return None

    def piece_end(self, data: bytes) -> int:
        return len(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        return None


def next_character(data: bytes | bytearray, start: int) -> int:
    """Return the first position from `start` on where a character, or an invalid byte, begins."""
    # A lead byte has at most three continuation bytes. A fourth one is an invalid byte of its own.
    furthest = min(start + 3, len(data))
    while start < furthest and data[start] & 0xC0 == 0x80:
        start += 1
    return start
