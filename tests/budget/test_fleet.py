"""Processes of several hosts that share a budget while holders are killed, servers restart, links go down."""

import os
import random
import time

import pytest

from tests.support.engines import DURABLE, ENDINGS, new_space, one_worker, opened, server_of
from tests.support.links import Link
from tests.support.processes import wait_for
from tests.support.server_worker import worker_on
from tests.support.tiers import nightly
from tokcap.budget.arithmetic import Settings

pytestmark = [nightly, one_worker]

# How many hosts there are, how many processes on each, and how many steps each takes. The whole promise:
# FLEET_HOSTS=4 FLEET_PROCESSES=16 FLEET_STEPS=50 FLEET_RESTARTS=10
HOSTS = int(os.environ.get("FLEET_HOSTS", "2"))
PROCESSES = int(os.environ.get("FLEET_PROCESSES", "3"))
STEPS = int(os.environ.get("FLEET_STEPS", "25"))
RESTARTS = int(os.environ.get("FLEET_RESTARTS", "2"))


@pytest.mark.parametrize("scheme", DURABLE)
def test_nothing_acknowledged_is_lost_while_holders_die_links_break_and_the_server_restarts(scheme, tmp_path):
    """A third of the processes are killed, one host is cut off and comes back, and outboxes are used."""
    server_of(scheme)
    server, space, chance = DURABLE[scheme](), new_space(), random.Random(21)
    links = [Link(server.port) for _ in range(HOSTS)]
    hosts = {
        server.url(space, "timeout=1&lease=3", port=link.port): tmp_path / f"host{number}"
        for number, link in enumerate(links)
    }
    try:
        ledger = opened(server.url(space, "timeout=60"))
        ledger.start("team", Settings())
        ledger.start("s", Settings(parent="team"))
        workers = [
            worker_on(url, STEPS, "log", TOKCAP_DATA_DIR=place)
            for url, place in hosts.items()
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
            links[0].mend() if number % 2 else links[0].cut()
            server.stop(ENDINGS[scheme][number % 2])
            server.start()
        for process in killed:
            process.kill()
        links[0].mend()
        acknowledged = 0
        for process in workers:
            lines = [line for line in process.stdout.read().splitlines() if line.isdigit()]
            acknowledged += sum(map(int, lines))
            process.stdout.close()
            process.wait()
        assert all(process.returncode == 0 for process in workers if process not in killed)
        for url, place in hosts.items():
            delivering = worker_on(url, STEPS, "deliver", TOKCAP_DATA_DIR=place)
            delivering.communicate()
            assert delivering.returncode == 0
            assert not list(place.glob("outbox/*"))
        wait_for(lambda: ledger.session("s").read().reserved == 0)
        # A killed process may have settled once more than it could say.
        used = ledger.session("s").read().used
        assert acknowledged <= used <= acknowledged + 10 * len(killed)
        assert (ledger.session("team").read().used, ledger.session("team").read().reserved) == (used, 0)
        ledger.close()
    finally:
        for link in links:
            link.close()
        server.close()
