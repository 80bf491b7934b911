"""Prove an answer: recount the bytes that a reader gets, in every order in which they may be read.

Counts do not add up: joined texts can cost more tokens than both. So each stream is counted alone, and both
together: one after the other, and in the order in which they are really written to one pipe (`2>&1`).
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.inputs import Passed


class Proof:
    """Counts answers of one call."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        passed: Passed,
        *,
        joined: bool = True,
        count: Callable[[bytes, Tokenizer], int] = count_bytes,
    ) -> None:
        """`passed` is what was written before the answer; every answer starts with it.

        `joined` is False if the payload is only a part of what is written to stdout.
        """
        self._joined = joined
        self._tokenizer = tokenizer
        self._passed = passed
        self._count = count
        self._stderr = b""
        self._stderr_tokens = 0
        # What each stream costs alone, by payload.
        self._known: dict[tuple[bytes, bytes], int] = {}

    def cost(self, payload: bytes, stderr: bytes) -> int:
        """Return the most tokens that a reader can count if this is written to stdout and stderr."""
        if stderr != self._stderr:
            self._stderr, self._stderr_tokens = stderr, self._tokens(stderr)
        apart = self._known[payload, stderr] = self._tokens(payload) + self._stderr_tokens
        if not stderr or not self._joined:
            return apart
        return max(apart, *map(self._tokens, self._orders(payload, stderr)))

    def tokens_of(self, payload: bytes, stderr: bytes) -> int | None:
        """Return what an answer costs in two streams, if it was counted before."""
        return self._known.get((payload, stderr))

    def _tokens(self, data: bytes) -> int:
        return self._count(data, self._tokenizer)

    def _orders(self, payload: bytes, stderr: bytes) -> set[bytes]:
        """Return both streams joined, in each order in which a reader may get them."""
        return {payload + stderr, stderr + payload, self._passed.followed_by(payload, stderr)}
