"""Hosts that share a budget while something fails: holders are killed, servers restart, links go down."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.support.engines import PostgresServer, RedisServer, new_space, server_of
from tests.support.hosts import Host, need_hosts
from tests.support.program import IMPORT_PATH, ROOT
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment

# How many processes there are, and how many steps each takes; raise them for a longer test.
PROCESSES = int(os.environ.get("FLEET_PROCESSES", "6"))
STEPS = int(os.environ.get("FLEET_STEPS", "25"))
RESTARTS = int(os.environ.get("FLEET_RESTARTS", "2"))

# Servers that lose nothing that they have acknowledged, and the signals that end them fast and at once.
DURABLE = {
    "redis": lambda *places: RedisServer(
        *("--appendonly", "yes", "--appendfsync", "always", "--bind", "127.0.0.1", *places)
    ),
    "postgresql": lambda *places: PostgresServer(f"listen_addresses={','.join(('127.0.0.1', *places))}"),
}
ENDINGS = {"redis": (signal.SIGTERM, signal.SIGKILL), "postgresql": (signal.SIGINT, signal.SIGQUIT)}


def worker(url: str, mode: str, host: Host | None = None) -> subprocess.Popen:
    return subprocess.Popen(
        [
            *(host.words if host else ()),
            *(sys.executable, "-m", "tests.support.server_worker", url, str(STEPS), mode),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def opened(url: str):
    return open_ledger(Environment(os.environ), url=url)


def until(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("scheme", DURABLE)
def test_nothing_acknowledged_is_lost_while_holders_are_killed_and_the_server_restarts(scheme):
    server_of(scheme)
    server = DURABLE[scheme]()
    chance = random.Random(21)
    try:
        url = server.url(new_space(), "timeout=60&lease=2")
        ledger = opened(url)
        ledger.start("s", Settings())
        workers = [worker(url, "log") for _ in range(PROCESSES)]
        for process in workers:
            assert process.stdout.readline() == "ready\n"
        for process in workers:
            process.stdin.close()
        killed = workers[: PROCESSES // 3]
        for number in range(RESTARTS):
            time.sleep(chance.random() * 0.2)
            for process in killed[number::RESTARTS]:
                process.kill()
            server.stop(ENDINGS[scheme][number % 2])
            server.start()
        for process in killed:
            process.kill()
        acknowledged = 0
        for process in workers:
            lines = [line for line in process.stdout.read().splitlines() if line.isdigit()]
            acknowledged += sum(map(int, lines))
            process.stdout.close()
            process.wait()
        until(lambda: ledger.read("s").reserved == 0)
        # A killed process may have settled once more than it could say.
        used = ledger.read("s").used
        assert acknowledged <= used <= acknowledged + 10 * len(killed)
        assert all(process.returncode == 0 for process in workers if process not in killed)
        ledger.close()
    finally:
        server.close()


@pytest.mark.parametrize("scheme", DURABLE)
def test_a_host_that_is_cut_off_loses_its_lease_and_is_counted_when_it_is_back(scheme):
    server_of(scheme)
    need_hosts()
    host = Host(1)
    try:
        server = DURABLE[scheme](host.outside)
        try:
            if scheme == "postgresql":
                server.admit_everyone()
            direct = server.url(new_space(), "timeout=60&lease=2")
            ledger = opened(direct)
            ledger.start("s", Settings(1000))
            process = worker(direct.replace("127.0.0.1", host.outside), "hold", host)
            assert process.stdout.readline() == "holds\n"
            host.cut()
            assert ledger.read("s").reserved == 600
            until(lambda: ledger.read("s").reserved == 0)
            assert ledger.read("s").used == 100, "what it had announced"
            assert ledger.reserve("s", 1000).tokens == 900
            process.stdin.write("\n")
            process.stdin.close()
            time.sleep(0.5)
            assert process.poll() is None, "it waits for the server"
            host.mend()
            assert process.stdout.read() == "250\n"
            process.stdout.close()
            assert process.wait() == 0
            assert ledger.read("s").used == 250
            ledger.close()
        finally:
            server.close()
    finally:
        host.close()
