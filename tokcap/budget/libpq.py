"""One connection to PostgreSQL through its own C library, which finds passwords, services and certificates.

psycopg brings this library along, but takes fifteen times as long to import as the library takes to load.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time

from tokcap.errors import LedgerError, LedgerUnreachable, PackageMissing
from tokcap.system.descriptors import wait_until_ready

# Values of the library's enumerations.
CONNECTION_OK = 0
POLLING_FAILED, POLLING_READING, POLLING_WRITING, POLLING_OK = 0, 1, 2, 3
COMMAND_OK, TUPLES_OK = 1, 2
SQLSTATE = ord("C")
SYSTEM_NAMES = ("libpq.so.5", "libpq.5.dylib")

_library: list[ctypes.CDLL] = []


class PostgresError(Exception):
    """An error that the server has answered with; `code` is its SQLSTATE."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def library() -> ctypes.CDLL:
    """Return the library: the one that psycopg brings along, else that of the system."""
    if not _library:
        _library.append(prepared(loaded()))
    return _library[0]


def loaded() -> ctypes.CDLL:
    for path in (*bundled_paths(), *SYSTEM_NAMES):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    from tokcap.system.installation import command_to_add

    raise PackageMissing(f"the PostgreSQL ledger needs a package; install it: {command_to_add('postgres')}")


def bundled_paths() -> list[str]:
    """Return the paths of the library in the directories of installed packages."""
    found = []
    for directory in sys.path:
        for folder in ("psycopg_binary.libs", "psycopg_binary/.dylibs"):
            place = os.path.join(directory, folder)
            try:
                names = os.listdir(place)
            except OSError:
                continue
            found += [os.path.join(place, name) for name in names if name.startswith("libpq")]
    return found


def prepared(lib: ctypes.CDLL) -> ctypes.CDLL:
    """State the types of the functions that are used."""
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    for name, result, arguments in (
        ("PQconnectStart", pointer, (text,)),
        ("PQconnectPoll", number, (pointer,)),
        ("PQstatus", number, (pointer,)),
        ("PQsocket", number, (pointer,)),
        ("PQerrorMessage", text, (pointer,)),
        ("PQfinish", None, (pointer,)),
        ("PQsendQuery", number, (pointer, text)),
        ("PQconsumeInput", number, (pointer,)),
        ("PQisBusy", number, (pointer,)),
        ("PQgetResult", pointer, (pointer,)),
        ("PQresultStatus", number, (pointer,)),
        ("PQresultErrorField", text, (pointer, number)),
        ("PQresultErrorMessage", text, (pointer,)),
        ("PQgetvalue", text, (pointer, number, number)),
        ("PQclear", None, (pointer,)),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class PostgresConnection:
    """An open connection. After any error but `PostgresError` it must be closed."""

    def __init__(self, url: str, title: str, timeout_seconds: float) -> None:
        self._lib = library()
        self._title = title
        self._process = os.getpid()
        deadline = time.monotonic() + timeout_seconds
        self._handle = self._lib.PQconnectStart(url.encode())
        try:
            # As if the last poll had asked to write: so the library wants it.
            state = POLLING_WRITING
            while state != POLLING_OK:
                if state == POLLING_FAILED or self._lib.PQstatus(self._handle) == 1:
                    raise self._refused()
                self._wait(deadline, writes=state == POLLING_WRITING)
                state = self._lib.PQconnectPoll(self._handle)
        except BaseException:
            self.close()
            raise

    def run(self, statements: str, timeout_seconds: float) -> str:
        """Run statements; return the first value of the last answer."""
        deadline = time.monotonic() + timeout_seconds
        if not self._lib.PQsendQuery(self._handle, statements.encode()):
            raise self._lost()
        value, problem = "", None
        while True:
            while self._lib.PQisBusy(self._handle):
                self._wait(deadline, writes=False)
                if not self._lib.PQconsumeInput(self._handle):
                    raise self._lost()
            result = self._lib.PQgetResult(self._handle)
            if not result:
                break
            status = self._lib.PQresultStatus(result)
            if status == TUPLES_OK:
                value = self._lib.PQgetvalue(result, 0, 0).decode()
            elif status != COMMAND_OK and problem is None:
                code = (self._lib.PQresultErrorField(result, SQLSTATE) or b"").decode()
                problem = PostgresError(code, one_line(self._lib.PQresultErrorMessage(result)))
            self._lib.PQclear(result)
        if problem is not None and not problem.code:
            # The connection broke, and there is no error of the server.
            raise self._lost()
        if problem is not None:
            raise problem
        return value

    def close(self) -> None:
        if self._handle and self._process == os.getpid():
            self._lib.PQfinish(self._handle)
        elif self._handle:
            # A forked process: `PQfinish` would end the connection of the parent.
            os.close(self._lib.PQsocket(self._handle))
        self._handle = None

    def _wait(self, deadline: float, *, writes: bool) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not wait_until_ready(self._lib.PQsocket(self._handle), left, to_write=writes):
            raise LedgerUnreachable(f"{self._title} does not answer in time")

    def _message(self) -> str:
        return one_line(self._lib.PQerrorMessage(self._handle))

    def _refused(self) -> LedgerError:
        message = self._message()
        if "password" in message or "authentication" in message:
            return LedgerError(f"{self._title}: it refuses user or password")
        if "does not exist" in message or "no pg_hba.conf entry" in message or "SSL" in message:
            return LedgerError(f"{self._title}: {message}")
        return LedgerUnreachable(f"{self._title} cannot be reached: {message}")

    def _lost(self) -> LedgerUnreachable:
        return LedgerUnreachable(f"{self._title} cannot be reached: {self._message()}")


def one_line(message: bytes | None) -> str:
    """Return a message of the library, which may have several lines."""
    text = " ".join((message or b"").decode("utf-8", "replace").split())
    # The library says where it tried to connect, which our own message says too, and what to try.
    text = text.rpartition(" failed: ")[2].partition(" Is the server")[0].partition(" DETAIL: ")[0]
    return text.removeprefix("FATAL: ").removeprefix("ERROR: ").strip()
