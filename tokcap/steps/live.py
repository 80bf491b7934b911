"""Live passing: what is certain to be inside the window is passed on as it comes, so that a build scrolls.

Certain is what fits even if nothing else of the window were left but room for the mark and for stderr. What
was passed on is the beginning of the answer, which leaves it out when it is written.
"""

from __future__ import annotations

from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.beginning import BEGINNING_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.payload import Sink
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.capture import Spool

# So much is counted at a time.
STEP_BYTES = 1 << 12
# As far back from its end a certain cut is looked for.
LOOK_BACK = 512


class RunningCount:
    """Tokens of a text that is still arriving, as far as they are certain; counted no sooner than asked."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Tokens up to the last certain cut, and the bytes behind it.
        self.at_least = 0
        self._behind = bytearray()
        # How much there has to be behind it for another look at what cannot be cut.
        self._look_bytes = 0
        self._has_failed = False

    def add(self, block: bytes) -> None:
        self._behind += block

    @property
    def at_most(self) -> int:
        """A token has at least one byte: while there are few, nothing has to be counted."""
        return self.at_least + replaced_bytes(self._behind)

    def count(self, enough: int) -> None:
        """Count up to the last place where the text can be cut for certain; no further than to `enough`."""
        while self.at_least <= enough and (cut := self._next_cut()):
            self.at_least += self._count(cut)
            del self._behind[:cut]
            self._look_bytes = 0

    def is_above(self, tokens: int) -> bool:
        """Whether there are more tokens by now; where nothing can be cut, that may be found out late."""
        if self.at_least > tokens or self.at_most <= tokens or len(self._behind) < self._look_bytes:
            return self.at_least > tokens
        # Counted whole, and again when it is twice as long: it may go on for ever.
        self._look_bytes = 2 * len(self._behind)
        return self.at_least + self._count(len(self._behind)) > tokens

    def _count(self, end: int) -> int:
        if not self._has_failed:
            try:
                return self._tokenizer.count(self._behind[:end].decode("utf-8", "replace"))
            except TokenizerFailed:
                # That is told by the answer, which needs all of the count. From here on there are bytes only.
                self._has_failed = True
        return replaced_bytes(self._behind[:end])

    def _next_cut(self) -> int:
        """A place not too far on, and at the end the last one; 0 if there is none."""
        step = STEP_BYTES if len(self._behind) > 2 * STEP_BYTES else len(self._behind) - LOOK_BACK
        cut = 0
        search_from = max(step, 0)
        while (found := self._tokenizer.safe_cut(self._behind, 0, search_from)) is not None:
            if found <= search_from:
                break
            cut = search_from = found
            if step == STEP_BYTES:
                break
        return cut


class Live:
    """Keeps everything in its spool, and passes on the beginning of it."""

    is_out = False

    def __init__(
        self,
        spool: Spool,
        write: Callable[[bytes], None],
        tokenizer: Tokenizer,
        room_tokens: int,
        is_text: Callable[[bytes], bool],
    ) -> None:
        self.spool = spool
        self._write = write
        self._tokens = RunningCount(tokenizer)
        self._room = room_tokens
        self._is_text = is_text
        self._is_certain = False
        self._open = room_tokens > 0
        # Bytes that are out already.
        self.passed = 0

    def write(self, block: bytes) -> None:
        self.spool.write(block)
        if self._open:
            self._tokens.add(block)
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._is_certain:
            beginning = self.spool.read(0, min(self.spool.size, BEGINNING_BYTES))
            self._is_certain = self._is_text(beginning)
            self._open = self._is_certain or len(beginning) < BEGINNING_BYTES
            if not self._is_certain:
                return
        if self._tokens.at_most > self._room:
            self._tokens.count(self._room)
        if self._tokens.at_most > self._room:
            self._open = False
            return
        data = self.spool.read(self.passed, self.spool.size)
        self.passed = self.spool.size
        self._write(data)

    @property
    def tail(self) -> bytes:
        return self.spool.tail

    def finish(self) -> None:
        """What was held back is left to the answer."""
        self.spool.finish()

    def close(self) -> None:
        self.spool.close()


class UntilFull:
    """Hands everything to another sink, and says when there is more of it than a window holds."""

    def __init__(
        self, sink: Sink, tokenizer: Tokenizer, window_tokens: int, full: Callable[[], None]
    ) -> None:
        self._sink = sink
        self._tokens = RunningCount(tokenizer)
        self._window = window_tokens
        self._full: Callable[[], None] | None = full

    def write(self, block: bytes) -> None:
        self._sink.write(block)
        if self._full is None:
            return
        self._tokens.add(block)
        if self._tokens.at_most > self._window:
            self._tokens.count(self._window)
        if self._tokens.is_above(self._window):
            self._full()
            self._full = None

    def finish(self) -> None:
        self._sink.finish()


def replaced_bytes(data: bytearray) -> int:
    """How many bytes it has as the tokenizer sees it, at the most."""
    return len(data) if data.isascii() else len(data.decode("utf-8", "replace").encode())
