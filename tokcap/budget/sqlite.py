"""The account of sessions that all processes of a user share: `ledger.db` below the data directory.

The arithmetic is that of `budget.py`; here is only where the numbers stand, and whose they are.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.arithmetic import (
    Account,
    Grant,
    Recorded,
    Settings,
    Window,
    granted,
    tokens_of,
    window_after,
)
from tokcap.budget.database import PATIENCE_SECONDS, Database, Transaction
from tokcap.budget.holder import Holder, is_gone, this_process
from tokcap.errors import LedgerError, SessionNotStarted, UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Self

    from tokcap.budget.database import Steps

FILE_NAME = "ledger.db"

# Released steps are never changed: a ledger of version N gets the steps from N on, inside the transaction
# that first meets it.
STEPS: Steps = (
    (
        # An ended session keeps its row, for its history; its name is free again.
        """CREATE TABLE sessions (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL, ended REAL,
            total INTEGER, context_window INTEGER, result_pct REAL, turn_pct REAL, floor_tokens INTEGER,
            used INTEGER NOT NULL DEFAULT 0, window_used INTEGER NOT NULL DEFAULT 0)""",
        "CREATE UNIQUE INDEX running ON sessions (name) WHERE ended IS NULL",
        # An id is never given again: a grant may outlive its row, and must not settle another's.
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
)

NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@+")
LONGEST_NAME = 100
LONGEST_KEY = 1000


def session_name(name: str) -> str:
    """The name itself; `UsageError` for one that is no plain word of a shell, or could be a path."""
    if not name or len(name) > LONGEST_NAME or name[0] in ".-" or not NAME_CHARACTERS.issuperset(name):
        shown = repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…")
        raise UsageError(
            f"no name for a session: {shown}; take up to {LONGEST_NAME} letters, digits and . _ - : @ +,"
            " not beginning with . or -"
        )
    return name


def key_text(key: str, what: str) -> str:
    """The key itself; `UsageError` for one that a database cannot hold."""
    try:
        if 0 < len(key.encode()) <= LONGEST_KEY and "\0" not in key:
            return key
    except UnicodeEncodeError:
        pass
    raise UsageError(f"{what} is a text of 1 to {LONGEST_KEY} bytes, in UTF-8 and without NUL")


class Session(Record):
    """One line of the list: a session that runs, and how it stands."""

    name: str
    created: float
    account: Account


class Ledger:
    """All sessions of one data directory. Nothing is created before the first one is started."""

    def __init__(self, data_dir: str, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._database = Database(os.path.join(data_dir, FILE_NAME), STEPS, patience_seconds)

    def start(self, name: str, settings: Settings) -> bool:
        """Start a session; False if it runs with these very settings already. Others are refused."""
        session_name(name)
        settings.checked()
        self._database.create()
        with Step(self._database) as step:
            found = step.find(name)
            if found is None:
                step.insert_session(name, settings)
                return True
            if found.account.settings != settings:
                running = ", ".join(f"{key} {value}" for key, value in vars(found.account.settings).items())
                raise UsageError(
                    f"session {name} runs with other settings ({running.replace('None', 'none')});"
                    f" end it first: tokcap budget end {name}"
                )
            return False

    def end(self, name: str) -> Account:
        """End a session and free its name. What still runs in it is charged to it to the last."""
        with self.step(name) as step:
            found = step.need(name)
            step.close_session(found.id)
            return found.account

    def reset(self, name: str) -> Account:
        """End a session and start it again with its settings: nothing used or reserved, no turn, no key."""
        with self.step(name) as step:
            found = step.need(name)
            step.close_session(found.id)
            return step.account(step.insert_session(name, found.account.settings))

    def sessions(self) -> list[Session]:
        """All sessions that run, in the order in which they were started."""
        if not self._database.exists():
            return []
        with Step(self._database) as step:
            rows = step.rows("SELECT id, name, created FROM sessions WHERE ended IS NULL ORDER BY id")
            return [Session(str(name), created, step.account(number)) for number, name, created in rows]

    def has(self, name: str) -> bool:
        """Whether a session runs."""
        session_name(name)
        if not self._database.exists():
            return False
        with Step(self._database) as step:
            return step.find(name) is not None

    def session(self, name: str) -> SessionStorage:
        """The account of one session, which need not have been started yet."""
        return SessionStorage(self, session_name(name))

    def check(self) -> None:
        """Look at every page of the file; `LedgerError` if something is wrong with one."""
        if self._database.exists():
            with Step(self._database) as step:
                step.check()

    def step(self, name: str) -> Step:
        """A transaction in which a session of that name is needed."""
        session_name(name)
        if not self._database.exists():
            raise not_started(name)
        return Step(self._database)


class Found(Record):
    """A session that runs, by its number."""

    id: int
    account: Account


class Step(Transaction):
    """A transaction on the ledger, in which reservations of the dead are free already."""

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            self.here = this_process()
            self._free_what_the_dead_hold()
        except BaseException as error:
            self._end(error)
            raise
        return self

    def find(self, name: str) -> Found | None:
        """The session of that name that runs, and how it stands."""
        found = self.rows("SELECT id FROM sessions WHERE name = ? AND ended IS NULL", name)
        return Found(found[0][0], self.account(found[0][0])) if found else None

    def need(self, name: str) -> Found:
        found = self.find(name)
        if found is None:
            raise not_started(name)
        return found

    def account(self, session: int) -> Account:
        """How a session stands, be it ended."""
        rows = self.rows(
            """SELECT total, context_window, result_pct, turn_pct, floor_tokens, used, window_used,
                (SELECT coalesce(sum(tokens), 0) FROM reservations WHERE session = sessions.id)
            FROM sessions WHERE id = ?""",
            session,
        )
        # A database holds whatever it is given; one that makes no sense is as good as a broken one.
        try:
            ((total, window, result_pct, turn_pct, floor_tokens, used, window_used, reserved),) = rows
            settings = Settings(total, window, result_pct, turn_pct, floor_tokens).checked()
            if not all(isinstance(tokens, int) and tokens >= 0 for tokens in (used, window_used, reserved)):
                raise ValueError("no number of tokens")
        except (TypeError, ValueError):
            raise makes_no_sense(session) from None
        return Account(settings, used, reserved, window_used)

    def insert_session(self, name: str, settings: Settings) -> int:
        return self.run(
            """INSERT INTO sessions
                (name, created, total, context_window, result_pct, turn_pct, floor_tokens)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            name,
            time.time(),
            *vars(settings).values(),
        )

    def close_session(self, session: int) -> None:
        self.run("UPDATE sessions SET ended = ? WHERE id = ?", time.time(), session)
        self.run("DELETE FROM turns WHERE session = ?", session)

    def session_of(self, grant: Grant | None) -> int | None:
        """The session that a grant was made in: it may have ended, and even begun anew, since then."""
        if grant is None:
            return None
        held = self.rows("SELECT session FROM reservations WHERE id = ?", grant.id)
        return held[0][0] if held else None

    def free(self, grant: Grant) -> None:
        self.run("DELETE FROM reservations WHERE id = ?", grant.id)

    def turn_taken(self, session: int, turn: str) -> int:
        """What a turn has used, and what is reserved in it."""
        ((used,),) = self.rows(
            "SELECT coalesce(sum(used), 0) FROM turns WHERE session = ? AND turn = ?", session, turn
        )
        ((reserved,),) = self.rows(
            "SELECT coalesce(sum(tokens), 0) FROM reservations WHERE session = ? AND turn = ?", session, turn
        )
        if not all(isinstance(tokens, int) and tokens >= 0 for tokens in (used, reserved)):
            raise makes_no_sense(session)
        return int(used + reserved)

    def add_to_turn(self, session: int, turn: str, tokens: int) -> None:
        self.run(
            """INSERT INTO turns VALUES (?, ?, ?)
            ON CONFLICT (session, turn) DO UPDATE SET used = used + excluded.used""",
            session,
            turn,
            tokens,
        )

    def add_event(self, session: int, kind: str, tokens: int, key: str | None = None) -> None:
        """A line of history, for statistics. Its time is for people: nothing is decided by it."""
        self.run(
            "INSERT INTO events (session, time, kind, tokens, key) VALUES (?, ?, ?, ?, ?)",
            session,
            time.time(),
            kind,
            tokens,
            key,
        )

    def _free_what_the_dead_hold(self) -> None:
        held = self.rows("SELECT DISTINCT pid, started, boot, namespace FROM reservations")
        for holder in held:
            if tuple(map(type, holder)) != (int, int, str, str) or not 0 < holder[0] < 1 << 31:
                raise LedgerError("the ledger is damaged: a reservation makes no sense; move the file away")
            if is_gone(Holder(*holder), self.here):
                self.run(
                    "DELETE FROM reservations WHERE (pid, started, boot, namespace) = (?, ?, ?, ?)", *holder
                )


