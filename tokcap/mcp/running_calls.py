"""The calls that are running. Each has its own thread, its cancellation, and progress if the client asked."""

from __future__ import annotations

import threading
import time

from tokcap.lean.record import TYPE_CHECKING
from tokcap.mcp.cancellation import Cancellation
from tokcap.mcp.messages import key_of, line_of, notification

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tokcap.mcp.line_streams import OutgoingLines

# How long commands may take to end when the server ends. They get KILL after a second.
END_SECONDS = 1.8
PROGRESS_SECONDS = 2.0


class RunningCalls:
    """Starts calls and ends them."""

    def __init__(self, outgoing: OutgoingLines) -> None:
        self._outgoing = outgoing
        self._lock = threading.Lock()
        self._calls: dict[str, tuple[Cancellation, threading.Thread]] = {}

    def start(self, number: Any, token: Any, work: Callable[[Cancellation], None]) -> None:
        """Do the work of a request in a thread. `token` is that of its progress; None: nobody asked."""
        cancellation, done, key = Cancellation(), threading.Event(), key_of(number)

        def run() -> None:
            try:
                work(cancellation)
            finally:
                done.set()
                with self._lock:
                    if self._calls.get(key, (None,))[0] is cancellation:
                        del self._calls[key]

        thread = threading.Thread(target=run, name="tokcap.mcp.call", daemon=True)
        with self._lock:
            self._calls[key] = cancellation, thread
        thread.start()
        if token is not None:
            report = threading.Thread(target=self._report, args=(token, done), daemon=True)
            report.start()

    def cancel(self, number: Any) -> None:
        """Stop one call, if it is still running."""
        with self._lock:
            found = self._calls.get(key_of(number))
        if found:
            found[0].request()

    def close(self) -> None:
        """Stop all calls, and wait until their commands have ended."""
        with self._lock:
            running = [*self._calls.values()]
        for cancellation, _ in running:
            cancellation.request()
        deadline = time.monotonic() + END_SECONDS
        for _, thread in running:
            thread.join(max(deadline - time.monotonic(), 0))

    def _report(self, token: Any, done: threading.Event) -> None:
        """Tell the client from time to time that the call is running, so that it goes on waiting."""
        started = time.monotonic()
        while not done.wait(PROGRESS_SECONDS):
            seconds = round(time.monotonic() - started)
            params = {"progressToken": token, "progress": seconds, "message": f"running for {seconds} s"}
            self._outgoing.send(line_of(notification("notifications/progress", params)))
