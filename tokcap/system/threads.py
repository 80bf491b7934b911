"""Threads that can always be joined."""

from __future__ import annotations

from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Worker:
    """A thread that runs `work` once. It runs when the constructor returns.

    `RuntimeError` if no thread can be started.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._has_begun = False
        self._is_complete = False
        # Released when the thread has begun, or cannot begin.
        self._begun = thread.allocate_lock()
        self._begun.acquire()
        # Locked while the thread runs.
        self._running = thread.allocate_lock()
        self._running.acquire()
        thread.start_new_thread(self._steps().__next__, ())
        with self._begun:
            pass
        if not self._has_begun:
            raise RuntimeError("there is no memory for a thread")

    def _steps(self) -> Iterator[None]:
        """Run the work when the thread asks for the first step.

        A new thread has no memory for the frame of a function. If there is none left, a function ends before
        its first line, and who waits for it waits forever. A generator brings its frame along.
        """
        try:
            self._run()
        except (MemoryError, SystemError):
            # `wait` reports it.
            pass
        finally:
            if not self._has_begun:
                self._begun.release()
            self._running.release()
        yield

    def _run(self) -> None:
        self._has_begun = True
        self._begun.release()
        self._work()
        self._is_complete = True

    def wait(self) -> bool:
        """Wait for the end of the thread. Return False if its work is not complete, for lack of memory."""
        with self._running:
            return self._is_complete
