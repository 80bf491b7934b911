"""Signals that end a server or a proxy, as an exception in its main thread."""

from __future__ import annotations

import signal

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalReceived(BaseException):
    """A signal has arrived."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class RaisedSignals:
    """A context in which the first signal raises `SignalReceived`. Later ones are ignored."""

    def __init__(self) -> None:
        self._watched = [each for each in ENDING_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]

    def __enter__(self) -> None:
        for each in self._watched:
            signal.signal(each, self._raise)

    def __exit__(self, *_: object) -> None:
        for each in self._watched:
            signal.signal(each, signal.SIG_IGN)

    def _raise(self, number: int, _: FrameType | None) -> NoReturn:
        self.__exit__()
        raise SignalReceived(number)
