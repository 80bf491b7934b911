"""What ledgers on servers share: their URLs, the outbox for usage that waits, and leases that are renewed."""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import Account, Settings, tokens_of
from tokcap.budget.base import Grant, session_name
from tokcap.errors import SessionNotStarted, StoreError, TokcapError
from tokcap.startup.accelerators import thread
from tokcap.startup.plainjson import compact, loads
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private
from tokcap.system.urls import seconds_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.budget.ledger import Ledger

TIMEOUT_SECONDS = 3.0
LEASE_SECONDS = 20.0
# Parameters that every ledger on a server takes.
TIMEOUT, LEASE = "timeout", "lease"

# The ledgers that this process has opened, by what tells them apart: all their sessions share a connection.
_opened: dict[str, Ledger] = {}


def opened(name: str, make: Callable[[], Ledger]) -> Ledger:
    """Return the ledger of that name, which is made once."""
    return _opened.get(name) or _opened.setdefault(name, make())


def times_in(parameters: Mapping[str, str]) -> tuple[float, float]:
    """Return how many seconds a step may take, and how many a lease lasts."""
    return (
        seconds_in(parameters, TIMEOUT, TIMEOUT_SECONDS, whose="the ledger's URL"),
        seconds_in(parameters, LEASE, LEASE_SECONDS, least=1.0, whose="the ledger's URL"),
    )


# The outbox: what could not be settled because the server was away, in one small file each

OUTBOX = "outbox"
LARGEST_BYTES = 10_000
# A ledger remembers steps for seven days. What is older might be counted twice, so it is not delivered.
LONGEST_SECONDS = 6.5 * 24 * 3600


class Waiting(Record):
    """A settlement that waits to be delivered. Its id lets the ledger count it once."""

    # The ledger that it belongs to, without a password.
    ledger: str
    session: str
    id: int
    turn: str | None
    tokens: int
    # Seconds since 1970.
    time: float
    # As in a `Grant`.
    sessions: tuple[tuple[str, str], ...] = ()

    @property
    def is_too_old(self) -> bool:
        return time.time() - self.time > LONGEST_SECONDS

    @property
    def grant(self) -> Grant:
        sessions = tuple([(session_name(name), str(identity)) for name, identity in self.sessions])
        return Grant(self.id, self.tokens, self.turn, False, Account(Settings()), sessions)


class Outbox:
    """The settlements of one data directory that wait for one ledger."""

    def __init__(self, data_dir: str, ledger: str) -> None:
        self._directory = os.path.join(data_dir, OUTBOX)
        self._ledger = ledger

    def keep(self, session: str, grant: Grant, tokens: int) -> bool:
        """Keep a settlement; return False if it cannot be written."""
        waiting = Waiting(self._ledger, session, grant.id, grant.turn, tokens, time.time(), grant.sessions)
        try:
            private.make_directory(self._directory)
            private.replace_file(self._path(grant.id), compact(vars(waiting)))
        except StoreError:
            return False
        return True

    def deliver(self, settle: Callable[[str, Grant, int], object]) -> None:
        """Settle everything that waits. What the server has counted is removed."""
        for waiting in self.waiting():
            if waiting.is_too_old:
                continue
            try:
                settle(waiting.session, waiting.grant, waiting.tokens)
            except SessionNotStarted:
                # The session may be started again. Until then `tokcap doctor` lists what waits.
                continue
            os.unlink(self._path(waiting.id))

    def waiting(self) -> list[Waiting]:
        """Return what waits for this ledger. A file that cannot be read is left alone."""
        entries = all_waiting(os.path.dirname(self._directory))
        return [entry for entry in entries if entry.ledger == self._ledger]

    def _path(self, number: int) -> str:
        return os.path.join(self._directory, f"{number:016x}")


def all_waiting(data_dir: str) -> list[Waiting]:
    """Return what waits in a data directory, for any ledger."""
    directory = os.path.join(data_dir, OUTBOX)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    paths = [os.path.join(directory, name) for name in names if not private.is_temporary(name)]
    return [entry for path in paths if (entry := read_entry(path))]


def read_entry(path: str) -> Waiting | None:
    try:
        entry = Waiting(**loads(private.read_file(path, LARGEST_BYTES).decode()))
        session_name(entry.session)
        tokens_of(entry.tokens, "tokens")
        is_valid = isinstance(entry.grant.id, int) and isinstance(entry.time, int | float)
        return entry if is_valid else None
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, TokcapError):
        return None


# Leases

# A lease is renewed this often in its time: one attempt may fail.
RENEWALS_OF_LEASE = 3


class LeaseKeeper:
    """Renews the grants that it has, in a thread, until they are dropped. Without any, it has no thread.

    Only ledgers on a server have leases. What is not renewed in time is free for others; if its holder was
    only slow, what it settles later is counted.
    """

    def __init__(self, renew: Callable[[Grant], object], lease_seconds: float) -> None:
        self._renew_one = renew
        self._pause_seconds = lease_seconds / RENEWALS_OF_LEASE
        self._grants: dict[int, Grant] = {}
        self._guard = thread.allocate_lock()
        # Released to wake the thread; None while there is no thread.
        self._sleep: thread.LockType | None = None

    def add(self, grant: Grant) -> None:
        """Renew this grant from now on."""
        from tokcap.system.threads import Worker

        with self._guard:
            self._grants[grant.id] = grant
            if self._sleep is not None:
                return
            self._sleep = sleep = thread.allocate_lock()
            sleep.acquire()
        try:
            Worker(lambda: self._renew(sleep))
        except RuntimeError:
            # No thread can be started. The grant is good for the time of its lease.
            self._sleep = None

    def drop(self, grant: Grant) -> None:
        """Stop renewing this grant. The last one ends the thread."""
        with self._guard:
            self._grants.pop(grant.id, None)
            if not self._grants and self._sleep is not None:
                self._sleep.release()
                self._sleep = None

    def _renew(self, sleep: thread.LockType) -> None:
        while not sleep.acquire(timeout=self._pause_seconds):
            with self._guard:
                grants = [*self._grants.values()]
            for grant in grants:
                try:
                    self._renew_one(grant)
                except Exception:  # noqa: S110  # the server may be back in time for the next attempt
                    pass
