"""End a process when its parent dies. A parent that is killed cannot pass the signal on.

Only Linux can do that. Importing `ctypes` would take ten times as long as what it is built on.
"""

from __future__ import annotations

import os
import sys

# PR_SET_PDEATHSIG, and SIGKILL, which have these numbers everywhere.
SET_PARENT_DEATH_SIGNAL = 1
KILL = 9
LOAD_NOW = 2


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when `parent` dies. It stays so after `execve`."""
    if sys.platform != "linux":
        return
    try:
        import _ctypes

        program = _ctypes.dlopen(None, LOAD_NOW)  # type: ignore[arg-type]  # None is this program
        function = _ctypes.dlsym(program, "prctl")
        _ctypes.call_function(function, (SET_PARENT_DEATH_SIGNAL, KILL))
    except (ImportError, AttributeError, OSError):
        # Another C library, or a Python without it: the command ends when it writes next.
        return
    if os.getppid() != parent:
        # It has died before.
        os._exit(KILL)
