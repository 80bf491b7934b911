"""A private SQLite file that many short-lived processes share.

Each step is one immediate transaction. No other thread or process uses its connection meanwhile, and a killed
process leaves at most a journal, which the next step rolls back. The caller defines the tables. Every SQLite
error becomes one `LedgerError`.
"""

from __future__ import annotations

import os
import time

from tokcap.errors import LedgerError
from tokcap.lean.functools_stand_in import FunctoolsStandIn
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private

try:
    with FunctoolsStandIn():
        # `sqlite3` also imports converters for dates, which take a third of its import time.
        from _sqlite3 import (
            SQLITE_BUSY,
            SQLITE_CANTOPEN,
            SQLITE_CORRUPT,
            SQLITE_FULL,
            SQLITE_NOTADB,
            DatabaseError,
            OperationalError,
            connect,
        )
except ImportError:
    raise LedgerError("this Python was built without SQLite, which sessions need") from None

if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import TracebackType
    from typing import Any, Self

# SQLite's own retries slow down to one in a tenth of a second, while a hundred other processes get ahead.
# Restarting its wait this often keeps the retries frequent.
RETRY_SECONDS = 0.05
# Python cannot decode a text, or a message about one, in a damaged file.
FAILURES = (DatabaseError, UnicodeDecodeError)
# A transaction has the database, its journal and, for a moment, their directory open.
SQLITE_DESCRIPTORS = 4

# Connections that wait for the next step, by process and path, each with the file that it has open. None of
# them has a transaction or a lock. A forked process leaves those of its parent alone.
_waiting: dict[tuple[int, str], tuple[tuple[int, int], Connection]] = {}


class Database(Record):
    """The path of a database, and the version of its tables with the statements that create them."""

    path: str
    version: int
    tables: tuple[str, ...]
    patience_seconds: float

    def exists(self) -> bool:
        """Return whether the file exists; raise `StoreError` if it is not a file of ours."""
        try:
            found = private.own_file(self.path)
        except FileNotFoundError:
            return False
        if not found.st_size:
            # SQLite would treat it as new. Ours are never empty: they are put in place complete.
            raise LedgerError(damaged(self.path, "it is empty"))
        private.make_directory(os.path.dirname(self.path), restrict=False)
        return True

    def create(self) -> None:
        """Create the file if it is missing. If many processes try at once, one file serves all of them."""
        if self.exists():
            return
        directory = os.path.dirname(self.path)
        private.make_directory(directory, restrict=False)
        temporary = os.path.join(directory, private.temporary_name())
        descriptor = private.create_file(temporary)
        try:
            connection = connect(temporary, isolation_level=None)
            try:
                # No journal on disk: a process killed here leaves only one unused file.
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.execute("BEGIN IMMEDIATE")
                for statement in self.tables:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {self.version}")
                connection.execute("COMMIT")
            finally:
                connection.close()
            os.fsync(descriptor)
            os.link(temporary, self.path)
        except FileExistsError:
            pass
        except OSError as error:
            raise private.refused(self.path, error) from None
        except DatabaseError as error:
            raise LedgerError(f"{self.path} cannot be created: {error}") from None
        finally:
            os.close(descriptor)
            os.unlink(temporary)


class ReadOnlyDatabase:
    """A database opened for examination. Nothing in the file changes."""

    def __init__(self, path: str, patience_seconds: float) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        try:
            self._connection: Connection = connect(
                sqlite_uri(path, "ro"), timeout=patience_seconds, isolation_level=None, uri=True
            )
        except DatabaseError as error:
            raise ledger_error(error, path, patience_seconds) from None

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except FAILURES as error:
            raise ledger_error(error, self._path, self._patience_seconds) from None

    def check(self) -> None:
        """Have SQLite check every page; raise `LedgerError` if one is damaged."""
        ((page_bytes,),) = self.rows("PRAGMA page_size")
        found = self.rows("PRAGMA quick_check(1)")
        if os.lstat(self._path).st_size % page_bytes:
            raise LedgerError(damaged(self._path, "its end is missing"))
        if found != [("ok",)]:
            raise LedgerError(damaged(self._path, found[0][0]))

    def close(self) -> None:
        self._connection.close()


