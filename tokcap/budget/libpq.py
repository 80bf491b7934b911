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
POLLING_FAILED, POLLING_READING, POLLING_WRITING, POLLING_OK = 0, 1, 2, 3
COMMAND_OK, TUPLES_OK = 1, 2
SQLSTATE = ord("C")
SYSTEM_NAMES = ("libpq.so.5", "libpq.5.dylib")

# Why a connection may be refused, by words of the library or the server, and how we say it.
# Neither is quoted: both repeat parts of the URL, of service files and of passwords that they cannot read.
REFUSALS = (
    ("password", "it refuses user or password"),
    ("authentication", "it refuses user or password"),
    ("pg_hba.conf", "it admits no such user from this host (pg_hba.conf)"),
    ("role ", "it refuses user or password"),
    ("certificate", "the certificates do not allow the encryption that was asked for"),
    ("SSL", "the encryption that was asked for is not possible"),
    ("service", "the service file, or its definition, was not found or is not valid"),
    ("database ", "the database does not exist"),
    ("invalid", "the library of PostgreSQL refuses a parameter of the URL"),
    ("URI", "the library of PostgreSQL refuses the URL"),
)
ABSENCES = (
    *("Connection refused", "No such file or directory", "Permission denied", "Connection timed out"),
    *("Connection reset by peer", "No route to host", "Network is unreachable", "timeout expired"),
    *("could not translate host name", "server closed the connection unexpectedly", "starting up"),
    *("shutting down", "not yet accepting connections", "recovery mode", "too many clients", "slots"),
)

_library: list[ctypes.CDLL] = []
# Called with each notice of the server, which the library would write to stderr.
ignore_notice = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)(lambda *_: None)


class PostgresError(Exception):
    """An error that the server has answered with; `code` is its SQLSTATE."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
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
        ("PQsetNoticeProcessor", pointer, (pointer, pointer, pointer)),
        ("PQsocket", number, (pointer,)),
        ("PQerrorMessage", text, (pointer,)),
        ("PQfinish", None, (pointer,)),
        ("PQsendQuery", number, (pointer, text)),
        ("PQconsumeInput", number, (pointer,)),
        ("PQisBusy", number, (pointer,)),
        ("PQgetResult", pointer, (pointer,)),
        ("PQresultStatus", number, (pointer,)),
        ("PQresultErrorField", text, (pointer, number)),
        ("PQgetvalue", text, (pointer, number, number)),
        ("PQclear", None, (pointer,)),
    ):
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


class PostgresConnection:
    """An open connection. After any error but `PostgresError` it must be closed."""

    def __init__(self, url: str, title: str, timeout_seconds: float, unused_password_file: str = "") -> None:
        """`unused_password_file`: why a password may be missing."""
        self._lib = library()
        self._title = title
        self._process = os.getpid()
        deadline = time.monotonic() + timeout_seconds
        self._unused_password_file = unused_password_file
        self._handle = self._lib.PQconnectStart(url.encode())
        self._lib.PQsetNoticeProcessor(self._handle, ignore_notice, None)
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
                problem = PostgresError(code)
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

    def _refused(self) -> LedgerError:
        message = self._lib.PQerrorMessage(self._handle) or b""
        absence = absence_in(message)
        for words, meaning in REFUSALS if not absence else ():
            if words.encode() in message:
                if words == "password" and self._unused_password_file:
                    meaning += f"; others can read {self._unused_password_file}, so it is not used"
                return LedgerError(f"{self._title}: {meaning}")
        return self._lost()

    def _lost(self) -> LedgerUnreachable:
        absence = absence_in(self._lib.PQerrorMessage(self._handle) or b"")
        return LedgerUnreachable(f"{self._title} cannot be reached: {absence or 'the connection failed'}")


def absence_in(message: bytes) -> str:
    """Return the known words in a message that say why a server does not answer; empty if there are none."""
    return next((words for words in ABSENCES if words.encode() in message), "")
