"""The ledger on a Redis or Valkey server: each step is one call of one script, which nothing interrupts."""

from __future__ import annotations

import atexit
import os
import time

from tokcap.budget.opened import opened
from tokcap.budget.outbox import Outbox
from tokcap.budget.redis_connection import NO_PASSWORD, Address, RedisConnection, RedisError
from tokcap.budget.server import ServerLedger
from tokcap.budget.server_url import LEASE, LEASE_SECONDS, TIMEOUT, TIMEOUT_SECONDS, parse_url
from tokcap.errors import LedgerError, LedgerUnreachable, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment

PORT = 6379
# The password, as for `redis-cli`.
PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105  # the name of a variable
PREFIX, CA_FILE, DATABASE = "prefix", "cafile", "db"
PARAMETERS = (TIMEOUT, LEASE, PREFIX, CA_FILE, DATABASE)
DEFAULT_PREFIX = "tokcap"
SCRIPT_PATH = os.path.join(os.path.dirname(__file__), "data", "ledger.lua")
# The script joins the texts of an answer: one is read faster than a list. None of them contains this sign.
BETWEEN = "\0"
# A cluster that moves a slot may send a step on a few times.
MOST_REDIRECTIONS = 5
# The server may answer again soon: it loads its data, or another server takes its place, or a script hangs.
PASSING_CODES = ("LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "READONLY", "UNBLOCKED")
ADVICE = {
    NO_PASSWORD: f"it wants a password: set {PASSWORD_VARIABLE}, or put it into the URL",
    "WRONGPASS": "it refuses the password",
    "NOPERM": "the user may not do this",
    "OOM": "its memory is full",
    "MISCONF": "it cannot save its data; its disk may be full",
    "CROSSSLOT": "the prefix may not contain { or }",
}


def open_redis(url: str, env: Environment, patience_seconds: float) -> ServerLedger:
    """Return the ledger of a URL: `redis://`, `rediss://` (encrypted) or `unix://` (a path)."""
    password = env.variables.get(PASSWORD_VARIABLE, "")
    name = f"{url} {password} {env.data_dir()}"
    return opened(name, lambda: ledger_of(url, password, env.data_dir()))


def ledger_of(url: str, password: str, data_dir: str) -> ServerLedger:
    parts = parse_url(url, PARAMETERS)
    is_local = parts.scheme == "unix"
    database = parts.parameters.get(DATABASE, "") or ("" if is_local else parts.path.strip("/"))
    if database and not database.isdecimal():
        raise UsageError("the ledger's URL: the path must be the number of a database")
    if is_local and not parts.path:
        raise UsageError("the ledger's URL: give the path of the socket, as in unix:///run/redis.sock")
    prefix = parts.parameters.get(PREFIX, "") or DEFAULT_PREFIX
    if set(prefix) & set("{}"):
        raise UsageError("the ledger's URL: the prefix may not contain { or }")
    address = Address(
        title=parts.title,
        host=parts.host or "localhost",
        port=parts.port or PORT,
        path=parts.path if is_local else "",
        database=int(database or 0),
        user=parts.user,
        password=parts.password or password,
        is_encrypted=parts.scheme == "rediss",
        ca_file=parts.parameters.get(CA_FILE, ""),
    )
    engine = RedisEngine(address, prefix)
    # Python warns of a socket that is still open when a program ends.
    atexit.register(engine.close)
    return ServerLedger(
        engine,
        timeout_seconds=parts.seconds(TIMEOUT, TIMEOUT_SECONDS),
        lease_seconds=parts.seconds(LEASE, LEASE_SECONDS, least=1.0),
        outbox=Outbox(data_dir, f"{parts.title} {database or 0} {prefix}"),
    )


class RedisEngine:
    """Runs steps by the digest of the script, and sends the script itself if the server does not know it."""

    def __init__(self, address: Address, prefix: str) -> None:
        self.title = address.title
        self._first_address = self._address = address
        # The braces put all keys of a ledger into one slot of a cluster.
        self._key = f"{{{prefix}}}:meta"
        self._connection: RedisConnection | None = None
        self._digest = ""

    def step(self, words: Sequence[str], timeout_seconds: float) -> list[str]:
        deadline = time.monotonic() + timeout_seconds
        for _ in range(MOST_REDIRECTIONS):
            try:
                found = self._run(words, deadline)
            except RedisError as error:
                if error.code == "MOVED":
                    self._move(str(error))
                    continue
                raise self._problem(error) from None
            if isinstance(found, str) and found:
                return found.split(BETWEEN)
            raise LedgerError(f"{self.title} gave an answer that tokcap does not understand")
        raise LedgerUnreachable(f"{self.title} sends steps from one server to the other")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._address = self._first_address

    def _run(self, words: Sequence[str], deadline: float) -> object:
        if self._connection is None:
            self._connection = RedisConnection(self._address, max(deadline - time.monotonic(), 0.001))
        call = self._connection.call
        rest = ["1", self._key, *words]
        try:
            return call(["EVALSHA", self._script_digest(), *rest], max(deadline - time.monotonic(), 0.001))
        except RedisError as error:
            if error.code != "NOSCRIPT":
                raise
        return call(["EVAL", script_text(), *rest], max(deadline - time.monotonic(), 0.001))

    def _script_digest(self) -> str:
        if not self._digest:
            try:
                # `hashlib` takes three milliseconds.
                from _sha1 import sha1
            except ImportError:
                from hashlib import sha1

            self._digest = sha1(script_text().encode(), usedforsecurity=False).hexdigest()
        return self._digest

    def _move(self, message: str) -> None:
        """Continue on the server that has the keys now: `MOVED 866 10.0.0.7:6379`."""
        host, _, port = message.split()[2].rpartition(":")
        self.close()
        self._address = self._first_address.but(
            host=host or self._first_address.host, port=int(port), path=""
        )

    def _problem(self, error: RedisError) -> LedgerError:
        advice = ADVICE.get(error.code)
        if advice:
            return LedgerError(f"{self.title}: {advice}")
        if error.code in PASSING_CODES:
            return LedgerUnreachable(f"{self.title} cannot be used now: {error}")
        return LedgerError(f"{self.title}: {error}")


def script_text() -> str:
    with open(SCRIPT_PATH, encoding="utf-8") as file:
        return file.read()
