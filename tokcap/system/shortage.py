"""Recognize errors that mean a lack of descriptors, memory or processes. These are not defects of tokcap.

Loaded before all other modules, because loading them may fail for the same reason.
"""

from __future__ import annotations

import errno
import os

SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

# Messages of the dynamic loader, which Python reports as an `ImportError`.
NO_ROOM_TO_LOAD = ("failed to map segment", os.strerror(errno.ENOMEM), os.strerror(errno.EMFILE))


def shortage_of(error: BaseException) -> str:
    """Return one line that says what is missing; empty if the error has another cause."""
    if isinstance(error, MemoryError):
        return "not enough memory; raise the limit (see ulimit -v)"
    if isinstance(error, OSError) and error.errno in SHORTAGES:
        return f"{os.strerror(error.errno)}; raise the limit (see ulimit -a)"
    if isinstance(error, ImportError) and any(words in str(error) for words in NO_ROOM_TO_LOAD):
        return f"not enough memory or descriptors to load {error.name} (see ulimit -a)"
    return ""
