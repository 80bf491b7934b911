"""A SQLite file of the user's own, shared by many processes that each live for a moment.

Every step is one immediate transaction on a connection of its own, so neither threads nor forks have
anything to share, and a process that is killed leaves at most a journal that the next one rolls back.
What the tables are is said by whoever opens it; whatever SQLite says becomes one `LedgerError`.
"""

from __future__ import annotations

import os
import time

from tokcap.errors import LedgerError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private

try:
    # What is left out of `sqlite3` this way are its converters of dates: a third of its import.
    from _sqlite3 import SQLITE_BUSY, SQLITE_CORRUPT, SQLITE_NOTADB, DatabaseError, OperationalError, connect
except ImportError:
    raise LedgerError("this Python was built without SQLite, in which sessions are kept") from None

if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import TracebackType
    from typing import Any, Self, TypeAlias

    # From an empty file to the present form: the statements of one step per version.
    Steps: TypeAlias = tuple[tuple[str, ...], ...]

# How long a step waits for the others. A step takes a millisecond, so this is not for a queue of them
# but for somebody who holds the file in a debugger or a shell.
PATIENCE_SECONDS = 30.0
# SQLite's own waiting grows to a tenth of a second, in which a hundred others overtake. Begun anew this
# often, it keeps asking, and nobody starves.
ASK_AGAIN_SECONDS = 0.05


class Database(Record):
    """Where a database is, and how its tables came to be."""

    path: str
    steps: Steps
    patience_seconds: float = PATIENCE_SECONDS

    def exists(self) -> bool:
        """Whether it was created; `StoreError` if something else is in its place."""
        try:
            size = private.own_file_size(self.path)
        except FileNotFoundError:
            return False
        if not size:
            # SQLite would take it for a new one. Ours are never empty: they are put in place whole.
            raise LedgerError(damaged(self.path, "it is empty"))
        private.make_directory(os.path.dirname(self.path), close=False)
        return True

    def create(self) -> None:
        """Put it in place if it is not there. Of many that try at once one succeeds, and serves all."""
        if self.exists():
            return
        directory = os.path.dirname(self.path)
        private.make_directory(directory, close=False)
        other = os.path.join(directory, private.temporary_name())
        descriptor = private.create_file(other)
        try:
            database = connect(other, isolation_level=None)
            try:
                # Whoever is killed here leaves a file that nobody reads, and no journal beside it.
                database.execute("PRAGMA journal_mode = MEMORY")
                database.execute("BEGIN IMMEDIATE")
                self.advance(database, 0)
                database.execute("COMMIT")
            finally:
                database.close()
            os.fsync(descriptor)
            os.link(other, self.path)
        except FileExistsError:
            pass
        except OSError as error:
            raise private.refused(self.path, error) from None
        except DatabaseError as error:
            raise LedgerError(f"{self.path} cannot be made: {error}") from None
        finally:
            os.close(descriptor)
            os.unlink(other)

    def advance(self, database: Connection, version: int) -> None:
        """Bring the tables from a version up to date, inside a transaction."""
        for step in self.steps[version:]:
            for statement in step:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {len(self.steps)}")


class Look:
    """The file as it is, for whoever examines it: nothing in it is changed, not even brought up to date."""

    def __init__(self, path: str, patience_seconds: float) -> None:
        self._path = path
        self._patience_seconds = patience_seconds
        try:
            self._connection: Connection = connect(
                address(path, "ro"), timeout=patience_seconds, isolation_level=None, uri=True
            )
        except DatabaseError as error:
            raise told(error, path, patience_seconds) from None

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows that a statement gives."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except DatabaseError as error:
            raise told(error, self._path, self._patience_seconds) from None

    def check(self) -> None:
        """Have SQLite look at every page; `LedgerError` if something is wrong with one."""
        ((page_bytes,),) = self.rows("PRAGMA page_size")
        found = self.rows("PRAGMA quick_check(1)")
        if os.lstat(self._path).st_size % page_bytes:
            raise LedgerError(damaged(self._path, "its end is missing"))
        if found != [("ok",)]:
            raise LedgerError(damaged(self._path, found[0][0]))

    def close(self) -> None:
        self._connection.close()


