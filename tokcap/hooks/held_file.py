"""Change a file that other programs may change at the same time, without losing what they write.

`hold` yields a file as it is now, and the file replaces or deletes itself only if it still is that. On Linux
a lease of the kernel keeps everybody else from opening it meanwhile. Without one, the old version is swapped
out, compared, and put back if it is not what was read.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokcap.hooks.atomic_files import create, exchange, replace, temporary_name, write_temporary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class HeldFile(Protocol):
        """A file, as it was when it was read."""

        data: bytes | None

        def replace(self, data: bytes) -> bool:
            """Replace the contents. Return False, and change nothing, if the file has changed."""
            ...

        def delete(self) -> bool:
            """Delete the file. Return False, and change nothing, if the file has changed."""
            ...


# How long to wait until nobody else has the file open. A program that only reads it may keep it open.
LEASE_SECONDS = 1.0
RETRY_SECONDS = 0.001
# How long another program that has opened the old version may take to write to it.
SETTLE_SECONDS = 0.02
# The new version is there as a whole while it is copied into the file.
COPY_SUFFIX = ".tokcap-new"

# The lease cannot be had because somebody has the file open; any other error means that it never can.
BUSY = (errno.EAGAIN, errno.EACCES)


@contextmanager
def hold(path: str) -> Iterator[HeldFile]:
    """Read a file, and keep it from changing as well as the system can. Links must be resolved."""
    descriptor = None
    held: HeldFile
    try:
        descriptor = lease(path)
        held = LeasedFile(path, descriptor) if descriptor is not None else SwappedFile(path)
    except FileNotFoundError:
        held = MissingFile(path)
    try:
        yield held
    finally:
        if descriptor is not None:
            # This ends the lease.
            os.close(descriptor)


def lease(path: str) -> int | None:
    """Open a file and keep everybody else from opening it; None if that is not possible."""
    deadline = time.monotonic() + LEASE_SECONDS
    while hasattr(fcntl, "F_SETLEASE") and time.monotonic() < deadline:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except PermissionError:
            return None
        try:
            # Another program that waits is reported by a signal. The default one would end this process.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            if is_at(descriptor, path):
                return descriptor
        except OSError as error:
            if error.errno not in BUSY or not owns(descriptor):
                os.close(descriptor)
                return None
        os.close(descriptor)
        time.sleep(RETRY_SECONDS)
    return None


def owns(descriptor: int) -> bool:
    """Return whether the file is ours: nobody but root can lease the files of others."""
    return os.geteuid() in (0, os.fstat(descriptor).st_uid)


def is_at(descriptor: int, path: str) -> bool:
    """Return whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class MissingFile:
    """No file yet."""

    data: bytes | None = None

    def __init__(self, path: str) -> None:
        self._path = path

    def replace(self, data: bytes) -> bool:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        return create(write_temporary(self._path, data), self._path)

    def delete(self) -> bool:
        return True


class LeasedFile:
    """A file that nobody else can open. It is written in place, so links, owner and mode stay."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._before = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        self.data: bytes | None = self._before

    def replace(self, data: bytes) -> bool:
        # If the machine stops while the file is written, this copy is complete.
        copy = self._path + COPY_SUFFIX
        replace(copy, data, like=self._path)
        try:
            self._write(data)
        finally:
            os.unlink(copy)
        # A program that replaces files instead of writing to them does not open this one.
        return is_at(self._descriptor, self._path)

    def _write(self, data: bytes) -> None:
        if len(data) > len(self._before):
            try:
                # Find out first whether there is room.
                os.posix_fallocate(self._descriptor, 0, len(data))
            except OSError:
                os.ftruncate(self._descriptor, len(self._before))
                raise
        # Blanks over the rest of a longer version: the file is valid JSON before it is cut, too.
        whole = data.ljust(len(self._before))
        written = 0
        while written < len(whole):
            written += os.pwrite(self._descriptor, whole[written:], written)
        os.ftruncate(self._descriptor, len(data))
        os.fsync(self._descriptor)

    def delete(self) -> bool:
        aside = temporary_name(self._path)
        os.rename(self._path, aside)
        # Somebody may have been about to open it.
        time.sleep(SETTLE_SECONDS)
        awaited = fcntl.fcntl(self._descriptor, fcntl.F_GETLEASE) != fcntl.F_WRLCK
        if awaited or not is_at(self._descriptor, aside):
            create(aside, self._path)
            return False
        os.unlink(aside)
        return True


class SwappedFile:
    """A file that others can open. What they wrote meanwhile is noticed and put back."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.data: bytes | None = read(path)

    def replace(self, data: bytes) -> bool:
        other = write_temporary(self._path, data, like=self._path)
        if not exchange(other, self._path):
            # The smallest window that is left without an exchange.
            if read(self._path) != self.data:
                os.unlink(other)
                return False
            os.replace(other, self._path)
            return True
        found = read(other)
        if found == self.data:
            time.sleep(SETTLE_SECONDS)
            found = read(other)
        unchanged = found == self.data
        if not unchanged:
            self._put_back(other, found, data)
        os.unlink(other)
        return unchanged

    def _put_back(self, other: str, found: bytes, put: bytes) -> None:
        """Put back what somebody wrote, until what comes out is what was put in before."""
        while exchange(other, self._path) and (out := read(other)) != put:
            found, put = out, found

    def delete(self) -> bool:
        aside = temporary_name(self._path)
        os.rename(self._path, aside)
        time.sleep(SETTLE_SECONDS)
        if read(aside) != self.data:
            create(aside, self._path)
            return False
        os.unlink(aside)
        return True
