"""Renew the leases of grants while their holder works: a thread that does nothing else.

Only ledgers on a server have leases. What is not renewed in time is free for others; if its holder was only
slow, what it settles later is counted.
"""

from __future__ import annotations

from _thread import allocate_lock

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.threads import start_fork_safe_thread

if TYPE_CHECKING:
    from _thread import LockType

    from tokcap.budget.base import Grant, SessionView

# A lease is renewed so often in its time: one attempt may fail.
RENEWALS = 3


class LeaseKeeper:
    """Renews the grants that it has, until they are dropped. Without any, it has no thread."""

    def __init__(self, session: SessionView, lease_seconds: float) -> None:
        self._session = session
        self._pause_seconds = lease_seconds / RENEWALS
        self._grants: dict[int, Grant] = {}
        self._guard = allocate_lock()
        # Released to wake the thread; None while there is no thread.
        self._sleep: LockType | None = None

    def add(self, grant: Grant) -> None:
        """Renew this grant from now on."""
        with self._guard:
            self._grants[grant.id] = grant
            if self._sleep is not None:
                return
            self._sleep = sleep = allocate_lock()
            sleep.acquire()
        try:
            start_fork_safe_thread(lambda: self._renew(sleep))
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

    def _renew(self, sleep: LockType) -> None:
        while not sleep.acquire(timeout=self._pause_seconds):
            with self._guard:
                grants = [*self._grants.values()]
            for grant in grants:
                try:
                    self._session.renew(grant)
                except Exception:  # noqa: S110  # the server may be back in time for the next attempt
                    pass
