"""Tokenizers without a vocabulary: `approx` (characters / 4, rounded up), and bytes if another one fails."""

from __future__ import annotations

from tokcap.core.tokenizer import BYTES, WholeTokens
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

TOKEN_CHARACTERS = 4


class ApproxTokenizer(WholeTokens):
    """Four characters are one token. The name says that this approximates a model's tokens."""

    name = "approx"
    stable = True
    # Each character has at most four bytes.
    longest_token_bytes = 4 * TOKEN_CHARACTERS

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


class ApproxFamily:
    """The one name `approx`."""

    names = (ApproxTokenizer.name,)

    def open(self, name: str, env: Environment | None = None) -> ApproxTokenizer | None:
        return ApproxTokenizer() if name in self.names else None

    def examine(self, name: str, env: Environment | None = None) -> str | None:
        return "" if name in self.names else None


FAMILY = ApproxFamily()


class ByteTokenizer(WholeTokens):
    """Every byte is a token. No tokenizer makes more tokens, so a cap that holds in bytes holds in tokens."""

    name = BYTES
    longest_token_bytes = 1

    def count(self, text: str) -> int:
        return len(text.encode())

    def token_lengths(self, text: str) -> Sequence[int]:
        return [1] * self.count(text)

    def safe_cut(self, data: bytearray, begin: int, search_from: int) -> int | None:
        cut = next_character(data, search_from + 1)
        return cut if cut < len(data) else None


def next_character(data: bytes | bytearray, start: int) -> int:
    """Return the first position from `start` on where a character, or an invalid byte, begins."""
    # A lead byte has at most three continuation bytes. A fourth one is an invalid byte of its own.
    furthest = min(start + 3, len(data))
    while start < furthest and data[start] & 0xC0 == 0x80:
        start += 1
    return start
