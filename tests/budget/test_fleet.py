"""Hosts that share a budget while something fails: holders are killed, servers restart, links go down."""

import os
import random
import subprocess
import sys
import time

import pytest

from tests.support.engines import DURABLE, ENDINGS, new_space, one_worker, server_of
from tests.support.hosts import Host, can_have_hosts, need_hosts
from tests.support.program import IMPORT_PATH, ROOT
from tests.support.tiers import nightly
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment

pytestmark = [nightly, one_worker]

# How many hosts there are, how many processes on each, and how many steps each takes. The whole promise:
# FLEET_HOSTS=4 FLEET_PROCESSES=16 FLEET_STEPS=50 FLEET_RESTARTS=10
HOSTS = int(os.environ.get("FLEET_HOSTS", "2"))
PROCESSES = int(os.environ.get("FLEET_PROCESSES", "3"))
STEPS = int(os.environ.get("FLEET_STEPS", "25"))
RESTARTS = int(os.environ.get("FLEET_RESTARTS", "2"))


def worker(url: str, mode: str, host: Host | None = None, **variables: str) -> subprocess.Popen:
    return subprocess.Popen(
        [
            *(host.words if host else ()),
            *(sys.executable, "-m", "tests.support.server_worker", url, str(STEPS), mode),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": IMPORT_PATH, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def opened(url: str):
    return open_ledger(Environment(os.environ), url=url)


def until(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("scheme", DURABLE)
def test_nothing_acknowledged_is_lost_while_holders_die_links_break_and_the_server_restarts(scheme, tmp_path):
    """A third of the processes are killed, one host is cut off and comes back, and outboxes are used."""
    server_of(scheme)
    hosts: list[Host | None] = [Host(number) for number in range(HOSTS)] if can_have_hosts() else [None]
    server = DURABLE[scheme](*(host.outside for host in hosts if host))
    chance = random.Random(21)
    try:
        if scheme == "postgresql":
            server.admit_everyone()
        space = new_space()
        ledger = opened(server.url(space, "timeout=60"))
        ledger.start("team", Settings())
        ledger.start("s", Settings(parent="team"))

        def url(host: Host | None) -> str:
            found = server.url(space, "timeout=1&lease=3")
            return found.replace("127.0.0.1", host.outside) if host else found

        def place(host: Host | None) -> str:
            return str(tmp_path / (host.name if host else "here"))

        workers = [
            worker(url(host), "log", host, TOKCAP_DATA_DIR=place(host))
            for host in hosts
            for _ in range(PROCESSES)
        ]
        for process in workers:
            assert process.stdout.readline() == "ready\n"
        for process in workers:
            process.stdin.close()
        killed = chance.sample(workers, len(workers) // 3)
        for number in range(RESTARTS):
            time.sleep(chance.random() * 0.2)
            for process in killed[number::RESTARTS]:
                process.kill()
            if hosts[0]:
                hosts[0].mend() if number % 2 else hosts[0].cut()
            server.stop(ENDINGS[scheme][number % 2])
            server.start()
        for process in killed:
            process.kill()
        if hosts[0]:
            hosts[0].mend()
        acknowledged = 0
        for process in workers:
            lines = [line for line in process.stdout.read().splitlines() if line.isdigit()]
            acknowledged += sum(map(int, lines))
            process.stdout.close()
            process.wait()
        assert all(process.returncode == 0 for process in workers if process not in killed)
        for host in hosts:
            subprocess.run(
                [
                    *(host.words if host else ()),
                    *(sys.executable, "-m", "tests.support.server_worker", url(host), "0", "deliver"),
                ],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": IMPORT_PATH, "TOKCAP_DATA_DIR": place(host)},
                check=True,
            )
            assert (
                not os.listdir(f"{place(host)}/outbox") if os.path.exists(f"{place(host)}/outbox") else True
            )
        until(lambda: ledger.read("s").reserved == 0)
        # A killed process may have settled once more than it could say.
        used = ledger.read("s").used
        assert acknowledged <= used <= acknowledged + 10 * len(killed)
        assert ledger.read("team").used == used
        assert ledger.read("team").reserved == 0
        ledger.close()
    finally:
        server.close()
        for host in hosts:
            if host:
                host.close()


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