class SessionStorage:
    """One session as a `Storage`."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self._name = name

    def reserve(
        self,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        if turn is not None:
            key_text(turn, "a turn")
        with self._ledger.step(self._name) as step:
            found = step.need(self._name)
            taken = None if turn is None else step.turn_taken(found.id, turn)
            account = found.account
            tokens, floor_decides = granted(
                account, requested, window or account.settings.window_with(shares or Window(0)), taken
            )
            number = step.run(
                """INSERT INTO reservations (session, tokens, turn, pid, started, boot, namespace)
                VALUES (?, ?, ?, ?, ?, ?, ?)""",
                found.id,
                tokens or 0,
                turn,
                *vars(step.here).values(),
            )
            account = account.but(reserved=account.reserved + (tokens or 0))
            return Grant(number, tokens, turn, floor_decides, account)

    def settle(self, grant: Grant | None, actual: int, kind: str = "run") -> Account:
        """As any storage does; what was reset or taken for dead meanwhile is charged all the same."""
        tokens_of(actual, "actual")
        with self._ledger.step(self._name) as step:
            session = step.session_of(grant) or step.need(self._name).id
            step.run(
                "UPDATE sessions SET used = used + ?, window_used = window_used + ? WHERE id = ?",
                actual,
                actual,
                session,
            )
            if grant is not None:
                step.free(grant)
                if grant.turn is not None:
                    step.add_to_turn(session, grant.turn, actual)
            step.add_event(session, kind, actual)
            return step.account(session)

    def release(self, grant: Grant) -> Account:
        with self._ledger.step(self._name) as step:
            step.free(grant)
            return step.need(self._name).account

    def record(self, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        tokens = tokens_of(input_tokens, "input") + tokens_of(output_tokens, "output")
        if key is not None:
            key_text(key, "a key")
        with self._ledger.step(self._name) as step:
            found = step.need(self._name)
            if key is not None and step.rows(
                "SELECT 1 FROM events WHERE session = ? AND key = ?", found.id, key
            ):
                return Recorded(False, found.account)
            held = window_after(found.account.window_used, input_tokens, output_tokens)
            step.run(
                "UPDATE sessions SET used = used + ?, window_used = ? WHERE id = ?", tokens, held, found.id
            )
            step.add_event(found.id, "record", tokens, key)
            return Recorded(True, step.account(found.id))

    def compacted(self, used: int) -> Account:
        tokens_of(used, "used")
        with self._ledger.step(self._name) as step:
            found = step.need(self._name)
            step.run("UPDATE sessions SET window_used = ? WHERE id = ?", used, found.id)
            return found.account.but(window_used=used)

    def read(self) -> Account:
        with self._ledger.step(self._name) as step:
            return step.need(self._name).account


def makes_no_sense(session: int) -> LedgerError:
    return LedgerError(f"the ledger is damaged: session {session} makes no sense; move the file away")


def not_started(name: str) -> SessionNotStarted:
    return SessionNotStarted(f"session {name} does not run; start it: tokcap budget start {name} --total N")
