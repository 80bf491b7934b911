"""Real servers for ledgers: each has its own directory and port, and ends with the test run.

Servers do not run as root: then they are started as the user `nobody`.
"""

from __future__ import annotations

import atexit
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.certificates import self_signed
from tokcap.budget import open_ledger
from tokcap.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.budget.ledger import Ledger

PASSWORD = "correct horse"
PASSWORD_IN_URL = "correct%20horse"


# Below the ports that the system gives to clients, which could take one while its server is down.
SERVER_PORTS = range(15_000, 32_000)
STARTING_SECONDS = 120


def free_port() -> int:
    """Return a port that nobody uses. Processes that ask at the same time hardly get the same one."""
    chance = random.SystemRandom()
    while True:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port := chance.choice(SERVER_PORTS)))
            except OSError:
                continue
            return port


def not_root() -> dict[str, object]:
    """Return how a process is started that must not run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def own_directory(room: str = "") -> Path:
    """Make a directory that the user of the servers can write. Sockets in it need a short path.

    `room` is the size of a file system of its own, such as 100m.
    """
    place = Path(tempfile.mkdtemp(prefix="tokcap-", dir="/tmp"))
    if room:
        words = ["mount", "-t", "tmpfs", "-o", f"size={room}", "none", str(place)]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
            place.rmdir()
            pytest.skip("a small file system cannot be mounted here")
        atexit.register(subprocess.run, ["umount", "--lazy", str(place)], capture_output=True, check=False)
    place.chmod(0o755)
    if os.geteuid() == 0:
        shutil.chown(place, "nobody", "nogroup")
    return place


class Server:
    """A server with a password. Its directory is removed at the end."""

    ending = signal.SIGTERM
    # How many answers there are to the login.
    login_answers = 1

    def __init__(self, settings: Sequence[str], room: str) -> None:
        self.directory = own_directory(room)
        self.port = free_port()
        self._settings = settings
        self.process: subprocess.Popen | None = None
        atexit.register(self.close)

    def run(self, words: Sequence[str], is_ready: Callable[[], bool]) -> None:
        """Start the server, and wait until it is ready."""
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.directory, **not_root())
        deadline = time.monotonic() + STARTING_SECONDS
        while not is_ready():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.03)

    def stop(self, number: int | None = None) -> None:
        if self.process is not None:
            self.process.send_signal(number or self.ending)
            self.process.wait()
            self.process = None

    def log(self) -> str:
        return (self.directory / "log").read_text()

    def close(self) -> None:
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)


class RedisServer(Server):
    """A Redis server with a password, a TCP port, a Unix socket, and an encrypted port if asked for."""

    def __init__(self, *settings: str, encrypted: bool = False, room: str = "") -> None:
        super().__init__(settings, room)
        self.encrypted_port = free_port() if encrypted else 0
        self.socket = self.directory / "s"
        if encrypted:
            self._settings = [*settings, *self._certificate()]
        self.start()

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(
        self, space: str, query: str = "timeout=20", port: int | None = None, password: str = PASSWORD_IN_URL
    ) -> str:
        """Return the URL of a ledger of its own, which nothing else uses."""
        return f"redis://:{password}@127.0.0.1:{port or self.port}/0?prefix={space}&{query}"

    def start(self) -> None:
        words = [
            "redis-server",
            *("--port", str(self.port), "--dir", str(self.directory)),
            *("--bind", "127.0.0.1"),
            *("--unixsocket", str(self.socket), "--unixsocketperm", "777"),
            *("--requirepass", PASSWORD),
            *(self._settings or ("--save", "", "--appendonly", "no")),
        ]
        self.run(words, lambda: self.ask("PING") == "PONG")

    def ask(self, *words: str) -> str:
        """Return what `redis-cli` prints."""
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *words],
            capture_output=True,
            text=True,
            env={**os.environ, "REDISCLI_AUTH": PASSWORD},
            check=False,
        )
        return done.stdout.strip()

    def forget(self, space: str) -> None:
        """Lose a whole ledger, as a server without a disk does when it is started again."""
        for key in self.ask("KEYS", f"{{{space}}}*").split():
            self.ask("DEL", key)

    def make_newer(self, space: str) -> None:
        """Write what a later version of tokcap would have written."""
        self.ask("SET", f"{{{space}}}:meta", 16 * "0" + '{"version":99}')

    def connections(self) -> int:
        """Return how many clients are connected, this one included."""
        return len(self.ask("CLIENT", "LIST").splitlines())

    def _certificate(self) -> list[str]:
        key, self.certificate = self_signed(self.directory)
        return [
            *("--save", "", "--tls-port", str(self.encrypted_port), "--tls-auth-clients", "no"),
            *("--tls-cert-file", str(self.certificate), "--tls-key-file", str(key)),
        ]


def postgres_programs() -> str:
    """Return the directory of the newest PostgreSQL; Debian does not put it on PATH."""
    found = shutil.which("initdb")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: int(place.parent.name))
    return os.path.dirname(found) if found else str(places[-1]) if places else ""


class PostgresServer(Server):
    """A PostgreSQL server. SIGINT is a fast shutdown, SIGQUIT an immediate one."""

    ending = signal.SIGINT
    login_answers = 3

    def __init__(self, *settings: str, room: str = "") -> None:
        self._programs = postgres_programs()
        super().__init__([word for setting in settings for word in ("-c", setting)], room)
        (self.directory / "password").write_text(PASSWORD)
        initdb = [f"{self._programs}/initdb", "-D", str(self.directory / "data"), "-U", "owner"]
        subprocess.run(
            [
                *initdb,
                *("-A", "scram-sha-256", "--pwfile", str(self.directory / "password")),
                *("--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C"),
                *(("--wal-segsize=1",) if room else ()),
            ],
            check=True,
            capture_output=True,
            cwd=self.directory,
            **not_root(),
        )
        self.start()

    def url(
        self, space: str, query: str = "timeout=20", port: int | None = None, password: str = PASSWORD_IN_URL
    ) -> str:
        """Return the URL of a ledger of its own, which nothing else uses."""
        login = f"owner:{password}" if password else "owner"
        return f"postgresql://{login}@127.0.0.1:{port or self.port}/postgres?schema={space}&{query}"

    def start(self) -> None:
        words = [
            *(f"{self._programs}/postgres", "-D", str(self.directory / "data"), "-p", str(self.port)),
            *("-k", str(self.directory), "-c", "listen_addresses=127.0.0.1"),
            # The last one of the same name counts.
            *self._settings,
        ]
        self.run(words, lambda: self.ask("SELECT 1") == "1")

    def close(self) -> None:
        self.stop(signal.SIGQUIT)
        super().close()

    def ask(self, statement: str) -> str:
        """Return what `psql` prints."""
        done = subprocess.run(
            ["psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "owner", "-Atqc", statement, "postgres"],
            capture_output=True,
            text=True,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            check=False,
        )
        return done.stdout.strip()

    def forget(self, space: str) -> None:
        """Lose a whole ledger."""
        self.ask(f"DROP SCHEMA {space} CASCADE")

    def make_newer(self, space: str) -> None:
        """Write what a later version of tokcap would have written."""
        self.ask(f"UPDATE {space}.rows SET value = '{{\"version\":99}}' WHERE key = 'meta'")

    def connections(self) -> int:
        """Return how many clients are connected, this one included."""
        return int(self.ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"))


# Servers by the scheme of their URL, and the programs that each needs.
SERVERS = {
    "redis": (RedisServer, ("redis-server", "redis-cli")),
    "postgresql": (PostgresServer, (f"{postgres_programs()}/initdb", "psql")),
}
# Parameters for tests of every server. One worker runs them all, so that each server is started once.
one_worker = pytest.mark.xdist_group("servers")
EVERY_SERVER = tuple(pytest.param(scheme, marks=one_worker) for scheme in SERVERS)
# Servers that lose nothing that they have acknowledged, and the signals that end them fast and at once.
DURABLE = {
    "redis": lambda: RedisServer("--appendonly", "yes", "--appendfsync", "always"),
    "postgresql": PostgresServer,
}
ENDINGS = {"redis": (signal.SIGTERM, signal.SIGKILL), "postgresql": (signal.SIGINT, signal.SIGQUIT)}

_running: dict[str, RedisServer | PostgresServer] = {}
_spaces = itertools.count()


def server_of(scheme: str) -> RedisServer | PostgresServer:
    """Return the server of this test run; skip the test if it is not installed."""
    start, programs = SERVERS[scheme]
    need(*programs)
    if scheme not in _running:
        # Tests of restarts have servers of their own. This one need not survive a loss of power.
        quick = ("fsync=off", "full_page_writes=off") if scheme == "postgresql" else ()
        _running[scheme] = start(*quick)
    return _running[scheme]


def new_space() -> str:
    """Return a name for a ledger that no other test uses."""
    return f"t{os.getpid()}_{next(_spaces)}"


def need(*programs: str) -> None:
    """Skip the test if one of the programs is not installed."""
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        pytest.skip(f"{' and '.join(missing)} is not installed")


def opened(url: str, **variables: str) -> Ledger:
    """Return the ledger of a URL, as the command line opens it."""
    return open_ledger(Environment({**os.environ, **variables}), url=url)
