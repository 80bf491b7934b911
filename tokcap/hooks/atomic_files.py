"""Put a complete file at a path in one step: create it, replace it, or exchange it with the one there."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

# From <fcntl.h> and <linux/fs.h>.
AT_FDCWD = -100
RENAME_EXCHANGE = 2


def temporary_name(path: str) -> str:
    """Return a new name next to a file."""
    return f"{path}.{os.urandom(4).hex()}.new"


def write_temporary(path: str, data: bytes, like: str = "") -> str:
    """Write a new file next to `path` and return its name.

    Mode and owner are those of the file at `path`, or of the file `like`.
    """
    temporary = temporary_name(path)
    try:
        before = os.stat(like or path)
    except FileNotFoundError:
        before = None
    # Settings can contain secrets: only the user can read the new file until it gets its final mode.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if before is not None:
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fchmod(file.fileno(), before.st_mode & 0o7777)
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(temporary)
        raise
    return temporary


def replace(path: str, data: bytes, like: str = "") -> None:
    """Write a file, whatever is there."""
    temporary = write_temporary(path, data, like)
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def create(temporary: str, path: str) -> bool:
    """Move a file to a path. Return False, and drop the file, if there is one already."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        os.unlink(temporary)
        return False
    except OSError:
        # The file system has no hard links.
        if os.path.lexists(path):
            os.unlink(temporary)
            return False
        os.replace(temporary, path)
        return True
    os.unlink(temporary)
    return True


def exchange(one: str, other: str) -> bool:
    """Exchange two files in one step. Return False if the system or the file system cannot."""
    call = renameat2()
    if call is None:
        return False
    done: int = call(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    return done == 0


@functools.cache
def renameat2() -> Any:
    """Return the function of the C library; None if it has none."""
    return getattr(ctypes.CDLL(None), "renameat2", None)
