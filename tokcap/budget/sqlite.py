"""The ledger of one machine: rows in `ledger.db` in the data directory, a private file of one user.

Each step is one immediate transaction on a connection of its own. A killed process leaves at most a journal,
which the next step rolls back. Every SQLite error becomes one `LedgerError`.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.base import Engine
from tokcap.budget.ledger import Ledger
from tokcap.errors import LedgerError, UsageError
from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system import private_files as private

try:
    import sqlite3
except ImportError:
    raise LedgerError("this Python was built without SQLite, which sessions need") from None

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tokcap.budget.base import Step, Texts
    from tokcap.environment import Environment

    Answer = TypeVar("Answer")

FILE_NAME = "ledger.db"
# The file whose bytes are locked by processes that hold reservations.
HOLDERS_NAME = "ledger.holders"
# `expires` is in seconds since 1970; NULL: the row is kept until it is removed.
TABLES = (
    "CREATE TABLE rows (key TEXT PRIMARY KEY, value TEXT NOT NULL, expires REAL) WITHOUT ROWID",
    "CREATE INDEX expiring ON rows (expires) WHERE expires IS NOT NULL",
)
# '0' is the character after '/'.
SCAN = (
    "SELECT key, value FROM rows WHERE key BETWEEN ? || '/' AND ? || '0'"
    " AND (expires IS NULL OR expires > ?) ORDER BY expires DESC LIMIT ?"
)
# Expired rows are removed by one step in about this many.
CLEANING_STEPS = 100
# SQLite's own retries slow down to one in a tenth of a second, while a hundred other processes get ahead.
# Restarting its wait this often keeps the retries frequent.
RETRY_SECONDS = 0.05
# Python cannot decode a text, or a message about one, in a damaged file.
FAILURES = (sqlite3.DatabaseError, UnicodeDecodeError)
# A transaction has the database, its journal and, for a moment, their directory open.
SQLITE_DESCRIPTORS = 4


def open_sqlite(url: str, env: Environment, patience_seconds: float) -> Ledger:
    """Return the ledger of the data directory."""
    if url.partition(":")[2]:
        raise UsageError(
            f"the URL of the SQLite ledger is just sqlite: (the file is {FILE_NAME} in the data directory,"
            " which TOKCAP_DATA_DIR names)"
        )
    return ledger_in(env.data_dir(), patience_seconds, env.now)


def ledger_in(data_dir: str, patience_seconds: float = 30.0, now: Callable[[], float] = time.time) -> Ledger:
    """Return the ledger of a directory. The first session that is started creates the file."""
    return Ledger(SqliteEngine(data_dir, now), patience_seconds)


class SqliteEngine(Engine):
    """Rows in one table of a private file."""

    def __init__(self, data_dir: str, now: Callable[[], float]) -> None:
        self._path = os.path.join(data_dir, FILE_NAME)
        self._holders_path = os.path.join(data_dir, HOLDERS_NAME)
        self._now = now
        self.title = self._path

    def change(self, keys: Sequence[str], step: Step, seconds: float) -> None:
        if not self._exists():
            if not step(dict.fromkeys(keys), self._now()):
                return
            self._create()

        def work(connection: sqlite3.Connection) -> None:
            now = self._now()
            for key, (text, kept_seconds) in step(texts_of(connection, keys), now).items():
                if text is None:
                    connection.execute("DELETE FROM rows WHERE key = ?", (key,))
                else:
                    expires = None if kept_seconds is None else now + kept_seconds
                    connection.execute("REPLACE INTO rows VALUES (?, ?, ?)", (key, text, expires))
            if round(now * 1000) % CLEANING_STEPS == 0:
                connection.execute("DELETE FROM rows WHERE expires < ?", (now,))

        self._transact("BEGIN IMMEDIATE", work, seconds)

    def load(self, keys: Sequence[str], seconds: float) -> tuple[Texts, float]:
        if not self._exists():
            return dict.fromkeys(keys), self._now()
        return self._transact("BEGIN", lambda connection: texts_of(connection, keys), seconds), self._now()

    def scan(self, kind: str, most: int, seconds: float) -> tuple[Texts, float]:
        now = self._now()
        if not self._exists():
            return {}, now
        values = kind, kind, now, most
        return self._transact("BEGIN", lambda found: dict(found.execute(SCAN, values)), seconds), now

    def hold(self) -> int:
        return hold(self._holders_path)

    def is_present(self, place: int) -> bool:
        return is_present(self._holders_path, place)

    def _exists(self) -> bool:
        """Return whether the file exists; raise `StoreError` if it is not a file of ours."""
        try:
            found = private.own_file(self._path)
        except FileNotFoundError:
            return False
        if not found.st_size:
            # SQLite would treat it as new. Ours are never empty: they are put in place complete.
            raise LedgerError(damaged(self._path, "it is empty"))
        private.make_directory(os.path.dirname(self._path), restrict=False)
        return True

    def _create(self) -> None:
        """Create the file if it is missing. If many processes try at once, one file serves all of them."""
        directory = os.path.dirname(self._path)
        private.make_directory(directory, restrict=False)
        temporary = os.path.join(directory, private.temporary_name())
        try:
            private.write_new_file(temporary, empty_database())
            with private.refusing(self._path):
                try:
                    os.link(temporary, self._path)
                except FileExistsError:
                    pass
        finally:
            private.remove_file(temporary)

    def _transact(self, begin: str, work: Callable[[sqlite3.Connection], Answer], seconds: float) -> Answer:
        """Do the work in a transaction, which happens completely or not at all.

        The journal is the ordinary one, which is deleted: a write-ahead log is written back and synced when
        its last reader closes it, and that would be every call here. Commits are not synced. The data
        survives the death of the process, and only a crash of the machine can damage the file, while a sync
        would slow down every call of a session.
        """
        deadline = time.monotonic() + seconds
        try:
            # Mode `rw` never creates the file: SQLite's would be empty and readable for others.
            path = self._path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            connection = sqlite3.connect(
                f"file:{path}?mode=rw", timeout=RETRY_SECONDS, isolation_level=None, uri=True
            )
            try:
                # The first statement that reads can meet a lock.
                for statement in ("PRAGMA synchronous = OFF", begin, "PRAGMA user_version"):
                    execute_patiently(connection, statement, deadline)
                ((page_bytes,),) = connection.execute("PRAGMA page_size")
                if private.own_file(self._path).st_size % page_bytes:
                    # SQLite would read zeros for the missing part of the last page.
                    raise LedgerError(damaged(self._path, "its end is missing"))
                found = work(connection)
                execute_patiently(connection, "COMMIT", deadline)
                return found
            finally:
                # Closing rolls back what was not committed.
                connection.close()
        except FAILURES as error:
            raise ledger_error(error, self._path, seconds) from None
        except FileNotFoundError as error:
            raise private.refused(self._path, error) from None


def empty_database() -> bytes:
    """Return the bytes of a ledger without rows."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for statement in TABLES:
            connection.execute(statement)
        return connection.serialize()
    finally:
        connection.close()


