"""Count what is written while a command runs, and announce it to the session before it is out.

Text that is passed on cannot be taken back, so the session has to know of it even if this process is killed.
An announcement is a transaction, so each one covers more than the next write: the numbers double, and a long
output needs only a few.
"""

from __future__ import annotations

from tokcap.core.tokenizer import most_tokens
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.live import RunningCount

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.charging import Charge

    Write: TypeAlias = Callable[[bytes], None]

# The first announcement covers at least this many tokens: a few short lines need only one.
FIRST_TOKENS = 64
# Count when there are this many uncounted bytes, even if no announcement needs it: that bounds memory.
MOST_UNCOUNTED_BYTES = 1 << 20
ALL_TOKENS = 1 << 62


class WrittenText:
    """Text that was written, and its tokens: at most so many at any time, and exactly when it is complete."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokens = RunningCount(tokenizer)
        self.at_most = 0
        self._uncounted_bytes = 0
        self._most_uncounted_bytes = MOST_UNCOUNTED_BYTES

    def add(self, block: bytes) -> None:
        self._tokens.add(block)
        # A character that two blocks share is replaced in both of them here, so this may be too many.
        self.at_most += most_tokens(block, self._tokenizer)
        self._uncounted_bytes += len(block)
        if self._uncounted_bytes > self._most_uncounted_bytes:
            self.count()

    def count(self) -> None:
        """Count all tokens that can no longer change. This brings `at_most` close to their number."""
        self._tokens.count(ALL_TOKENS)
        self.at_most = self._tokens.at_most
        self._uncounted_bytes = self.at_most - self._tokens.at_least
        # Text without a safe cut stays uncounted. Do not search it again with every block.
        self._most_uncounted_bytes = max(MOST_UNCOUNTED_BYTES, 2 * self._uncounted_bytes)

    def copy(self) -> WrittenText:
        """Return the same text, to go on with other blocks."""
        copied = WrittenText.__new__(WrittenText)
        copied.__dict__.update(self.__dict__, _tokens=self._tokens.copy())
        return copied

    def total(self) -> int:
        """Return the tokens of the text, which is complete now."""
        return self._tokens.total()


class Meter:
    """What one call has written of both streams before its answer. The session pays for it."""

    def __init__(self, charge: Charge, tokenizer: Tokenizer, *, announces: bool) -> None:
        """`announces` is False if nothing is out before the call ends, as in a library call."""
        self._charge = charge
        self._tokenizer = tokenizer
        self._announces = announces
        self._announced = 0
        self._streams: list[WrittenText] = []
        # Both streams in the order of writing. A reader may get both from one pipe, and pays for that.
        self._together: WrittenText | None = None

    def counting(self, *writes: Write) -> tuple[Write, ...]:
        """Return functions that write one stream, and count and announce it before that."""
        text = WrittenText(self._tokenizer)

        def counted(write: Write) -> Write:
            def count_and_write(block: bytes) -> None:
                if block:
                    self._count(block, text)
                write(block)

            return count_and_write

        return tuple(map(counted, writes))

    def tokens_written(self) -> int:
        """Return the tokens of everything that was written, in the more expensive way to read it."""
        apart = sum(text.total() for text in self._streams)
        return max(apart, self._together.total()) if self._together else apart

    def close(self) -> None:
        """Charge what is out if the call ends before its answer was charged."""
        if self._announced and not self._charge.is_settled:
            self._charge.settle(self.tokens_written(), "interrupted")

    def _count(self, block: bytes, text: WrittenText) -> None:
        if text not in self._streams:
            self._begin(text)
        for each in self._counted_by(text):
            each.add(block)
        if self._announces:
            self._announce()

    def _begin(self, text: WrittenText) -> None:
        if self._streams:
            self._together = self._streams[0].copy()
        self._streams.append(text)

    def _counted_by(self, text: WrittenText) -> tuple[WrittenText, ...]:
        return (text, self._together) if self._together else (text,)

    def _at_most(self) -> int:
        apart = sum(text.at_most for text in self._streams)
        return max(apart, self._together.at_most) if self._together else apart

    def _announce(self) -> None:
        if self._at_most() <= self._announced:
            return
        for text in (*self._streams, *((self._together,) if self._together else ())):
            text.count()
        if (tokens := self._at_most()) > self._announced:
            self._announced = max(2 * tokens, FIRST_TOKENS)
            if self._charge.limit is not None:
                self._announced = max(min(self._announced, self._charge.limit), tokens)
            self._announces = self._charge.announce(self._announced)
