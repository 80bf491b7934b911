"""The ledger on a Redis or Valkey server: rows are read, and a script changes them if they are as read."""

from __future__ import annotations

import atexit
import itertools
import os
import time

from tokcap.budget import title_of
from tokcap.budget.base import LISTED, Engine
from tokcap.budget.ledger import Ledger
from tokcap.budget.redis_connection import NO_PASSWORD, Address, RedisConnection, RedisError
from tokcap.budget.server import LEASE, TIMEOUT, Outbox, opened, times_in
from tokcap.errors import LedgerError, LedgerUnreachable, UsageError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.urls import parameters_in, unquoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.budget.base import Change, Step, Texts
    from tokcap.budget.redis_connection import Reply
    from tokcap.environment import Environment

PORT = 6379
# The password, as for `redis-cli`.
PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105  # the name of a variable
PREFIX, CA_FILE, DATABASE = "prefix", "cafile", "db"
PARAMETERS = (TIMEOUT, LEASE, PREFIX, CA_FILE, DATABASE)
DEFAULT_PREFIX = "tokcap"
SCRIPT_PATH = os.path.join(os.path.dirname(__file__), "data", "change.lua")
STAMP_CHARACTERS = 16
# How many rows are read with one command.
ROWS_AT_ONCE = 500
# A step whose rows were changed meanwhile is tried again. After this many times it also asks for the lock.
LONGEST_WAIT_SECONDS = 0.01
QUICK_ATTEMPTS = 5
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


def open_redis(url: str, env: Environment, patience_seconds: float) -> Ledger:
    """Return the ledger of a URL: `redis://`, `rediss://` (encrypted) or `unix://` (a path)."""
    password = env.variables.get(PASSWORD_VARIABLE, "")
    name = f"{url} {password} {env.data_dir()}"
    return opened(name, lambda: ledger_of(url, password, env.data_dir()))


def ledger_of(url: str, password: str, data_dir: str) -> Ledger:
    plain, _, query = url.partition("?")
    parameters = {name: unquoted(value) for name, value in parameters_in(query).items()}
    if not parameters.keys() <= set(PARAMETERS):
        raise UsageError(f"the ledger's URL: unknown parameter; known are {', '.join(PARAMETERS)}")
    timeout_seconds, lease_seconds = times_in(parameters)
    prefix = parameters.get(PREFIX) or DEFAULT_PREFIX
    if set(prefix) & set("{}"):
        raise UsageError("the ledger's URL: the prefix may not contain { or }")
    address = address_in(plain, password, parameters)
    engine = RedisEngine(address, prefix, lease_seconds)
    # Python warns of a socket that is still open when a program ends.
    atexit.register(engine.close)
    return Ledger(engine, timeout_seconds, Outbox(data_dir, f"{address.title} {address.database} {prefix}"))


