"""Whether the holder of a reservation still runs, as far as the locks of a file tell.

Process ids are reused, and mean nothing on another machine or in another container. So a process that holds
reservations locks one byte of a file beside the ledger. The system unlocks it when the process ends, however
it ends, and everyone who shares the directory can see that. No clock is involved.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.startup.accelerators import thread
from tokcap.system import private_files as private

# The byte is chosen at random among this many. Locks need no bytes in the file: it stays empty.
PLACES = (1 << 31) - 1

# By process and path: the descriptor through which this process has locked a byte, and that byte. It stays
# open until the process ends, because closing any descriptor of the file would unlock the byte. A forked
# process inherits the entries of its parent, but not the locks, so each process has its own.
_present: dict[tuple[int, str], tuple[int, int]] = {}
_guards: dict[int, thread.LockType] = {}


def guard() -> thread.LockType:
    """Return a lock that keeps the other threads of this process out."""
    return _guards.setdefault(os.getpid(), thread.allocate_lock())


def hold(path: str) -> int:
    """Note that this process holds reservations; return the byte that it has locked as long as it runs."""
    key = os.getpid(), path
    with guard():
        descriptor, place = _present.get(key, (-1, 0))
        if descriptor >= 0 and not os.fstat(descriptor).st_nlink:
            # The file was removed with its directory. Others look at a new one.
            os.close(descriptor)
            descriptor = -1
        if descriptor < 0:
            # 0 means that a reservation has no place.
            place = 1 + int.from_bytes(os.urandom(4), "big") % PLACES
            _present[key] = lock_byte(path, place), place
        return place


def lock_byte(path: str, place: int) -> int:
    """Lock a byte of the file; return the descriptor that keeps it locked."""
    descriptor = open_shared(path)
    try:
        os.lseek(descriptor, place, os.SEEK_SET)
        os.lockf(descriptor, os.F_TLOCK, 1)
    except OSError as error:
        os.close(descriptor)
        raise private.refused(path, error) from None
    return descriptor


def is_present(path: str, place: int) -> bool:
    """Return whether the process that has locked this byte still runs."""
    with guard():
        own, own_place = _present.get((os.getpid(), path), (-1, 0))
        if own >= 0:
            return place == own_place or is_locked(own, place)
        try:
            descriptor = open_shared(path, flags=0)
        except FileNotFoundError:
            return False
        try:
            return is_locked(descriptor, place)
        finally:
            os.close(descriptor)


def is_locked(descriptor: int, place: int) -> bool:
    """Return whether another process has locked a byte."""
    os.lseek(descriptor, place, os.SEEK_SET)
    try:
        os.lockf(descriptor, os.F_TEST, 1)
    except OSError:
        # If locks do not work at all, nothing says that the process has ended.
        return True
    return False


def open_shared(path: str, flags: int = os.O_CREAT) -> int:
    """Open the file that holders lock, and create it if that is wanted; else `FileNotFoundError`."""
    try:
        descriptor = os.open(path, os.O_RDWR | flags | private.FOLLOW_NOTHING, private.FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise private.refused(path, error) from None
    try:
        found = os.fstat(descriptor)
        private.check_own_regular(path, found)
        if found.st_mode & 0o777 != private.FILE_MODE:
            # The umask may have taken more than others' rights.
            os.fchmod(descriptor, private.FILE_MODE)
    except StoreError:
        os.close(descriptor)
        raise
    return descriptor
