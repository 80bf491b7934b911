"""A request to stop a call, made by another thread: by the client, or because the server ends."""

from __future__ import annotations

import threading

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Cancellation:
    """Says whether a call is still wanted, and stops what it waits for if it is not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], object] | None = None
        self.is_requested = False

    def request(self) -> None:
        """Stop the call. Its result is no longer wanted."""
        with self._lock:
            self.is_requested = True
            stop = self._stop
        if stop:
            stop()

    def stops(self, stop: Callable[[], object]) -> None:
        """Call `stop` when the call is cancelled, or at once if it already was."""
        with self._lock:
            self._stop = stop
            is_late = self.is_requested
        if is_late:
            stop()
