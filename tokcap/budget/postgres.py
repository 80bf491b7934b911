"""The ledger in PostgreSQL: rows in one table, and a lock for each that a step reads, until it commits.

Nothing is kept in the connection between two steps, so a pooler may give each of them another one.
"""

from __future__ import annotations

import os
import stat
import time

from tokcap.budget import title_of
from tokcap.budget.base import LISTED, Engine
from tokcap.budget.ledger import Ledger
from tokcap.budget.libpq import PostgresConnection, PostgresError
from tokcap.budget.server import LEASE, TIMEOUT, Outbox, opened, times_in
from tokcap.errors import LedgerError, LedgerUnreachable, UsageError
from tokcap.startup.plainjson import loads
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.urls import parameters_in, unquoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tokcap.budget.base import Step, Texts
    from tokcap.environment import Environment

    Answer = TypeVar("Answer")

SCHEMA = "schema"
DEFAULT_SCHEMA = "tokcap"
PASSWORD_FILE = "passfile"  # noqa: S105  # the name of a parameter
NO_FILE = "%2Fdev%2Fnull%2Fnone"
OWN_PARAMETERS = (TIMEOUT, LEASE, SCHEMA)
# Ways to connect that the URL may change. Asking for Kerberos first takes a second connection.
USUAL_PARAMETERS = {"gssencmode": "disable", "client_encoding": "utf8", "fallback_application_name": "tokcap"}
# Any number that other programs do not use as a key of an advisory lock.
LOCK = 0x746F6B636170

# The table of the ledger. `expires` is NULL for a row that is kept until it is removed.
TABLE = """
    CREATE SCHEMA IF NOT EXISTS {schema};
    CREATE TABLE IF NOT EXISTS {schema}.rows (
        key text COLLATE "C" PRIMARY KEY, value text NOT NULL, expires timestamptz);
    CREATE INDEX IF NOT EXISTS expiring ON {schema}.rows (expires) WHERE expires IS NOT NULL;
"""
# Rows may be missing, so locks are on the digests of their keys. All steps take them in the same order.
LOCKS = """
    SELECT pg_advisory_xact_lock(number) FROM (
        SELECT DISTINCT hashtextextended(unnest(ARRAY[{keys}]), 0) AS number ORDER BY 1) AS numbers;
"""
LOAD = """
    SELECT extract(epoch FROM clock_timestamp())::text || ' ' || coalesce(
        json_object_agg(key, value)::text, '{{}}') FROM {schema}.rows WHERE key IN ({keys});
"""
# '0' is the character after '/'.
SCAN = """
    SELECT extract(epoch FROM clock_timestamp())::text || ' ' || coalesce(
        json_object_agg(key, value)::text, '{{}}') FROM (
        SELECT key, value FROM {schema}.rows WHERE key BETWEEN '{kind}/' AND '{kind}0'
        AND (expires IS NULL OR expires > clock_timestamp()) ORDER BY expires DESC LIMIT {most}) AS found;
"""
WRITE = """
    INSERT INTO {schema}.rows VALUES ({key}, {text}, clock_timestamp() + {seconds} * interval '1 second')
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires = excluded.expires;
"""
REMOVE = "DELETE FROM {schema}.rows WHERE key = {key};"
# One step in about this many removes expired rows.
CLEANING_STEPS = 100
CLEAN = "DELETE FROM {schema}.rows WHERE expires < clock_timestamp();"

# Another transaction was in the way: nothing was done, and the step can be tried again at once.
AGAIN = ("40001", "40P01", "55P03")
AGAIN_PAUSE_SECONDS = 0.002
# There is no schema or no table: nobody has started a session yet.
MISSING = ("3F000", "42P01")
# The server is about to end, to start, or to become the primary; or it has no room for a connection.
PASSING = ("08", "57P", "25006", "53300")
ADVICE = {"53100": "its disk is full", "42501": "the user may not do this", "53200": "its memory is full"}


def open_postgres(url: str, env: Environment, patience_seconds: float) -> Ledger:
    """Return the ledger of a URL as `psql` takes it, with a few parameters of our own."""
    return opened(f"{url} {env.data_dir()}", lambda: ledger_of(url, env.data_dir()))


def ledger_of(url: str, data_dir: str) -> Ledger:
    place, _, query = url.partition("?")
    given = parameters_in(query)
    own = {name: unquoted(given.pop(name)) for name in OWN_PARAMETERS if name in given}
    timeout_seconds, lease_seconds = times_in(own)
    schema = own.get(SCHEMA, "") or DEFAULT_SCHEMA
    if not (schema.isascii() and schema.isidentifier()) or schema.startswith("pg_"):
        raise UsageError("the ledger's URL: the schema must be a word of letters, digits and _")
    if not (unused := unusable_password_file(unquoted(given.get(PASSWORD_FILE, "")))):
        parameters = {**USUAL_PARAMETERS, **given}
    else:
        # The library would not use it either, but says so on stderr.
        parameters = {**USUAL_PARAMETERS, **given, PASSWORD_FILE: NO_FILE}
    plain = f"{place}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"
    engine = PostgresEngine(plain, title_of(url), schema, lease_seconds, unused)
    return Ledger(engine, timeout_seconds, Outbox(data_dir, f"{title_of(url)} {schema}"))


