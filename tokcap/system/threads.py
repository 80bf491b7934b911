"""Decide whether a fork is safe.

It is unsafe while an unknown thread runs: locks that the thread holds would stay locked in the child.
"""

from __future__ import annotations

import os
from _thread import _count as count_other_threads
from _thread import get_ident, start_new_thread

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Threads that share no lock with the code that runs after a fork.
_fork_safe: set[int] = set()


def start_fork_safe_thread(work: Callable[[], None]) -> None:
    """Start a thread that shares no lock with code that forks; `RuntimeError` if no thread can be started."""

    def run() -> None:
        _fork_safe.add(get_ident())
        try:
            work()
        finally:
            _fork_safe.discard(get_ident())

    start_new_thread(run, ())


def may_fork() -> bool:
    """Return whether this process can fork, and no other thread makes that unsafe."""
    return hasattr(os, "fork") and count_other_threads() <= len(_fork_safe)
