"""Messages as lines: read them from one descriptor, write them to another, from any thread."""

from __future__ import annotations

import os
import threading

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.descriptors import wait_for_any, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

READ_BYTES = 1 << 16


class IncomingLines:
    """The lines of a descriptor, without `\\n`, until it ends or `stop` is called."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        # A thread that waits in `read` cannot be woken. So it waits for this pipe too.
        self._wake_read, self._wake_write = os.pipe()

    def stop(self) -> None:
        """End the iteration. Any thread may call this."""
        os.write(self._wake_write, b".")

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        while True:
            ready = wait_for_any((self._descriptor, self._wake_read))
            if self._wake_read in ready:
                return
            block = read_block(self._descriptor)
            if block is None:
                continue
            if not block:
                # The last line may have no line end.
                if parts:
                    yield b"".join(parts)
                return
            *lines, rest = block.split(b"\n")
            for line in lines:
                yield b"".join((*parts, line))
                parts.clear()
            if rest:
                parts.append(rest)


def read_block(descriptor: int) -> bytes | None:
    """Read some bytes: none at the end, None if another reader was faster."""
    try:
        return os.read(descriptor, READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        # A terminal or a socket that was closed by the other side.
        return b""


class OutgoingLines:
    """Writes whole lines. After the reader has gone, nothing is written any more."""

    def __init__(self, descriptor: int, on_gone: Callable[[], None]) -> None:
        """`on_gone` is called once, when the reader has gone."""
        self._descriptor = descriptor
        self._on_gone = on_gone
        self._lock = threading.Lock()
        self._is_gone = False

    def send(self, line: bytes) -> None:
        with self._lock:
            if self._is_gone:
                return
            try:
                write_all(self._descriptor, line + b"\n")
            except OSError:
                self._is_gone = True
            else:
                return
        self._on_gone()
