"""Standard input as a source of bytes."""

from __future__ import annotations

import os

from tokcap.environment import wait_until_ready
from tokcap.errors import StreamError
from tokcap.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment
    from tokcap.exits import Ending
    from tokcap.types import Stream

READ_BYTES = 1 << 18


class StandardInput:
    """Reads until the end of input. It has no exit status."""

    def __init__(self, env: Environment) -> None:
        if env.stdin in env.closed:
            raise StreamError("cannot read standard input: it is closed; name a command, or pipe into tokcap")
        self._descriptor = env.stdin
        self._stopped = False

    def blocks(self) -> Iterator[tuple[Stream, bytes]]:
        while not self._stopped and (block := self._read()):
            yield "out", block

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
        return None

    def close(self) -> None:
        """Nothing to undo."""
