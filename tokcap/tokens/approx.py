"""The tokenizer `approx`: characters / 4, rounded up. It needs no vocabulary."""

from __future__ import annotations

from tokcap.core.tokenizer import WholeTokens
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.byte_tokenizer import next_character

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.tokenizer import Cut
    from tokcap.environment import Environment

TOKEN_CHARACTERS = 4


class ApproxTokenizer(WholeTokens):
    """Four characters are one token. The name says that this approximates a model's tokens."""

    name = "approx"
    stable = True
    cuts_anywhere = False
    digit_group = 0
    most_tokens_per_byte = 1
    digest = ""
    # Each character has at most four bytes.
    longest_token_bytes = 4 * TOKEN_CHARACTERS

    def prepare(self) -> None:
        """Do nothing: there is nothing to load."""

    def count(self, text: str) -> int:
        return (len(text) + TOKEN_CHARACTERS - 1) // TOKEN_CHARACTERS

    def token_lengths(self, text: str) -> Sequence[int]:
        if text.isascii():
            full, left = divmod(len(text), TOKEN_CHARACTERS)
            return [TOKEN_CHARACTERS] * full + [left] * (left > 0)
        starts = range(0, len(text), TOKEN_CHARACTERS)
        return [len(text[start : start + TOKEN_CHARACTERS].encode()) for start in starts]

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        """Return the next position that is a multiple of four characters away from `begin`."""
        cut = next_character(data, search_from + 1)
        characters = len(data[begin:cut].decode("utf-8", "replace"))
        while cut < len(data) and characters % TOKEN_CHARACTERS:
            after = next_character(data, cut + 1)
            characters += len(data[cut:after].decode("utf-8", "replace"))
            cut = after
        # The last character of the data may still be incomplete.
        return cut if cut < len(data) else None

    def find_safe_cut(self, data: bytes, *, in_piece: bool = False) -> Cut | None:
        return None

    def piece_end(self, data: bytes) -> int:
        return len(data)

    def cut_in_middle(self, data: bytes, *, is_end: bool) -> int | None:
        return None


class ApproxFamily:
    """The one name `approx`."""

    names = (ApproxTokenizer.name,)

    def open(self, name: str, env: Environment | None = None) -> ApproxTokenizer | None:
        return ApproxTokenizer() if name in self.names else None

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return "" if name in self.names else None


FAMILY = ApproxFamily()