class Transaction:
    """A transaction that happens completely, or, if anything is raised, not at all.

    It starts immediate, so two transactions never read the same numbers. The journal is the ordinary one,
    which is deleted: a write-ahead log is written back and synced when its last reader closes it, and that
    would be every call here. Commits are not synced. The data survives the death of the process, and
    only a crash of the machine can damage the file, while a sync would slow down every call of a session.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        # Which file the connection has open.
        self._file = (0, 0)
        self._connection: Connection = self._take_waiting() or self._connect()

    def _take_waiting(self) -> Connection | None:
        """Return the connection that an earlier step has left, if its file is still the one of this path."""
        # Other threads get none until this one puts it back.
        waiting = _waiting.pop((os.getpid(), self._database.path), None)
        if waiting is None:
            return None
        self._file, connection = waiting
        try:
            if self._file == identity(os.lstat(self._database.path)):
                return connection
        except OSError:
            # Connecting reports it.
            pass
        connection.close()
        self._file = (0, 0)
        return None

    def _connect(self) -> Connection:
        path, patience_seconds = self._database.path, self._database.patience_seconds
        try:
            # Mode `rw` never creates the file: SQLite's would be empty and readable for others. The next step
            # may be in another thread.
            connection: Connection = connect(
                sqlite_uri(path, "rw"),
                timeout=RETRY_SECONDS,
                isolation_level=None,
                uri=True,
                check_same_thread=False,
            )
        except DatabaseError as error:
            raise ledger_error(error, path, patience_seconds) from None
        return connection

    def __enter__(self) -> Self:
        try:
            if self._file == (0, 0):
                # This pragma reads the tables first, so it can meet a lock.
                self._execute_patiently("PRAGMA synchronous = OFF")
            self._execute_patiently("BEGIN IMMEDIATE")
            self._check_version()
        except FileNotFoundError as error:
            self._close(error)
            raise private.refused(self._database.path, error) from None
        except BaseException as error:
            self._close(error)
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._execute_patiently("COMMIT")
        except FAILURES as late:
            error = late
        finally:
            self._close(error)

    def run(self, statement: str, *values: object) -> int:
        """Execute a statement; return the id of the row that it inserted."""
        return self._connection.execute(statement, values).lastrowid or 0

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        return self._connection.execute(statement, values).fetchall()

    def has_next_step(self) -> bool:
        """Return whether the connection should wait for another step, which then need not open the file."""
        return False

    def _close(self, error: BaseException | None) -> None:
        waiting = os.getpid(), self._database.path
        if error is None and self.has_next_step() and waiting not in _waiting:
            _waiting[waiting] = self._file, self._connection
            return
        # Closing rolls back what was not committed.
        self._connection.close()
        if isinstance(error, FAILURES):
            raise ledger_error(error, self._database.path, self._database.patience_seconds) from None

    def _check_version(self) -> None:
        """Refuse a file that is damaged, not ours, or of a later version, before writing to it."""
        path, known = self._database.path, self._database.version
        ((page_bytes,),) = self.rows("PRAGMA page_size")
        found = private.own_file(path)
        self._file = identity(found)
        if found.st_size % page_bytes:
            # SQLite would read zeros for the missing part of the last page.
            raise LedgerError(damaged(path, "its end is missing"))
        ((version,),) = self.rows("PRAGMA user_version")
        if version > known:
            raise LedgerError(
                f"{path} was written by a newer tokcap (version {version}, this one knows {known});"
                " use that one, or another TOKCAP_DATA_DIR"
            )
        if version < 1:
            raise LedgerError(not_a_ledger(path))

    def _execute_patiently(self, statement: str) -> None:
        """Execute a statement, and retry while another process holds a lock."""
        deadline = time.monotonic() + self._database.patience_seconds
        while True:
            try:
                self._connection.execute(statement)
                return
            except OperationalError as error:
                if primary_code(error) != SQLITE_BUSY or time.monotonic() >= deadline:
                    raise


def identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def sqlite_uri(path: str, mode: str) -> str:
    return "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + f"?mode={mode}"


def ledger_error(
    error: DatabaseError | UnicodeDecodeError, path: str, patience_seconds: float
) -> LedgerError:
    """Turn an error of SQLite into one line that says what to do."""
    if isinstance(error, UnicodeDecodeError):
        return LedgerError(damaged(path, "a text in it is not UTF-8"))
    code = primary_code(error)
    if code == SQLITE_BUSY:
        return LedgerError(
            f"{path} has been locked by another process for {patience_seconds:g} seconds;"
            " end that process, or try again"
        )
    if code in (SQLITE_CORRUPT, SQLITE_NOTADB):
        return LedgerError(damaged(path, str(error)))
    if code == SQLITE_CANTOPEN and (shortage := lack_of_descriptors()):
        return LedgerError(f"{path}: {shortage}")
    kind = LedgerFull if code == SQLITE_FULL else LedgerError
    return kind(f"{path}: {error}")


class LedgerFull(LedgerError):
    """There is no room to write a change; what is there can still be read."""


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


def not_a_ledger(path: str) -> str:
    return f"{path} is not a tokcap ledger; move it away"


def primary_code(error: DatabaseError) -> int:
    """Return the kind of an error, without the details that SQLite adds in the higher bits."""
    # Errors that Python itself raises have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
