"""Whether the holder of a reservation still runs, as far as the locks of a file tell.

Process ids mean nothing on another machine, or in another container. So a process that holds reservations
also locks one byte of a file beside the ledger. The system unlocks it when the process ends, however it ends,
and everyone who shares the directory can see that. No clock is involved.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Hashable

# Bytes are chosen at random among so many. Locks need no bytes in the file: it stays empty.
PLACES = 1 << 31


class Presence:
    """The byte that this process has locked, and the reservations that it holds.

    Every call must be inside a transaction of the ledger, which keeps other threads and processes out.
    """

    def __init__(self, path: str) -> None:
        self._descriptor = open_shared(path)
        self.place = int.from_bytes(os.urandom(4), "big") % PLACES
        self.held: set[Hashable] = set()
        self._seek(self.place)
        try:
            os.lockf(self._descriptor, os.F_TLOCK, 1)
        except OSError as error:
            os.close(self._descriptor)
            raise private.refused(path, error) from None

    def is_locked(self, place: int) -> bool:
        """Return whether another process has locked a byte."""
        self._seek(place)
        return is_locked_here(self._descriptor)

    def close(self) -> None:
        # This also unlocks the byte. No other descriptor of the file may be closed before: that would, too.
        os.close(self._descriptor)

    def _seek(self, place: int) -> None:
        os.lseek(self._descriptor, place, os.SEEK_SET)


# A forked process inherits the entries of its parent, but not the locks. So each process has its own.
_present: dict[tuple[int, str], Presence] = {}


def hold(path: str, reservation: Hashable) -> int:
    """Note that this process holds a reservation; return the byte that it has locked as long as it runs."""
    key = os.getpid(), path
    if key not in _present:
        _present[key] = Presence(path)
    _present[key].held.add(reservation)
    return _present[key].place


def is_holding(path: str) -> bool:
    """Return whether this process holds a reservation."""
    return (os.getpid(), path) in _present


def let_go(path: str, reservation: Hashable) -> None:
    """Note that a reservation is settled or released. The last one unlocks the byte."""
    key = os.getpid(), path
    if (found := _present.get(key)) is None:
        return
    found.held.discard(reservation)
    if not found.held:
        del _present[key]
        found.close()


def is_present(path: str, place: int) -> bool:
    """Return whether the process that has locked this byte still runs."""
    if (own := _present.get((os.getpid(), path))) is not None:
        # Closing a second descriptor of the file would unlock the byte of this process.
        return own.place == place or own.is_locked(place)
    try:
        descriptor = open_shared(path, flags=0)
    except FileNotFoundError:
        return False
    try:
        os.lseek(descriptor, place, os.SEEK_SET)
        return is_locked_here(descriptor)
    finally:
        os.close(descriptor)


def is_locked_here(descriptor: int) -> bool:
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
