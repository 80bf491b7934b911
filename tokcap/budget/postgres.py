"""The ledger in PostgreSQL: each step is one call of one function, and so one transaction.

Nothing is kept in the connection between two steps, so a pooler may give each of them another one.
"""

from __future__ import annotations

import os
import time

from tokcap.budget.opened import opened
from tokcap.budget.outbox import Outbox
from tokcap.budget.server import ServerLedger
from tokcap.budget.server_url import (
    LEASE,
    LEASE_SECONDS,
    TIMEOUT,
    TIMEOUT_SECONDS,
    LedgerUrl,
    title_of,
    unquoted,
)
from tokcap.errors import LedgerError, LedgerUnreachable, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.libpq import PostgresConnection
    from tokcap.environment import Environment

SCHEMA = "schema"
DEFAULT_SCHEMA = "tokcap"
OWN_PARAMETERS = (TIMEOUT, LEASE, SCHEMA)
# Ways to connect that the URL may change. Asking for Kerberos first takes a second connection.
USUAL_PARAMETERS = {"gssencmode": "disable", "client_encoding": "utf8", "fallback_application_name": "tokcap"}
# The version of the schema that `ledger.sql` makes, and the files that make it.
VERSION = 1
SCRIPTS = ("ledger.sql", "steps.sql")
DATA = os.path.join(os.path.dirname(__file__), "data")
# Any number that other programs do not use as a key of an advisory lock.
LOCK = 0x746F6B636170

# Another transaction was in the way: nothing was done, and the step can be tried again at once.
AGAIN = ("40001", "40P01", "55P03")
AGAIN_PAUSE_SECONDS = 0.002
# There is no schema, no function or no table: nobody has started a session yet.
MISSING = ("3F000", "42883", "42P01")
# The server is about to end, to start, or to become the primary; or it has no room for a connection.
PASSING = ("08", "57P", "25006", "53300")
ADVICE = {"53100": "its disk is full", "42501": "the user may not do this", "53200": "its memory is full"}
# What a step answers if nobody has started a session yet.
WITHOUT_SCHEMA = {step: ["ok"] for step in ("list", "held", "history", "renew", "announce")}


def open_postgres(url: str, env: Environment, patience_seconds: float) -> ServerLedger:
    """Return the ledger of a URL as `psql` takes it, with a few parameters of our own."""
    return opened(f"{url} {env.data_dir()}", lambda: ledger_of(url, env.data_dir()))


def ledger_of(url: str, data_dir: str) -> ServerLedger:
    place, _, query = url.partition("?")
    given = dict(part.partition("=")[::2] for part in query.split("&") if part)
    own = {name: unquoted(given.pop(name)) for name in OWN_PARAMETERS if name in given}
    parts = LedgerUrl(scheme="", user="", password="", host="", port=None, path="", parameters=own)
    schema = own.get(SCHEMA, "") or DEFAULT_SCHEMA
    if not (schema.isascii() and schema.isidentifier()) or schema.startswith("pg_"):
        raise UsageError("the ledger's URL: the schema must be a word of letters, digits and _")
    parameters = {**USUAL_PARAMETERS, **given}
    plain = f"{place}?{'&'.join(f'{name}={value}' for name, value in parameters.items())}"
    return ServerLedger(
        PostgresEngine(plain, title_of(url), schema),
        timeout_seconds=parts.seconds(TIMEOUT, TIMEOUT_SECONDS),
        lease_seconds=parts.seconds(LEASE, LEASE_SECONDS, least=1.0),
        outbox=Outbox(data_dir, f"{title_of(url)} {schema}"),
    )


class PostgresEngine:
    """Runs steps in one schema. The first session that is started creates it."""

    def __init__(self, url: str, title: str, schema: str) -> None:
        self.title = title
        self._url = url
        self._schema = schema
        self._statement = f'SELECT "{schema}".step($1::integer, $2::text[])'  # a checked word
        self._connection: PostgresConnection | None = None

    def step(self, words: Sequence[str], timeout_seconds: float) -> list[str]:
        from tokcap.budget.libpq import PostgresError

        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                return self._run(words, deadline)
            except PostgresError as error:
                if error.code in AGAIN and time.monotonic() < deadline:
                    time.sleep(AGAIN_PAUSE_SECONDS)
                elif error.code in MISSING and words[0] == "start":
                    self._create(deadline)
                elif error.code in MISSING:
                    return WITHOUT_SCHEMA.get(words[0], ["none"])
                else:
                    raise self._problem(error) from None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _run(self, words: Sequence[str], deadline: float) -> list[str]:
        values = [str(VERSION), array_text(words)]
        return array_words(self._connected(deadline).run(self._statement, values, seconds_until(deadline)))

    def _connected(self, deadline: float) -> PostgresConnection:
        if self._connection is None:
            from tokcap.budget.libpq import PostgresConnection

            self._connection = PostgresConnection(self._url, self.title, seconds_until(deadline))
        return self._connection

    def _create(self, deadline: float) -> None:
        """Create the schema. If many processes try at once, one of them does it."""
        from tokcap.budget.libpq import PostgresError

        connection = self._connected(deadline)
        try:
            connection.run_script(f"BEGIN; SELECT pg_advisory_xact_lock({LOCK})", seconds_until(deadline))
            table = f'"{self._schema}".meta'
            if not connection.run("SELECT to_regclass($1)::text", [table], seconds_until(deadline)):
                for name in SCRIPTS:
                    connection.run_script(self._script(name), seconds_until(deadline))
            connection.run_script("COMMIT", seconds_until(deadline))
        except PostgresError as error:
            # Closing the connection takes everything back.
            self.close()
            raise self._problem(error) from None

    def _script(self, name: str) -> str:
        with open(os.path.join(DATA, name), encoding="utf-8") as file:
            return file.read().replace("@SCHEMA@", f'"{self._schema}"')

    def _problem(self, error: Exception) -> LedgerError:
        code = getattr(error, "code", "")
        if code.startswith(PASSING):
            return LedgerUnreachable(f"{self.title} cannot be used now: {error}")
        return LedgerError(f"{self.title}: {ADVICE.get(code) or error}")


def seconds_until(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def array_text(words: Sequence[str]) -> str:
    """Return an array as PostgreSQL reads it."""
    text = "\0".join(words).replace("\\", "\\\\").replace('"', '\\"')
    # No word contains a NUL: the server could not hold it.
    return '{"' + text.replace("\0", '","') + '"}'


def array_words(text: str) -> list[str]:
    """Return the elements of an array. They are numbers, handles and names: no sign of them needs a quote."""
    return [word.strip('"') for word in text[1:-1].split(",")]
