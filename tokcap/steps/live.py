"""Pass text on while it arrives, as long as it is certain to be inside the window.

That is certain if the text fits together with the mark and stderr's share. What was passed on is the
beginning of the answer, and is skipped when the answer is written.
"""

from __future__ import annotations

from tokcap.errors import TokenizerFailed
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes.beginning import BEGINNING_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.payload import Sink
    from tokcap.core.spool import Spool
    from tokcap.core.tokenizer import Tokenizer

# Count in steps of this many bytes.
STEP_BYTES = 1 << 12
# How far back to search for a safe cut.
LOOK_BACK_BYTES = 512


class RunningCount:
    """Counts the tokens of text that is still arriving. Only tokens that can no longer change are counted."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Tokens up to the last safe cut, and the bytes after it.
        self.at_least = 0
        self._uncounted = bytearray()
        # Number of uncounted bytes at which `is_above` counts text without a safe cut again.
        self._recount_bytes = 0
        self._has_failed = False

    def add(self, block: bytes) -> None:
        self._uncounted += block

    @property
    def at_most(self) -> int:
        """The tokens if every uncounted byte were a token. A token has at least one byte."""
        return self.at_least + replaced_size_bytes(self._uncounted)

    def count(self, enough: int) -> None:
        """Count up to the last safe cut; stop when there are more than `enough` tokens."""
        while self.at_least <= enough and (cut := self._next_cut()):
            self.at_least += self._count(cut)
            del self._uncounted[:cut]
            self._recount_bytes = 0

    def is_above(self, tokens: int) -> bool:
        """Return whether there are more tokens. In text without a safe cut that may be noticed late."""
        if self.at_least > tokens or self.at_most <= tokens or len(self._uncounted) < self._recount_bytes:
            return self.at_least > tokens
        # Counted as a whole, and again when its size has doubled: such text may never end.
        self._recount_bytes = 2 * len(self._uncounted)
        return self.at_least + self._count(len(self._uncounted)) > tokens

    def _count(self, end: int) -> int:
        if not self._has_failed:
            try:
                return self._tokenizer.count(self._uncounted[:end].decode("utf-8", "replace"))
            except TokenizerFailed:
                # The answer reports this, because it counts everything. From here on, count bytes.
                self._has_failed = True
        return replaced_size_bytes(self._uncounted[:end])

    def _next_cut(self) -> int:
        """Return a safe cut within the next step, or the last one near the end; 0 if there is none."""
        size = len(self._uncounted)
        step = STEP_BYTES if size > 2 * STEP_BYTES else size - LOOK_BACK_BYTES
        cut = 0
        search_from = max(step, 0)
        while (found := self._tokenizer.safe_cut(self._uncounted, 0, search_from)) is not None:
            if found <= search_from:
                break
            cut = search_from = found
            if step == STEP_BYTES:
                break
        return cut


class Live:
    """A sink that keeps everything in its spool, and passes the beginning on at once."""

    is_out = False

    def __init__(
        self,
        spool: Spool,
        write: Callable[[bytes], None],
        tokenizer: Tokenizer,
        room_tokens: int,
        is_text: Callable[[bytes], bool],
    ) -> None:
        """`is_text` returns whether a beginning is certain to be text; nothing is passed on before that."""
        self.spool = spool
        self._write = write
        self._tokens = RunningCount(tokenizer)
        self._room_tokens = room_tokens
        self._is_text = is_text
        self._is_certainly_text = False
        self._passes_on = room_tokens > 0
        # Number of bytes that were passed on.
        self.passed = 0

    def write(self, block: bytes) -> None:
        self.spool.write(block)
        if self._passes_on:
            self._tokens.add(block)
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._is_certainly_text:
            beginning = self.spool.read(0, min(self.spool.size, BEGINNING_BYTES))
            self._is_certainly_text = self._is_text(beginning)
            self._passes_on = self._is_certainly_text or len(beginning) < BEGINNING_BYTES
            if not self._is_certainly_text:
                return
        if self._tokens.at_most > self._room_tokens:
            self._tokens.count(self._room_tokens)
        if self._tokens.at_most > self._room_tokens:
            self._passes_on = False
            return
        data = self.spool.read(self.passed, self.spool.size)
        self.passed = self.spool.size
        self._write(data)

    @property
    def tail(self) -> bytes:
        return self.spool.tail

    def finish(self) -> None:
        """Write nothing: the answer shows the bytes that were not passed on."""
        self.spool.finish()

    def close(self) -> None:
        self.spool.close()


class UntilFull:
    """A sink that writes to another one, and calls `full` once there is more than a window holds."""

    def __init__(
        self, sink: Sink, tokenizer: Tokenizer, window_tokens: int, full: Callable[[], None]
    ) -> None:
        self._sink = sink
        self._tokens = RunningCount(tokenizer)
        self._window_tokens = window_tokens
        self._full: Callable[[], None] | None = full

    def write(self, block: bytes) -> None:
        self._sink.write(block)
        if self._full is None:
            return
        self._tokens.add(block)
        if self._tokens.at_most > self._window_tokens:
            self._tokens.count(self._window_tokens)
        if self._tokens.is_above(self._window_tokens):
            self._full()
            self._full = None

    def finish(self) -> None:
        self._sink.finish()


def replaced_size_bytes(data: bytearray) -> int:
    """Return the size of `data` after invalid UTF-8 was replaced, as the tokenizer sees it."""
    return len(data) if data.isascii() else len(data.decode("utf-8", "replace").encode())
