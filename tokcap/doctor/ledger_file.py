"""Check the file of the SQLite ledger: owner, permissions, pages, version, sessions and reservations.

The file is only read: reservations of ended processes stay.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.budget.database import ReadOnlyDatabase, not_a_ledger
from tokcap.budget.holder import is_gone, this_process
from tokcap.budget.schema import FILE_NAME, VERSION
from tokcap.budget.tables import holder_of, holders_path
from tokcap.core.units import count_of
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import LedgerError
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from tokcap.environment import Environment

PATIENCE_SECONDS = 2.0
# Every step of a session rolls back a journal, and frees reservations of ended processes.
NEXT_STEP = "tokcap budget list"


def check_file(env: Environment) -> Generator[Finding, None, set[str] | None]:
    """Check the file and its content; return the names of the sessions, or None if it is unusable."""
    path = os.path.join(env.data_dir(), FILE_NAME)
    move_away = f"mv {quoted(path)} {quoted(path + '.damaged')}"
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        yield ok("ledger", "none yet; the first session creates it")
        return set()
    problem = file_problem(found)
    if problem:
        yield wrong("ledger", f"{path} is {problem}", move_away)
        return None
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        yield wrong("permissions", f"{mode:04o}: others can read the ledger", f"chmod 600 {quoted(path)}")
    try:
        database = ReadOnlyDatabase(path, PATIENCE_SECONDS)
        try:
            yield from check_content(database, path)
            rows = database.rows("SELECT name FROM sessions WHERE ended IS NULL")
        finally:
            database.close()
    except LedgerError as error:
        if os.path.exists(path + "-journal") and "readonly" in str(error):
            message = "a process was killed while writing to it; the next use of a session repairs it"
            yield note("ledger", message, NEXT_STEP)
        else:
            yield wrong("ledger", str(error), NEXT_STEP if "locked" in str(error) else move_away)
        return None
    return {str(name) for (name,) in rows}


def file_problem(found: os.stat_result) -> str:
    """Return what is wrong with the file itself; empty if nothing is."""
    if stat.S_ISLNK(found.st_mode):
        return "a symbolic link"
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        return "not a regular file, or not owned by you"
    return "" if found.st_size else "empty"


def check_content(database: ReadOnlyDatabase, path: str) -> Iterator[Finding]:
    """Check pages, version and rows."""
    database.check()
    ((version,),) = database.rows("PRAGMA user_version")
    if version > VERSION:
        message = f"{path} has version {version}, and this tokcap knows {VERSION}"
        yield wrong("ledger", message, "python3 -m pip install --upgrade tokcap")
        return
    if version < 1:
        raise LedgerError(not_a_ledger(path))
    yield ok("ledger", f"intact, version {version}")
    ((running, ended),) = database.rows("SELECT count(*) - count(ended), count(ended) FROM sessions")
    yield ok("sessions", f"{running} running, {ended} ended")
    yield check_reservations(database, path)


def check_reservations(database: ReadOnlyDatabase, path: str) -> Finding:
    """Find reservations of processes that have ended."""
    here = this_process()
    held = database.rows("SELECT tokens, pid, started, boot, namespace, place FROM reservations")
    dead = [tokens for tokens, *row in held if is_gone(holder_of(tuple(row)), here, holders_path(path))]
    if dead:
        holders = count_of(len(dead), "process", "processes")
        message = f"{holders} died with {sum(dead)} tokens reserved; the next use of a session frees them"
        return note("reservations", message, NEXT_STEP)
    return ok("reservations", f"{len(held)}, all held by running processes" if held else "none")