def texts_of(connection: sqlite3.Connection, keys: Sequence[str]) -> Texts:
    statement = f"SELECT key, value FROM rows WHERE key IN ({', '.join('?' * len(keys))})"  # noqa: S608  # only signs
    return {**dict.fromkeys(keys), **dict(connection.execute(statement, (*keys,)))}


def execute_patiently(connection: sqlite3.Connection, statement: str, deadline: float) -> None:
    """Execute a statement, and retry while another process holds a lock."""
    while True:
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise


def ledger_error(
    error: sqlite3.DatabaseError | UnicodeDecodeError, path: str, patience_seconds: float
) -> LedgerError:
    """Turn an error of SQLite into one line that says what to do."""
    if isinstance(error, UnicodeDecodeError):
        return LedgerError(damaged(path, "a text in it is not UTF-8"))
    code = primary_code(error)
    if code == sqlite3.SQLITE_BUSY:
        return LedgerError(
            f"{path} has been locked by another process for {patience_seconds:.2g} seconds;"
            " end that process, or try again"
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return LedgerError(damaged(path, str(error)))
    if code == sqlite3.SQLITE_ERROR and "no such table" in str(error):
        return LedgerError(f"{path} is not a tokcap ledger; move it away")
    if code == sqlite3.SQLITE_CANTOPEN and (shortage := lack_of_descriptors()):
        return LedgerError(f"{path}: {shortage}")
    return LedgerError(f"{path}: {error}")


def lack_of_descriptors() -> str:
    """Return what the system says if SQLite cannot open all its files now; SQLite does not pass it on."""
    opened: list[int] = []
    try:
        while len(opened) < SQLITE_DESCRIPTORS:
            opened.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return str(error.strerror)
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return ""


def damaged(path: str, reason: str) -> str:
    # SQLite may describe a page in several lines.
    return f"{path} is damaged ({' '.join(reason.split())}); move it away, and start the sessions again"


def primary_code(error: sqlite3.DatabaseError) -> int:
    """Return the kind of an error, without the details that SQLite adds in the higher bits."""
    # Errors that Python itself raises have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


# Whether the holder of a reservation still runs. Process ids are reused, and mean nothing in another
# container. So a process that holds reservations locks one byte of a file beside the ledger. The system
# unlocks it when the process ends, however it ends, and all who share the directory can see that.

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
    with private.refusing(path):
        descriptor = private.open_file(path, os.O_RDWR | os.O_CREAT)
        try:
            os.lseek(descriptor, place, os.SEEK_SET)
            os.lockf(descriptor, os.F_TLOCK, 1)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor


def is_present(path: str, place: int) -> bool:
    """Return whether the process that has locked this byte still runs."""
    with guard():
        own, own_place = _present.get((os.getpid(), path), (-1, 0))
        if own >= 0:
            return place == own_place or is_locked(own, place)
        try:
            descriptor = private.open_file(path, os.O_RDWR)
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
