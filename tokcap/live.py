"""Live passing: what is certain to be inside the window is passed on as it comes, so that a build scrolls.

Certain is what fits even if nothing else of the window were left but room for the mark and for stderr. What
was passed on is the beginning of the answer, which leaves it out when it is written.
"""

from __future__ import annotations

from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.capture import Spool
    from tokcap.types import Tokenizer

# So much is waited for to be sure that an output is text.
BEGINNING_BYTES = 1 << 16
# As far back from its end a certain cut is looked for.
LOOK_BACK = 512


class Live:
    """Keeps everything in its spool, and passes on the beginning of it."""

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
        self._tokenizer = tokenizer
        self._room = room_tokens
        self._is_text = is_text
        self._is_certain = False
        self._open = room_tokens > 0
        # Tokens up to the last certain cut, and the bytes behind it.
        self._tokens = 0
        self._behind = bytearray()
        # Bytes that are out already.
        self.passed = 0

    def write(self, block: bytes) -> None:
        self.spool.write(block)
        if self._open:
            self._behind += block
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._is_certain:
            beginning = self.spool.read(0, min(self.spool.size, BEGINNING_BYTES))
            self._is_certain = self._is_text(beginning)
            self._open = self._is_certain or len(beginning) < BEGINNING_BYTES
            if not self._is_certain:
                return
        # A token has at least one byte: while there are few, nothing has to be counted.
        if self._tokens + replaced_bytes(self._behind) > self._room:
            self._count()
        if self._tokens + replaced_bytes(self._behind) > self._room:
            self._open = False
            return
        data = self.spool.read(self.passed, self.spool.size)
        self.passed = self.spool.size
        self._write(data)

    def _count(self) -> None:
        """Count what lies before the last place where the text can be cut for certain."""
        cut = None
        search_from = max(len(self._behind) - LOOK_BACK, 0)
        while (found := self._tokenizer.certain_cut(self._behind, 0, search_from)) is not None:
            cut, search_from = found, found
        if cut:
            self._tokens += self._tokenizer.count(self._behind[:cut].decode("utf-8", "replace"))
            del self._behind[:cut]

    def finish(self) -> None:
        """What was held back is left to the answer."""

    def close(self) -> None:
        self.spool.close()


def replaced_bytes(data: bytearray) -> int:
    """How many bytes it has as the tokenizer sees it, at the most."""
    return len(data) if data.isascii() else len(data.decode("utf-8", "replace").encode())