class Transaction:
    """What happens in it happens as a whole, or, if anything is raised, not at all.

    Begun immediate, so that it never meets another that has read the same numbers. The journal is the
    ordinary one that is deleted: a write-ahead log is written back, with both files synchronised, when
    its last reader closes it, which for a process that lives for one command is each time. Nothing is
    synchronised at a commit. What the system was given it keeps if we are killed, and only a failing
    machine may cost the file, while waiting for the disk would cost every run of a session.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        try:
            # Not to be created: it would be an empty one, and readable for others.
            self._connection: Connection = connect(
                address(database.path, "rw"), timeout=ASK_AGAIN_SECONDS, isolation_level=None, uri=True
            )
        except DatabaseError as error:
            raise told(error, database.path, database.patience_seconds) from None

    def __enter__(self) -> Self:
        try:
            # It reads the tables first, and can find them locked.
            self._patiently("PRAGMA synchronous = OFF")
            self._patiently("BEGIN IMMEDIATE")
            self._look()
        except FileNotFoundError as error:
            self._end(error)
            raise private.refused(self._database.path, error) from None
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._patiently("COMMIT")
        except DatabaseError as late:
            error = late
        finally:
            self._end(error)

    def run(self, statement: str, *values: object) -> int:
        """Execute a statement; the number of the row that it inserted, if it did."""
        return self._connection.execute(statement, values).lastrowid or 0

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows that a statement gives."""
        return self._connection.execute(statement, values).fetchall()

    def check(self) -> None:
        """Have SQLite look at every page; `LedgerError` if something is wrong with one."""
        found = self.rows("PRAGMA integrity_check(1)")
        if found != [("ok",)]:
            raise LedgerError(damaged(self._database.path, found[0][0]))

    def _end(self, error: BaseException | None) -> None:
        # Closing rolls back what was not committed.
        self._connection.close()
        if isinstance(error, DatabaseError):
            raise told(error, self._database.path, self._database.patience_seconds) from None

    def _look(self) -> None:
        """Refuse what is not ours or not whole before anything is written; bring what is older up to date."""
        path, known = self._database.path, len(self._database.steps)
        ((page_bytes,),) = self.rows("PRAGMA page_size")
        if private.own_file_size(path) % page_bytes:
            # SQLite reads zeros for what is missing of the last page.
            raise LedgerError(damaged(path, "its end is missing"))
        ((version,),) = self.rows("PRAGMA user_version")
        if version > known:
            raise LedgerError(
                f"{path} was written by a newer tokcap (version {version}, this one knows {known});"
                " use that one, or another TOKCAP_DATA_DIR"
            )
        if version < 1:
            raise LedgerError(f"{path} is no ledger of tokcap; move it away")
        if version < known:
            self._database.advance(self._connection, version)

    def _patiently(self, statement: str) -> None:
        """Execute it as soon as no other process is in the way."""
        deadline = time.monotonic() + self._database.patience_seconds
        while True:
            try:
                self._connection.execute(statement)
                return
            except OperationalError as error:
                if primary_code(error) != SQLITE_BUSY or time.monotonic() >= deadline:
                    raise


def address(path: str, mode: str) -> str:
    """A file as SQLite is to open it."""
    return "file:" + path.replace("%", "%25").replace("?", "%3f").replace("#", "%23") + f"?mode={mode}"


def told(error: DatabaseError, path: str, patience_seconds: float) -> LedgerError:
    """What SQLite said, as one line with what to do."""
    code = primary_code(error)
    if code == SQLITE_BUSY:
        return LedgerError(
            f"{path} has been locked by another process for {patience_seconds:g} seconds;"
            " end that process, or try again"
        )
    if code in (SQLITE_CORRUPT, SQLITE_NOTADB):
        return LedgerError(damaged(path, str(error)))
    return LedgerError(f"{path}: {error}")


def damaged(path: str, reason: str) -> str:
    # What SQLite found in a page may be told in several lines.
    return f"{path} is damaged ({' '.join(reason.split())}); move it away, and start the sessions again"


def primary_code(error: DatabaseError) -> int:
    """What kind of error it is, without the details that SQLite adds in the higher bits."""
    # Errors that Python raises itself have none.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