class PostgresEngine(Engine):
    """Rows in a table of one schema. The first session that is started creates both."""

    def __init__(
        self, url: str, title: str, schema: str, lease_seconds: float, unused_password_file: str = ""
    ) -> None:
        self.title = title
        self._unused_password_file = unused_password_file
        self.lease_seconds = lease_seconds
        self._url = url
        self._schema = f'"{schema}"'  # a checked word
        self._connection: PostgresConnection | None = None

    def change(self, keys: Sequence[str], step: Step, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self._attempt(lambda: self._change(keys, step, deadline), deadline) is None:
            # There is no table. A step that changes something creates it, and is taken again.
            if not step(dict.fromkeys(keys), time.time()):
                return
            self._create(deadline)

    def load(self, keys: Sequence[str], seconds: float) -> tuple[Texts, float]:
        deadline = time.monotonic() + seconds
        statement = self._filled(LOAD, keys=", ".join(map(literal, keys)))
        found = self._attempt(lambda: self._found(statement, keys, deadline), deadline)
        return found or (dict.fromkeys(keys), time.time())

    def scan(self, kind: str, most: int, seconds: float) -> tuple[Texts, float]:
        deadline = time.monotonic() + seconds
        statement = self._filled(SCAN, kind=kind, most=most)
        return self._attempt(lambda: self._found(statement, (), deadline), deadline) or ({}, time.time())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _change(self, keys: Sequence[str], step: Step, deadline: float) -> bool:
        """Take a step in one transaction."""
        # Rows of other kinds only change together with a row of a listed kind.
        listed = [key for key in keys if key.partition("/")[0] in LISTED]
        guarded = ", ".join([literal(f"{self._schema} {key}") for key in listed])
        load = self._filled(LOAD, keys=", ".join(map(literal, keys)))
        try:
            begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; {LOCKS.format(keys=guarded)} {load}"
            texts, now = self._found(begin, keys, deadline)
            changes = step(texts, now)
            statements = [self._change_statement(key, *change) for key, change in changes.items()]
            if round(now * 1000) % CLEANING_STEPS == 0:
                statements.append(self._filled(CLEAN))
            self._run(f"{' '.join(statements)} COMMIT", deadline)
        except BaseException:
            # Nothing may be left of the transaction for the next step.
            try:
                if self._connection is not None:
                    self._run("ROLLBACK", deadline)
            except (PostgresError, LedgerError):
                # The connection is lost, and the transaction with it.
                self.close()
            raise
        return True

    def _change_statement(self, key: str, text: str | None, kept_seconds: float | None) -> str:
        if text is None:
            return self._filled(REMOVE, key=literal(key))
        seconds = "NULL" if kept_seconds is None else kept_seconds
        return self._filled(WRITE, key=literal(key), text=literal(text), seconds=seconds)

    def _found(self, statement: str, keys: Sequence[str], deadline: float) -> tuple[Texts, float]:
        """Return the rows that a statement finds, and the time of the server."""
        now, _, rows = self._run(statement, deadline).partition(" ")
        return {**dict.fromkeys(keys), **loads(rows)}, float(now)

    def _run(self, statements: str, deadline: float) -> str:
        seconds = max(deadline - time.monotonic(), 0.001)
        if self._connection is None:
            self._connection = PostgresConnection(self._url, self.title, seconds, self._unused_password_file)
        return self._connection.run(statements, max(deadline - time.monotonic(), 0.001))

    def _attempt(self, work: Callable[[], Answer], deadline: float) -> Answer | None:
        """Do the work, and again if another transaction was in the way; return None if there is no table."""
        while True:
            try:
                return work()
            except PostgresError as error:
                if error.code in MISSING:
                    return None
                if error.code not in AGAIN or time.monotonic() >= deadline:
                    raise self._problem(error) from None
                time.sleep(AGAIN_PAUSE_SECONDS)

    def _create(self, deadline: float) -> None:
        """Create schema and table. If many processes try at once, one of them does it."""
        try:
            self._run(f"BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {self._filled(TABLE)} COMMIT", deadline)
        except PostgresError as error:
            # Closing the connection takes everything back.
            self.close()
            raise self._problem(error) from None

    def _filled(self, template: str, **words: object) -> str:
        return template.format(schema=self._schema, **words)

    def _problem(self, error: PostgresError) -> LedgerError:
        # The words of the server may have the name of the user.
        problem = f"the server answers with error {error.code}"
        if error.code.startswith(PASSING):
            return LedgerUnreachable(f"{self.title} cannot be used now: {problem}")
        return LedgerError(f"{self.title}: {ADVICE.get(error.code) or problem}")


def unusable_password_file(named: str) -> str:
    """Return the password file if others can read it, or if it is not a file; empty if it can be used."""
    path = named or os.environ.get("PGPASSFILE") or os.path.expanduser("~/.pgpass")
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) and not mode & (stat.S_IRWXG | stat.S_IRWXO) else path


def literal(text: str) -> str:
    """Return a text as SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"
