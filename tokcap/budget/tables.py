"""The statements on the tables of the SQLite ledger, inside one transaction.

Nothing is calculated here: the caller gets its numbers from `arithmetic`.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import Account, Settings
from tokcap.budget.base import MOST_SHOWN, new_grant_id, not_started, this_holder
from tokcap.budget.database import Transaction
from tokcap.budget.holder import Holder, is_gone, this_process
from tokcap.budget.presence import PLACES, hold, is_holding, let_go
from tokcap.budget.schema import HOLDERS_NAME
from tokcap.errors import LedgerError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Self

    from tokcap.budget.base import Grant
    from tokcap.budget.database import Database

# The columns of a `HeldReservation`.
HELD = "id, session, turn, announced, tokens, above"
# How the history calls what was counted because its process died, or gave up after it had written.
UNSETTLED = "unsettled"

# Adding to a number below this one never overflows a 64-bit column.
MOST_STORED = 1 << 62


class StoredSession(Record):
    """A session that exists, by the id of its row, and the ids of those above it."""

    session: int
    account: Account
    above: tuple[int, ...] = ()


class HeldReservation(Record):
    """A reservation as its row says."""

    id: int
    session: int
    turn: str | None
    announced: int
    tokens: int
    # The sessions above, as in its row; None if there are none.
    above: str | None


class CountedEvent(Record):
    """Tokens that were counted for a grant that is gone."""

    id: int
    session: int
    turn: str | None
    tokens: int
    # Whether its holder settled it. If not, the holder seemed dead or gave up, and may still settle.
    is_settled: bool
    # Sessions and periods, as in its row; None if it is this session alone, which is not renewed.
    counted_in: str | None


class LedgerTransaction(Transaction):
    """A transaction that first frees the reservations of processes that have ended."""

    def __init__(
        self, database: Database, now: Callable[[], float] = time.time, *, frees_abandoned: bool = True
    ) -> None:
        super().__init__(database)
        self.now = now
        # Whether it also begins new periods.
        self._frees_abandoned = frees_abandoned
        self._holders_path = holders_path(database.path)

    def has_next_step(self) -> bool:
        """Return whether this process holds a reservation, which it settles or releases later."""
        return is_holding(self._holders_path)

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
        found = self.rows("SELECT id, parent FROM sessions WHERE name = ? AND ended IS NULL", name)
        if not found:
            return None
        session, parent = found[0]
        if parent is None:
            return StoredSession(session, self.account(session))
        from tokcap.budget.lineage import ids_above, with_above

        above = ids_above(self, name, parent)
        return StoredSession(session, with_above(self, self.account(session), above), above)

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
        """Return the numbers of a session alone, ended or not, in its present period."""
        rows = self.rows(
            """SELECT total, context_window, result_pct, turn_pct, floor_tokens, parent, renew, used,
                window_used, reserved_below, period_began, ended,
                (SELECT coalesce(sum(tokens), 0) FROM reservations WHERE session = sessions.id)
            FROM sessions WHERE id = ?""",
            session,
        )
        # SQLite stores any value in any column.
        try:
            ((*given, used, window_used, below, period_began, ended, reserved),) = rows
            settings = Settings(*given).checked()
            if settings.renew is not None:
                float(period_began)
        except (TypeError, ValueError):
            raise invalid_numbers(session) from None
        check_counts(session, used, window_used, reserved, below)
        if settings.renew is not None and ended is None and self._frees_abandoned:
            from tokcap.budget.lineage import begin_period

            period_began, used = begin_period(self, session, settings.renew, period_began, used)
        return Account(settings, used, reserved + below, window_used, below, period_began)

    def insert_session(self, name: str, settings: Settings) -> int:
        now = self.now()
        return self.run(
            """INSERT INTO sessions (name, created, total, context_window, result_pct, turn_pct, floor_tokens,
                parent, renew, period_began)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            name,
            now,
            *vars(settings).values(),
            None if settings.renew is None else now,
        )

    def save_usage(self, session: int, account: Account) -> None:
        """Write the used tokens of an account. Reserved tokens are in the table `reservations`."""
        self.run(
            "UPDATE sessions SET used = ?, window_used = ? WHERE id = ?",
            account.used,
            account.window_used,
            session,
        )

    def close_session(self, session: int, how: str) -> None:
        self.run("UPDATE sessions SET ended = ?, ended_how = ? WHERE id = ?", self.now(), how, session)
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

    def insert_reservation(self, found: StoredSession, tokens: int, turn: str | None) -> int:
        """Reserve tokens for this process; return the id of the reservation."""
        number = new_grant_id()
        above = None
        if found.above:
            from tokcap.budget.lineage import hold_above

            above = hold_above(self, found.above, tokens)
        return self.run(
            """INSERT INTO reservations (id, session, tokens, turn, pid, started, boot, namespace, place,
                since, holder, above)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            number,
            found.session,
            tokens,
            turn,
            self._here.pid,
            self._here.started,
            self._here.boot,
            self._here.namespace,
            hold(self._holders_path, number),
            self.now(),
            this_holder(),
            above,
        )

    def held(self, grant: Grant | None) -> HeldReservation | None:
        """Return the reservation of a grant, whose session may have ended; None if it is gone."""
        if grant is None:
            return None
        found = self.rows(f"SELECT {HELD} FROM reservations WHERE id = ?", grant.id)  # noqa: S608  # a constant
        return held_reservation(found[0]) if found else None

    def announce(self, grant: Grant, tokens: int) -> None:
        self.run("UPDATE reservations SET announced = max(announced, ?) WHERE id = ?", tokens, grant.id)

    def free(self, held: HeldReservation) -> None:
        self.run("DELETE FROM reservations WHERE id = ?", held.id)
        if held.above is not None:
            from tokcap.budget.lineage import hold_above, read_ids

            hold_above(self, read_ids(held.above), -held.tokens)
        let_go(self._holders_path, held.id)

    def use_announced(self, held: HeldReservation) -> None:
        """Count what a reservation announced and never settled: it may have been written."""
        self.use_held(held, held.announced, UNSETTLED)

    def use_held(self, held: HeldReservation, tokens: int, kind: str) -> Account:
        """Count tokens for a reservation, in the sessions that it belongs to."""
        above: Sequence[int] = ()
        if held.above is not None:
            from tokcap.budget.lineage import read_ids

            above = read_ids(held.above)
        return self.use(held.session, held.turn, tokens, kind, held.id, above)

    def use(
        self,
        session: int,
        turn: str | None,
        tokens: int,
        kind: str,
        reservation: int | None = None,
        above: Sequence[int] = (),
    ) -> Account:
        """Count tokens that were shown; return the account afterwards."""
        if turn is not None:
            self.add_to_turn(session, turn, tokens)
        account = self.account(session).after_using(tokens)
        self.save_usage(session, account)
        counted_in = None
        if above or account.settings.renew is not None:
            from tokcap.budget.lineage import counted_in_periods, use_above, with_above

            use_above(self, above, tokens)
            account = with_above(self, account, above)
            counted_in = counted_in_periods(self, (session, *above)) if kind == UNSETTLED else None
        self.add_event(session, kind, tokens, reservation=reservation, counted_in=counted_in)
        return account

    def counted(self, grant: Grant) -> CountedEvent | None:
        """Return what was counted for a grant that is gone; None if nothing was."""
        found = self.rows(
            "SELECT id, session, tokens, kind, counted_in FROM events WHERE reservation = ?", grant.id
        )
        if not found:
            return None
        number, session, tokens, kind, counted_in = found[0]
        check_counts(session, tokens)
        return CountedEvent(number, session, grant.turn, tokens, kind != UNSETTLED, counted_in)

    def correct(self, event: CountedEvent, tokens: int, kind: str, reservation: int) -> Account:
        """Replace what was counted for a holder that is not dead: it settles the true number."""
        self.run("DELETE FROM events WHERE id = ?", event.id)
        if event.turn is not None:
            self.add_to_turn(event.session, event.turn, -event.tokens)
        if event.counted_in is not None:
            from tokcap.budget.lineage import correct_periods

            if event.turn is not None:
                self.add_to_turn(event.session, event.turn, tokens)
            self.add_event(event.session, kind, tokens, reservation=reservation)
            return correct_periods(self, event, tokens)
        self.save_usage(event.session, self.account(event.session).after_undoing(event.tokens))
        return self.use(event.session, event.turn, tokens, kind, reservation)

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
        self,
        session: int,
        kind: str,
        tokens: int,
        key: str | None = None,
        reservation: int | None = None,
        counted_in: str | None = None,
    ) -> None:
        """Add to the history. Its time is for people: nothing is decided by it."""
        self.run(
            """INSERT INTO events (session, time, kind, tokens, key, reservation, counted_in)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            session,
            self.now(),
            kind,
            tokens,
            key,
            reservation,
            counted_in,
        )

    def has_key(self, session: int, key: str) -> bool:
        return bool(self.rows("SELECT 1 FROM events WHERE session = ? AND key = ?", session, key))

    def _free_abandoned_reservations(self) -> None:
        held = self.rows("SELECT DISTINCT pid, started, boot, namespace, place FROM reservations")
        for row in held:
            holder = holder_of(row)
            if is_gone(holder, self._here, self._holders_path):
                abandoned = self.rows(
                    f"""SELECT {HELD} FROM reservations
                    WHERE (pid, started, boot, namespace, place) = (?, ?, ?, ?, ?)""",  # noqa: S608  # a constant
                    *row,
                )
                for reservation in map(held_reservation, abandoned):
                    self.free(reservation)
                    self.use_announced(reservation)


def holders_path(ledger_path: str) -> str:
    """Return the path of the file whose bytes the holders of a ledger lock."""
    return os.path.join(os.path.dirname(ledger_path), HOLDERS_NAME)


def holder_of(row: tuple[Any, ...]) -> Holder:
    """Return the holder that a row names; raise `LedgerError` if it cannot be one."""
    has_types = tuple(map(type, row)) == (int, int, str, str, int)
    if not (has_types and 0 < row[0] < 1 << 31 and 0 <= row[4] < PLACES):
        raise LedgerError("the ledger is damaged: a reservation is invalid; move the file away")
    return Holder(*row)


def held_reservation(row: tuple[Any, ...]) -> HeldReservation:
    held = HeldReservation(*row)
    check_counts(held.session, held.announced, held.tokens)
    return held


def check_counts(session: int, *counts: object) -> None:
    """Raise `LedgerError` if a number of tokens in a row cannot be one."""
    for tokens in counts:
        if not isinstance(tokens, int) or not 0 <= tokens < MOST_STORED:
            raise invalid_numbers(session)


def invalid_numbers(session: int) -> LedgerError:
    return LedgerError(f"the ledger is damaged: session {session} has invalid numbers; move the file away")
