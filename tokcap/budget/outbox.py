"""What could not be settled because the server was away: one small file each, until a later call delivers it.

Each has the id of its grant, so that the server counts it once, however often it is delivered.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import Account, Settings, tokens_of
from tokcap.budget.base import Grant, new_grant_id, session_name
from tokcap.errors import SessionNotStarted, StoreError, TokcapError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTORY = "outbox"
LARGEST_BYTES = 10_000
# A server remembers ids for seven days. What is older might be counted twice, so it is not delivered.
LONGEST_SECONDS = 6.5 * 24 * 3600


class Waiting(Record):
    """A settlement that waits to be delivered."""

    # The ledger that it belongs to, without a password.
    ledger: str
    session: str
    id: int
    turn: str | None
    tokens: int
    kind: str
    # Seconds since 1970.
    time: float

    @property
    def is_too_old(self) -> bool:
        return time.time() - self.time > LONGEST_SECONDS


class Outbox:
    """The settlements of one data directory that wait for one ledger."""

    def __init__(self, data_dir: str, ledger: str) -> None:
        self._directory = os.path.join(data_dir, DIRECTORY)
        self._ledger = ledger

    def keep(self, session: str, grant: Grant | None, tokens: int, kind: str) -> bool:
        """Keep a settlement; return False if it cannot be written."""
        import json

        number = grant.id if grant else new_grant_id()
        turn = grant.turn if grant else None
        waiting = Waiting(self._ledger, session, number, turn, tokens, kind, time.time())
        try:
            private.make_directory(self._directory)
            private.replace_file(self._path(number), json.dumps(vars(waiting)).encode())
        except StoreError:
            return False
        return True

    def deliver(self, settle: Callable[[str, Grant, int, str], object]) -> None:
        """Settle everything that waits. What the server has counted is removed."""
        for waiting in self.waiting():
            if waiting.is_too_old:
                continue
            grant = Grant(waiting.id, waiting.tokens, waiting.turn, False, Account(Settings()))
            try:
                settle(waiting.session, grant, waiting.tokens, waiting.kind)
            except SessionNotStarted:
                # Its session may be started again. `tokcap doctor` lists it.
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
    directory = os.path.join(data_dir, DIRECTORY)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []
    paths = [os.path.join(directory, name) for name in names if not private.is_temporary(name)]
    return [entry for path in paths if (entry := read_entry(path))]


def read_entry(path: str) -> Waiting | None:
    import json

    try:
        fields = json.loads(private.read_file(path, LARGEST_BYTES))
        entry = Waiting(**fields)
        session_name(entry.session)
        tokens_of(entry.tokens, "tokens")
        is_valid = isinstance(entry.id, int) and isinstance(entry.time, int | float)
        return entry if is_valid else None
    except (OSError, ValueError, TypeError, AttributeError, TokcapError):
        return None
