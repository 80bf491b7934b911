"""Count chunks of a large payload with whatever is fastest. The result is always that of the tokenizer.

Text that was seen before costs nothing (`repeated_text`). New text is counted without tiktoken as long as
that pays, then by the extra `bulk` if it is installed, else by the tokenizer.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens.chunks import as_text
from tokcap.tokens.embedded import EmbeddedTokenizer
from tokcap.tokens.repeated_text import RepeatedTextCounter

if TYPE_CHECKING:
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.tokens.gigatoken_counter import GigatokenCounter


class FarCounter:
    """Counts chunks of one payload, in order."""

    def __init__(self, tokenizer: Tokenizer, *, may_use_bulk: bool = True) -> None:
        self._tokenizer = tokenizer
        self._bulk: GigatokenCounter | None = None
        self._may_use_bulk = may_use_bulk
        self._repeated: RepeatedTextCounter | None = None
        if isinstance(tokenizer, EmbeddedTokenizer):
            # The safe cuts of others are unknown.
            self._repeated = RepeatedTextCounter(self._count_new, same_digits=tokenizer.are_digits_alike())

    @property
    def is_slow(self) -> bool:
        """Whether several processes would be faster."""
        return self._bulk is None and (self._repeated is None or not self._repeated.pays)

    def count(self, chunk: bytes) -> int:
        """Return the tokens of a chunk, which is valid UTF-8."""
        return self._repeated.count(chunk) if self._repeated else self._tokenizer.count(as_text(chunk))

    def _count_new(self, text: str) -> int:
        assert isinstance(self._tokenizer, EmbeddedTokenizer)
        if self._bulk is None:
            count = self._tokenizer.count_without_tiktoken(text)
            if count is not None:
                return count
            self._try_bulk()
        if self._bulk and self._bulk.is_worthwhile:
            return self._bulk.count(text)
        return self._tokenizer.count(text)

    def _try_bulk(self) -> None:
        if self._may_use_bulk:
            from tokcap.tokens.gigatoken_counter import counter_for

            self._may_use_bulk = False
            self._bulk = counter_for(self._tokenizer)
