"""The tables of the SQLite ledger, and the statements on them inside one transaction.

Nothing is calculated here: the caller gets its numbers from `arithmetic`.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import Account, Settings
from tokcap.budget.base import MOST_SHOWN, new_grant_id, not_started
from tokcap.budget.database import Transaction
from tokcap.budget.holder import Holder, is_gone, this_process
from tokcap.budget.presence import PLACES, hold, let_go
from tokcap.errors import LedgerError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

    from tokcap.budget.base import Grant
    from tokcap.budget.database import Database, Migrations

FILE_NAME = "ledger.db"
# The file whose bytes are locked by processes that hold reservations.
HOLDERS_NAME = "ledger.holders"

# Never change a released migration. A ledger of version N gets the migrations from N on, inside the
# first transaction that opens it.
MIGRATIONS: Migrations = (
    (
        # An ended session keeps its row as history; its name is free again.
        """CREATE TABLE sessions (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL, ended REAL,
            total INTEGER, context_window INTEGER, result_pct REAL, turn_pct REAL, floor_tokens INTEGER,
            used INTEGER NOT NULL DEFAULT 0, window_used INTEGER NOT NULL DEFAULT 0)""",
        "CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL",
        # Ids are random and never reused: a grant may outlive its row, and must not settle another grant.
        """CREATE TABLE reservations (
            id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, tokens INTEGER NOT NULL,
            turn TEXT, pid INTEGER NOT NULL, started INTEGER NOT NULL, boot TEXT NOT NULL,
            namespace TEXT NOT NULL)""",
        """CREATE TABLE turns (
            session INTEGER NOT NULL, turn TEXT NOT NULL, used INTEGER NOT NULL,
            PRIMARY KEY (session, turn)) WITHOUT ROWID""",
        """CREATE TABLE events (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
            tokens INTEGER NOT NULL, key TEXT)""",
        "CREATE UNIQUE INDEX counted ON events (session, key) WHERE key IS NOT NULL",
    ),
    (
        # What may be written already: it counts as used if the holder dies.
        "ALTER TABLE reservations ADD COLUMN announced INTEGER NOT NULL DEFAULT 0",
        # The reservation of a dead holder, in case that holder was only out of sight and still settles.
        "ALTER TABLE events ADD COLUMN reservation INTEGER",
        "CREATE INDEX deaths ON events (reservation) WHERE reservation IS NOT NULL",
    ),
    (
        # How often the context was compacted: what was shown before that is gone.
        "ALTER TABLE sessions ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0",
        # What the present context was shown. Keys are digests: commands may contain secrets.
        """CREATE TABLE shown (
            id INTEGER PRIMARY KEY, session INTEGER NOT NULL, key TEXT NOT NULL,
            handle TEXT NOT NULL)""",
        "CREATE UNIQUE INDEX shown_keys ON shown (session, key)",
    ),
    (
        # The byte that the holder has locked: see `presence`.
        "ALTER TABLE reservations ADD COLUMN place INTEGER",
        # What each grant was settled with, so that settling it again changes nothing.
        "DROP INDEX deaths",
        "CREATE INDEX settled ON events (reservation) WHERE reservation IS NOT NULL",
    ),
)
# How the history calls what was counted because its process died, or gave up after it had written.
UNSETTLED = "unsettled"

# Adding to a number below this one never overflows a 64-bit column.
MOST_STORED = 1 << 62


class StoredSession(Record):
    """A session that exists, by the id of its row."""

    session: int
    account: Account


class HeldReservation(Record):
    """A reservation as its row says."""

    id: int
    session: int
    turn: str | None
    announced: int


class CountedEvent(Record):
    """Tokens that were counted for a grant that is gone."""

    id: int
    session: int
    turn: str | None
    tokens: int
    # Whether its holder settled it. If not, the holder seemed dead or gave up, and may still settle.
    is_settled: bool


class LedgerTransaction(Transaction):
    """A transaction that first frees the reservations of processes that have ended."""

    def __init__(self, database: Database, *, frees_abandoned: bool = True) -> None:
        super().__init__(database)
        self._frees_abandoned = frees_abandoned
        self._holders_path = holders_path(database.path)

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            if self._frees_abandoned:
                self._here = this_process()
                self._free_abandoned_reservations()
        except BaseException as error:
            self._close(error)
            raise
        return self

    def find(self, name: str) -> StoredSession | None:
        """Return the session of this name that has not ended."""
        found = self.rows("SELECT id FROM sessions WHERE name = ? AND ended IS NULL", name)
        return StoredSession(found[0][0], self.account(found[0][0])) if found else None

    def need(self, name: str) -> StoredSession:
        """Return the session of this name; raise `SessionNotStarted` if there is none."""
        found = self.find(name)
        if found is None:
            raise not_started(name)
        return found

    def running(self) -> list[tuple[int, str, float]]:
        """Return id, name and start time of all sessions that have not ended, in order of their start."""
        return self.rows("SELECT id, name, created FROM sessions WHERE ended IS NULL ORDER BY id")

    def account(self, session: int) -> Account:
        """Return the numbers of a session, ended or not."""
        rows = self.rows(
            """SELECT total, context_window, result_pct, turn_pct, floor_tokens, used, window_used,
                (SELECT coalesce(sum(tokens), 0) FROM reservations WHERE session = sessions.id)
            FROM sessions WHERE id = ?""",
            session,
        )
        # SQLite stores any value in any column.
        try:
            ((total, window, result_pct, turn_pct, floor_tokens, used, window_used, reserved),) = rows
            settings = Settings(
                total=total,
                context_window=window,
                result_pct=result_pct,
                turn_pct=turn_pct,
                floor_tokens=floor_tokens,
            ).checked()
        except (TypeError, ValueError):
            raise invalid_numbers(session) from None
        check_counts(session, used, window_used, reserved)
        return Account(settings, used=used, reserved=reserved, window_used=window_used)

    def insert_session(self, name: str, settings: Settings) -> int:
        return self.run(
            """INSERT INTO sessions
                (name, created, total, context_window, result_pct, turn_pct, floor_tokens)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            name,
            time.time(),
            settings.total,
            settings.context_window,
            settings.result_pct,
            settings.turn_pct,
            settings.floor_tokens,
        )

    def save_usage(self, session: int, account: Account) -> None:
        """Write the used tokens of an account. Reserved tokens are in the table `reservations`."""
        self.run(
            "UPDATE sessions SET used = ?, window_used = ? WHERE id = ?",
            account.used,
            account.window_used,
            session,
        )

    def close_session(self, session: int) -> None:
        self.run("UPDATE sessions SET ended = ? WHERE id = ?", time.time(), session)
        self.run("DELETE FROM turns WHERE session = ?", session)
        self.run("DELETE FROM shown WHERE session = ?", session)

    def forget_shown(self, session: int) -> None:
        """Begin a new context, which was shown nothing yet."""
        self.run("UPDATE sessions SET compactions = compactions + 1 WHERE id = ?", session)
        self.run("DELETE FROM shown WHERE session = ?", session)

    def context(self, session: int) -> str:
        """Return the name of the present context. Ids of sessions are never reused."""
        ((compactions,),) = self.rows("SELECT compactions FROM sessions WHERE id = ?", session)
        return f"{session}.{compactions}"

    def shown_handles(self, session: int, keys: Sequence[str]) -> dict[str, str]:
        """Return the handles of these keys, as far as there are any."""
        found = {}
        for key in keys:
            for (handle,) in self.rows(
                "SELECT handle FROM shown WHERE session = ? AND key = ?", session, key
            ):
                found[key] = str(handle)
        return found

    def save_shown(self, session: int, handles: Mapping[str, str]) -> None:
        """Write handles by key. Rows that are too many go, the oldest first."""
        for key, handle in handles.items():
            # A new id, because the key is the newest one now.
            self.run(
                "INSERT OR REPLACE INTO shown (session, key, handle) VALUES (?, ?, ?)", session, key, handle
            )
        self.run(
            # Python 3.12 takes numbered placeholders for named ones, and warns.
            """DELETE FROM shown WHERE session = ? AND id <= (
                SELECT id FROM shown WHERE session = ? ORDER BY id DESC LIMIT 1 OFFSET ?)""",
            session,
            session,
            MOST_SHOWN,
        )

    def insert_reservation(self, session: int, tokens: int, turn: str | None) -> int:
        """Reserve tokens for this process; return the id of the reservation."""
        number = new_grant_id()
        return self.run(
            """INSERT INTO reservations (id, session, tokens, turn, pid, started, boot, namespace, place)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            number,
            session,
            tokens,
            turn,
            self._here.pid,
            self._here.started,
            self._here.boot,
            self._here.namespace,
            hold(self._holders_path, number),
        )

    def held(self, grant: Grant | None) -> HeldReservation | None:
        """Return the reservation of a grant, whose session may have ended; None if it is gone."""
        if grant is None:
            return None
        found = self.rows("SELECT id, session, turn, announced FROM reservations WHERE id = ?", grant.id)
        return held_reservation(found[0]) if found else None

    def announce(self, grant: Grant, tokens: int) -> None:
        self.run("UPDATE reservations SET announced = max(announced, ?) WHERE id = ?", tokens, grant.id)

    def free(self, reservation: int) -> None:
        self.run("DELETE FROM reservations WHERE id = ?", reservation)
        let_go(self._holders_path, reservation)

    def use_announced(self, held: HeldReservation) -> None:
        """Count what a reservation announced and never settled: it may have been written."""
        self.use(held.session, held.turn, held.announced, UNSETTLED, held.id)

    def use(
        self, session: int, turn: str | None, tokens: int, kind: str, reservation: int | None = None
    ) -> Account:
        """Count tokens that were shown; return the account afterwards."""
        if turn is not None:
            self.add_to_turn(session, turn, tokens)
        account = self.account(session).after_using(tokens)
        self.save_usage(session, account)
        self.add_event(session, kind, tokens, reservation=reservation)
        return account

    def counted(self, grant: Grant) -> CountedEvent | None:
        """Return what was counted for a grant that is gone; None if nothing was."""
        found = self.rows("SELECT id, session, tokens, kind FROM events WHERE reservation = ?", grant.id)
        if not found:
            return None
        number, session, tokens, kind = found[0]
        check_counts(session, tokens)
        return CountedEvent(number, session, grant.turn, tokens, kind != UNSETTLED)

    def undo(self, event: CountedEvent) -> None:
        """Take back what was counted for a holder that is not dead: it settles the true number."""
        self.run("DELETE FROM events WHERE id = ?", event.id)
        if event.turn is not None:
            self.add_to_turn(event.session, event.turn, -event.tokens)
        self.save_usage(event.session, self.account(event.session).after_undoing(event.tokens))

    def turn_taken(self, session: int, turn: str) -> int:
        """Return what a turn has used and reserved."""
        ((used,),) = self.rows(
            "SELECT coalesce(sum(used), 0) FROM turns WHERE session = ? AND turn = ?", session, turn
        )
        ((reserved,),) = self.rows(
            "SELECT coalesce(sum(tokens), 0) FROM reservations WHERE session = ? AND turn = ?", session, turn
        )
        check_counts(session, used, reserved)
        return int(used + reserved)

    def add_to_turn(self, session: int, turn: str, tokens: int) -> None:
        self.run(
            """INSERT INTO turns (session, turn, used) VALUES (?, ?, ?)
            ON CONFLICT (session, turn) DO UPDATE SET used = used + excluded.used""",
            session,
            turn,
            tokens,
        )

    def add_event(
        self, session: int, kind: str, tokens: int, key: str | None = None, reservation: int | None = None
    ) -> None:
        """Add to the history. Its time is for people: nothing is decided by it."""
        self.run(
            "INSERT INTO events (session, time, kind, tokens, key, reservation) VALUES (?, ?, ?, ?, ?, ?)",
            session,
            time.time(),
            kind,
            tokens,
            key,
            reservation,
        )

    def has_key(self, session: int, key: str) -> bool:
        return bool(self.rows("SELECT 1 FROM events WHERE session = ? AND key = ?", session, key))

    def _free_abandoned_reservations(self) -> None:
        held = self.rows("SELECT DISTINCT pid, started, boot, namespace, place FROM reservations")
        for row in held:
            holder = holder_of(row)
            if is_gone(holder, self._here, self._holders_path):
                abandoned = self.rows(
                    """SELECT id, session, turn, announced FROM reservations
                    WHERE (pid, started, boot, namespace) = (?, ?, ?, ?) AND place IS ?""",
                    *row,
                )
                for reservation in map(held_reservation, abandoned):
                    self.free(reservation.id)
                    self.use_announced(reservation)


def holders_path(ledger_path: str) -> str:
    """Return the path of the file whose bytes the holders of a ledger lock."""
    return os.path.join(os.path.dirname(ledger_path), HOLDERS_NAME)


def holder_of(row: tuple[Any, ...]) -> Holder:
    """Return the holder that a row names; raise `LedgerError` if it cannot be one."""
    types = tuple(map(type, row))
    is_valid = types[:4] == (int, int, str, str) and 0 < row[0] < 1 << 31
    if not is_valid or not (row[4] is None or (types[4] is int and 0 <= row[4] < PLACES)):
        raise LedgerError("the ledger is damaged: a reservation is invalid; move the file away")
    return Holder(*row)


def held_reservation(row: tuple[Any, ...]) -> HeldReservation:
    held = HeldReservation(*row)
    check_counts(held.session, held.announced)
    return held


def check_counts(session: int, *counts: object) -> None:
    """Raise `LedgerError` if a number of tokens in a row cannot be one."""
    for tokens in counts:
        if not isinstance(tokens, int) or not 0 <= tokens < MOST_STORED:
            raise invalid_numbers(session)


def invalid_numbers(session: int) -> LedgerError:
    return LedgerError(f"the ledger is damaged: session {session} has invalid numbers; move the file away")
