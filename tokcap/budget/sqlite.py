"""The ledger of one machine: `ledger.db` in the data directory, shared by all processes of a user.

It says what each step of a session does to the rows. Numbers come from `arithmetic`, SQL is in `tables`.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import offer, tokens_of
from tokcap.budget.base import (
    PATIENCE_SECONDS,
    Grant,
    key_text,
    not_started,
    other_settings,
    session_name,
)
from tokcap.budget.database import Database, LedgerFull
from tokcap.budget.schema import FILE_NAME, TABLES, VERSION
from tokcap.budget.tables import LedgerTransaction
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcap.budget.arithmetic import Account, Settings, Window
    from tokcap.budget.reports import Holding, Past, Recorded, Session, Shown
    from tokcap.environment import Environment


def open_sqlite(url: str, env: Environment, patience_seconds: float) -> SqliteLedger:
    """Return the ledger of the data directory."""
    if url.partition(":")[2]:
        raise UsageError(
            f"the URL of the SQLite ledger is just sqlite: (the file is {FILE_NAME} in the data directory,"
            " which TOKCAP_DATA_DIR names)"
        )
    return SqliteLedger(env.data_dir(), patience_seconds, env.now)


class SqliteLedger:
    """A `SessionStore` in a file. The first `start` creates the file."""

    lease_seconds = None

    def __init__(
        self,
        data_dir: str,
        patience_seconds: float = PATIENCE_SECONDS,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._database = Database(os.path.join(data_dir, FILE_NAME), VERSION, TABLES, patience_seconds)
        self._now = now

    def start(self, name: str, settings: Settings) -> bool:
        from tokcap.budget.trees import MOST_ABOVE, check_start, no_parent, too_deep

        check_start(name, settings)
        self._database.create()
        with LedgerTransaction(self._database, self._now) as rows:
            found = rows.find(name)
            if found is not None:
                if found.account.settings != settings:
                    raise other_settings(name, found.account.settings)
                return False
            if settings.parent is not None:
                parent = rows.find(settings.parent)
                if parent is None:
                    raise no_parent(settings.parent)
                if len(parent.above) >= MOST_ABOVE:
                    raise too_deep(settings.parent)
            rows.insert_session(name, settings)
            return True

    def end(self, name: str, *, tree: bool = False) -> Account:
        from tokcap.budget.lineage import names_below
        from tokcap.budget.trees import has_children

        with self.transaction(name) as rows:
            found = rows.need(name)
            below = names_below(rows, name)
            if below and not tree:
                raise has_children(name, below)
            # The lowest first: each still has those above it.
            for each in reversed((name, *below)):
                rows.close_session(rows.need(each).session, "ended")
            return found.account

    def reset(self, name: str) -> Account:
        with self.transaction(name) as rows:
            found = rows.need(name)
            rows.close_session(found.session, "reset")
            rows.insert_session(name, found.account.settings)
            return rows.need(name).account

    def list(self) -> Sequence[Session]:
        from tokcap.budget.reports import Session
        from tokcap.budget.trees import linked

        if not self._database.exists():
            return []
        with LedgerTransaction(self._database, self._now) as rows:
            return linked(
                [
                    Session(name=str(name), created=created, account=rows.account(number))
                    for number, name, created in rows.running()
                ]
            )

    def held(self) -> Sequence[Holding]:
        from tokcap.budget.lineage import holdings

        if not self._database.exists():
            return []
        with LedgerTransaction(self._database, self._now) as rows:
            return holdings(rows)

    def history(self, name: str | None = None) -> Sequence[Past]:
        from tokcap.budget.lineage import past_periods

        if not self._database.exists():
            return []
        with LedgerTransaction(self._database, self._now) as rows:
            for number, _, _ in rows.running():
                # Its present period may be over.
                rows.account(number)
            return past_periods(rows, name)

    def has(self, name: str) -> bool:
        session_name(name)
        if not self._database.exists():
            return False
        with LedgerTransaction(self._database, self._now) as rows:
            return rows.find(name) is not None

    def reserve(
        self,
        name: str,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        if turn is not None:
            key_text(turn, "a turn")
        with self.transaction(name) as rows:
            session = rows.need(name)
            account = session.account
            turn_taken = None if turn is None else rows.turn_taken(session.session, turn)
            found = offer(account, requested, window or account.settings.window(shares), turn_taken)
            tokens = found.tokens or 0
            number = rows.insert_reservation(session, tokens, turn)
            return Grant(number, found.tokens, turn, found.floor_decides, account.after_reserving(tokens))

    def announce(self, name: str, grant: Grant, tokens: int) -> None:
        tokens_of(tokens, "announced")
        session_name(name)
        # It runs while output waits to be written, so it does nothing else.
        with LedgerTransaction(self._database, self._now, frees_abandoned=False) as rows:
            rows.announce(grant, tokens)

    def settle(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> Account:
        tokens_of(actual, "actual")
        with self.transaction(name) as rows:
            held = rows.held(grant)
            if held:
                rows.free(held)
                return rows.use_held(held, actual, kind)
            counted = rows.counted(grant) if grant else None
            if counted and grant and not counted.is_settled:
                return rows.correct(counted, actual, kind, grant.id)
            found = rows.need(name)
            if counted:
                return found.account
            turn, number = (grant.turn, grant.id) if grant else (None, None)
            return rows.use(found.session, turn, actual, kind, number, found.above)

    def was_unknown(self, grant: Grant) -> bool:
        """Return False: this ledger forgets nothing."""
        return False

    def defer(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> bool:
        """Keep nothing: this ledger is never away."""
        return False

    def release(self, name: str, grant: Grant) -> Account:
        with self.transaction(name) as rows:
            held = rows.held(grant)
            if held:
                rows.free(held)
                if held.announced:
                    rows.use_announced(held)
            return rows.need(name).account

    def renew(self, grant: Grant) -> None:
        """Do nothing: the ledger sees when a holder ends."""

    def record(self, name: str, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        from tokcap.budget.reports import Recorded

        tokens = tokens_of(input_tokens, "input") + tokens_of(output_tokens, "output")
        if key is not None:
            key_text(key, "a key")
        with self.transaction(name) as rows:
            found = rows.need(name)
            if key is not None and rows.has_key(found.session, key):
                return Recorded(False, found.account)
            account = found.account.after_model_call(input_tokens, output_tokens)
            rows.save_usage(found.session, account)
            if found.above:
                from tokcap.budget.lineage import use_above

                use_above(rows, found.above, tokens)
            rows.add_event(found.session, "record", tokens, key)
            return Recorded(True, account)

    def compacted(self, name: str, used: int) -> Account:
        tokens_of(used, "used")
        with self.transaction(name) as rows:
            found = rows.need(name)
            account = found.account.after_compacting(used)
            rows.save_usage(found.session, account)
            rows.forget_shown(found.session)
            return account

    def shown(self, name: str, keys: Sequence[str]) -> Shown:
        from tokcap.budget.reports import Shown

        with self.transaction(name) as rows:
            session = rows.need(name).session
            return Shown(rows.context(session), rows.shown_handles(session, keys))

    def note_shown(self, name: str, context: str, handles: Mapping[str, str]) -> bool:
        with self.transaction(name) as rows:
            session = rows.need(name).session
            is_present = rows.context(session) == context
            if is_present:
                rows.save_shown(session, handles)
            return is_present

    def turn(self, name: str, turn: str) -> int:
        key_text(turn, "a turn")
        with self.transaction(name) as rows:
            return rows.turn_taken(rows.need(name).session, turn)

    def read(self, name: str) -> Account:
        try:
            with self.transaction(name) as rows:
                return rows.need(name).account
        except LedgerFull:
            # Nothing can be freed, but the account can be read.
            with LedgerTransaction(self._database, self._now, frees_abandoned=False) as rows:
                return rows.need(name).account

    def transaction(self, name: str) -> LedgerTransaction:
        """Return a transaction on the session of this name; never create the file."""
        session_name(name)
        if not self._database.exists():
            raise not_started(name)
        return LedgerTransaction(self._database, self._now)
