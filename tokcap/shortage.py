"""What a system can have too little of: descriptors, memory, processes. Running out of them is no defect.

Loaded before everything else, since loading is the first thing that takes some of each.
"""

from __future__ import annotations

import errno
import os

SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)


def shortage_of(error: BaseException) -> str:
    """What there is not enough of, as one line; empty if the error is another one."""
    if isinstance(error, MemoryError):
        return "there is not enough memory; allow more of it (see ulimit -v)"
    if isinstance(error, OSError) and error.errno in SHORTAGES:
        return f"{os.strerror(error.errno)}; allow more of them (see ulimit -a)"
    return ""
