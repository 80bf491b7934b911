"""Threads that nobody waits for in vain, and whether a fork is safe beside them."""

from __future__ import annotations

import os
from _thread import _count as count_other_threads
from _thread import allocate_lock, get_ident, start_new_thread

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Threads that share no lock with the code that runs after a fork.
_fork_safe: set[int] = set()


class Worker:
    """A thread that runs `work` once. It runs when the constructor returns.

    `RuntimeError` if no thread can be started.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._has_begun = False
        self._is_complete = False
        # Released when the thread has begun, or cannot begin.
        self._begun = allocate_lock()
        self._begun.acquire()
        # Locked while the thread runs.
        self._running = allocate_lock()
        self._running.acquire()
        start_new_thread(self._steps().__next__, ())
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


def start_fork_safe_thread(work: Callable[[], None]) -> None:
    """Start a thread that shares no lock with code that forks; `RuntimeError` if no thread can be started."""

    def run() -> None:
        _fork_safe.add(get_ident())
        try:
            work()
        finally:
            _fork_safe.discard(get_ident())

    Worker(run)


def may_fork() -> bool:
    """Return whether this process can fork, and no other thread makes that unsafe."""
    return hasattr(os, "fork") and count_other_threads() <= len(_fork_safe)
