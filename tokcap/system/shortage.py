"""What a system can have too little of: descriptors, memory, processes. Running out of them is no defect.

Loaded before everything else, since loading is the first thing that takes some of each.
"""

from __future__ import annotations

import errno
import os

SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)

# What the system's loader says of an extension module, which Python hands on as an error of the import.
NO_ROOM_TO_LOAD = ("failed to map segment", os.strerror(errno.ENOMEM), os.strerror(errno.EMFILE))


def shortage_of(error: BaseException) -> str:
    """What there is not enough of, as one line; empty if the error is another one."""
    if isinstance(error, MemoryError):
        return "there is not enough memory; allow more of it (see ulimit -v)"
    if isinstance(error, OSError) and error.errno in SHORTAGES:
        return f"{os.strerror(error.errno)}; allow more of them (see ulimit -a)"
    if isinstance(error, ImportError) and any(words in str(error) for words in NO_ROOM_TO_LOAD):
        return f"there is not enough memory, or too few descriptors, to load {error.name} (see ulimit -a)"
    return ""
