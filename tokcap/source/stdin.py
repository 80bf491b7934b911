"""Standard input as a source of bytes."""

from __future__ import annotations

import os

from tokcap.errors import StreamError
from tokcap.exits import TIMED_OUT, Ending
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.descriptors import is_readable_within, wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.request import Stream
    from tokcap.environment import Environment

# What a pipe holds; and a block of this size is not asked of the system each time anew.
READ_BYTES = 1 << 16


class StandardInput:
    """Reads until the end of input, or until its time is up. It has no exit status of its own."""

    def __init__(self, env: Environment, timeout_seconds: float | None = None) -> None:
        if env.stdin in env.closed:
            raise StreamError("cannot read standard input: it is closed; name a command, or pipe into tokcap")
        self._descriptor = env.stdin
        self._stopped = False
        self._clock = env.clock
        self._until = None if timeout_seconds is None else env.clock() + timeout_seconds
        self._is_late = False

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        while not self._stopped and self._is_in_time() and (block := self._read()):
            yield "out", block

    def _is_in_time(self) -> bool:
        """Wait for more, if it comes in time."""
        if self._until is not None:
            left = self._until - self._clock()
            self._is_late = left <= 0 or not is_readable_within(self._descriptor, left)
        return not self._is_late

    def stop(self, stream: Stream) -> None:
        self._stopped = self._stopped or stream == "out"

    def limit_reached(self) -> None:
        """Read no more: whoever writes finds that out as from any reader."""
        self._stopped = True

    def _read(self) -> bytes:
        while True:
            try:
                return os.read(self._descriptor, READ_BYTES)
            except BlockingIOError:
                wait_until_ready(self._descriptor, to_write=False)
            except OSError as error:
                raise StreamError(f"cannot read standard input: {error.strerror}") from None

    def end(self) -> Ending | None:
        return Ending(TIMED_OUT, stopped_for="timeout") if self._is_late else None

    def close(self) -> None:
        """Nothing to undo."""
