"""Signals that end a server or a proxy, as an exception in its main thread."""

from __future__ import annotations

import signal

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalReceived(BaseException):
    """A signal has arrived."""

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
        self._watch()

    def __enter__(self) -> None:
        self._is_held = False
        self._watch()
        if self._held_number is not None:
            self.__exit__()
            raise SignalReceived(self._held_number)

    def __exit__(self, *_: object) -> None:
        for each in self._watched:
            signal.signal(each, signal.SIG_IGN)

    def _watch(self) -> None:
        for each in self._watched:
            signal.signal(each, self._receive)

    def _receive(self, number: int, _: FrameType | None) -> None:
        if self._is_held:
            self._held_number = number
            return
        self.__exit__()
        raise SignalReceived(number)
