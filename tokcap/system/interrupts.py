"""Let Ctrl-C wait while the code of another package runs that would take it for a failure of its own."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Handle an interrupt of this thread when the block has ended, not inside of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