def address_in(url: str, password: str, parameters: Mapping[str, str]) -> Address:
    """Take `scheme://user:password@host:port/database` apart; the path of a `unix` URL is the socket."""
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    login, _, host_and_port = place.rpartition("@")
    user, _, own_password = login.partition(":")
    if host_and_port.startswith("["):
        host, _, port = host_and_port[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = host_and_port.partition(":")
    if port and not (port.isdecimal() and 0 < int(port) < 1 << 16):
        raise UsageError("the ledger's URL: the port must be a number up to 65535")
    is_local = scheme == "unix"
    path = unquoted(slash + path)
    database = parameters.get(DATABASE, "") or ("" if is_local else path.strip("/"))
    if database and not database.isdecimal():
        raise UsageError("the ledger's URL: the path must be the number of a database")
    if is_local and not path:
        raise UsageError("the ledger's URL: give the path of the socket, as in unix:///run/redis.sock")
    return Address(
        title=title_of(url),
        host=unquoted(host) or "localhost",
        port=int(port or PORT),
        path=path if is_local else "",
        database=int(database or 0),
        user=unquoted(user),
        password=unquoted(own_password) or password,
        is_encrypted=scheme == "rediss",
        ca_file=parameters.get(CA_FILE, ""),
    )


class RedisEngine(Engine):
    """Rows in strings, each after a stamp that tells whether it has changed. One script changes rows."""

    def __init__(self, address: Address, prefix: str, lease_seconds: float) -> None:
        self.title = address.title
        self.lease_seconds = lease_seconds
        self._first_address = self._address = address
        # The braces put all keys of a ledger into one slot of a cluster.
        self._prefix = f"{{{prefix}}}:"
        self._connection: RedisConnection | None = None
        with open(SCRIPT_PATH, encoding="utf-8") as file:
            self._script = file.read()

    def change(self, keys: Sequence[str], step: Step, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        stored, now = self._load(keys, deadline)
        asker = os.urandom(8).hex()
        for attempt in itertools.count():
            changes = step(texts_of(keys, stored), now)
            if not changes:
                return
            words = self._change_words(keys, stored, changes, asker if attempt >= QUICK_ATTEMPTS else "")
            (answer,) = self._calls([["EVAL", self._script, *words]], deadline)
            if answer == 1:
                return
            # Somebody else was faster.
            if time.monotonic() >= deadline:
                raise LedgerError(f"{self.title}: too many others change the same session; try again")
            *found, owner = answered_list(answer)
            stored, now = found_in(found)
            if owner not in (None, asker):
                time.sleep(LONGEST_WAIT_SECONDS * int.from_bytes(os.urandom(1), "big") / 256)
                stored, now = self._load(keys, deadline)

    def load(self, keys: Sequence[str], seconds: float) -> tuple[Texts, float]:
        stored, now = self._load(keys, time.monotonic() + seconds)
        return texts_of(keys, stored), now

    def scan(self, kind: str, most: int, seconds: float) -> tuple[Texts, float]:
        deadline = time.monotonic() + seconds
        listed = ["ZREVRANGE", f"{self._prefix}{kind}", "0", str(most - 1)]
        names = answered_list(self._calls([listed], deadline)[0])
        found = [str(name).removeprefix(self._prefix) for name in names]
        texts: dict[str, str | None] = {}
        now = 0.0
        for begin in range(0, len(found), ROWS_AT_ONCE):
            keys = found[begin : begin + ROWS_AT_ONCE]
            stored, now = self._load(keys, deadline)
            # A row may have expired since it was listed.
            texts.update({key: text for key, text in texts_of(keys, stored).items() if text is not None})
        return texts, now

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._address = self._first_address

    def _load(self, keys: Sequence[str], deadline: float) -> tuple[Sequence[str], float]:
        """Return what is stored in rows, with their stamps, and the time of the server."""
        names = [f"{self._prefix}{key}" for key in keys]
        return found_in(self._calls([["MGET", *names], ["TIME"]], deadline))

    def _change_words(
        self, keys: Sequence[str], stored: Sequence[str], changes: Mapping[str, Change], asker: str
    ) -> Sequence[str]:
        """Return the arguments of the script; see there."""
        # The last session is the one that most others change too.
        session = [key for key in keys if key.startswith("session/")][-1]
        names = [f"lock/{session}", *keys]
        names += [key for key in changes if key not in keys]
        words = [asker, str(len(keys)), *[text[:STAMP_CHARACTERS] for text in stored]]
        stamp = os.urandom(STAMP_CHARACTERS // 2).hex()
        for key, (text, kept_seconds) in changes.items():
            kind = key.partition("/")[0]
            words += [
                str(names.index(key) + 1),
                "" if text is None else stamp + text,
                "0" if kept_seconds is None else str(round(kept_seconds * 1000)),
                f"{self._prefix}{kind}" if kind in LISTED else "",
            ]
        return [str(len(names)), *[f"{self._prefix}{name}" for name in names], *words]

    def _calls(self, commands: Sequence[Sequence[str]], deadline: float) -> Sequence[Reply]:
        """Send commands at once, and return their answers."""
        for _ in range(MOST_REDIRECTIONS):
            try:
                if self._connection is None:
                    self._connection = RedisConnection(self._address, left_seconds(deadline))
                return self._connection.calls(commands, left_seconds(deadline))
            except RedisError as error:
                if error.code != "MOVED":
                    raise self._problem(error) from None
                self._move(str(error))
        raise LedgerUnreachable(f"{self.title} sends steps from one server to the other")

    def _move(self, message: str) -> None:
        """Continue on the server that has the keys now: `MOVED 866 10.0.0.7:6379`."""
        host, _, port = message.split()[2].rpartition(":")
        self.close()
        self._address = self._first_address.replace(
            host=host or self._first_address.host, port=int(port), path=""
        )

    def _problem(self, error: RedisError) -> LedgerError:
        advice = ADVICE.get(error.code)
        if advice:
            return LedgerError(f"{self.title}: {advice}")
        # The words of the server may repeat what was sent, a password too.
        problem = f"the server answers with error {error.code}"
        if error.code in PASSING_CODES:
            return LedgerUnreachable(f"{self.title} cannot be used now: {problem}")
        return LedgerError(f"{self.title}: {problem}")


def left_seconds(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)


def texts_of(keys: Sequence[str], stored: Sequence[str]) -> Texts:
    return {key: text[STAMP_CHARACTERS:] or None for key, text in zip(keys, stored, strict=True)}


def found_in(replies: Sequence[Reply]) -> tuple[Sequence[str], float]:
    """Return the texts of rows, and the time in seconds."""
    stored, moment = map(answered_list, replies)
    seconds, microseconds = map(str, moment)
    return [str(text or "") for text in stored], int(seconds) + int(microseconds) / 1_000_000


def answered_list(reply: Reply) -> list[Reply]:
    if not isinstance(reply, list):
        raise LedgerError("the ledger gave an answer that tokcap does not understand")
    return reply
