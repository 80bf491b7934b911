"""The connection with a client: messages as lines, from any thread, and the signals that end it."""

from __future__ import annotations

import os
import signal
import threading

from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import wait_for_any, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

READ_BYTES = 1 << 16
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
            if self._wake_read in wait_for_any((self._descriptor, self._wake_read)):
                return
            try:
                block = os.read(self._descriptor, READ_BYTES)
            except BlockingIOError:
                # Another process reads it too, and was faster.
                continue
            except OSError:
                # A terminal or a socket that was closed by the other side.
                block = b""
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


class SignalReceived(BaseException):
    """A signal has arrived that ends the connection."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RaisedSignals:
    """A context in which the first signal raises `SignalReceived`. Later ones are ignored."""

    def __init__(self) -> None:
        self._is_held = False
        self._held_number: int | None = None
        self._watched = [each for each in ENDING_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]

    def hold(self) -> None:
        """Note a signal until the context is entered, while a process starts that has to be ended later."""
        self._is_held = True
        self._handle_with(self._receive)

    def __enter__(self) -> None:
        self._is_held = False
        self._handle_with(self._receive)
        if self._held_number is not None:
            self._receive(self._held_number, None)

    def __exit__(self, *_: object) -> None:
        self._handle_with(signal.SIG_IGN)

    def _handle_with(self, handler: signal.Handlers | Callable[[int, FrameType | None], None]) -> None:
        for each in self._watched:
            signal.signal(each, handler)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._is_held:
            self._held_number = number
            return
        self.__exit__()
        raise SignalReceived(number)
