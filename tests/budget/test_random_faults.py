"""Random steps of several hosts while links are cut, answers are lost, servers end, and holders die.

The model knows what was acknowledged, what waits in an outbox, and what the dead had announced. In the end
the server must have counted exactly that, and nobody may have been granted more than there was.
"""

import os
import random
from dataclasses import dataclass

import pytest

from tests.support.engines import DURABLE, ENDINGS, new_space, one_worker, server_of
from tests.support.ledgers import shift_clock
from tests.support.links import Link
from tests.support.tiers import nightly
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment
from tokcap.errors import BudgetExhausted, LedgerUnreachable

pytestmark = [nightly, one_worker]

# Raise them for a longer test.
STEPS = int(os.environ.get("FAULT_STEPS", "80"))
SEEDS = range(int(os.environ.get("FAULT_SEEDS", "1")))
TOTAL = 2000
LEASE_SECONDS = 30


@dataclass
class Held:
    host: int
    grant: object
    announced: int = 0
    # Whether an announcement failed, so that nobody knows whether the server has it.
    is_unsure: bool = False


class Fleet:
    """Three hosts with a link each, one server, and the model of what it must have counted."""

    def __init__(self, scheme: str, seed: int, place) -> None:
        self.scheme, self.chance = scheme, random.Random(seed)
        self.server, self.space = DURABLE[scheme](), new_space()
        self.links = [
            Link(self.server.port, seed=seed + number, lost=0.03, spared=self.server.login_answers)
            for number in range(3)
        ]
        self.places = [place / f"host{number}" for number in range(3)]
        query = f"timeout=0.3&lease={LEASE_SECONDS}"
        self.hosts = [
            self.opened(self.server.url(self.space, query, port=link.port), data)
            for link, data in zip(self.links, self.places, strict=True)
        ]
        self.direct = self.opened(self.server.url(self.space, "timeout=30"), place / "direct")
        self.direct.start("team", Settings(TOTAL))
        self.direct.start("s", Settings(TOTAL, parent="team"))
        self.held: list[Held] = []
        self.used = self.late = 0
        self.seconds = 0.0

    @staticmethod
    def opened(url, data):
        return open_ledger(Environment({**os.environ, "TOKCAP_DATA_DIR": str(data)}), url=url)

    def reserve(self) -> None:
        host = self.chance.randrange(3)
        try:
            self.held.append(Held(host, self.hosts[host].session("s").reserve(self.chance.randint(1, 200))))
        except (BudgetExhausted, LedgerUnreachable):
            # If the server has granted it and the answer was lost, the lease frees it.
            pass

    def announce(self) -> None:
        if not self.held:
            return
        held = self.chance.choice(self.held)
        tokens = self.chance.randint(0, held.grant.tokens)
        try:
            self.hosts[held.host].session("s").announce(held.grant, tokens)
            held.announced = max(held.announced, tokens)
        except LedgerUnreachable:
            held.is_unsure = True

    def settle(self) -> None:
        if not self.held:
            return
        held = self.held.pop(self.chance.randrange(len(self.held)))
        actual = self.chance.randint(0, held.grant.tokens)
        host = self.hosts[held.host]
        try:
            host.session("s").settle(held.grant, actual)
        except LedgerUnreachable:
            assert host.session("s").defer(held.grant, actual)
        self.used += actual

    def die(self) -> None:
        sure = [held for held in self.held if not held.is_unsure]
        if sure:
            held = self.chance.choice(sure)
            self.held.remove(held)
            self.used += held.announced

    def cut_or_mend(self) -> None:
        link = self.chance.choice(self.links)
        link.mend() if self.chance.random() < 0.6 else link.cut()

    def restart(self) -> None:
        self.server.stop(self.chance.choice(ENDINGS[self.scheme]))
        self.server.start()

    def wait(self) -> None:
        """Let leases end. Holders that reach the server renew theirs first."""
        for held in self.held:
            try:
                self.hosts[held.host].session("s").renew(held.grant)
            except LedgerUnreachable:
                pass
            # It may have been lost; then others get these tokens, and what it settles comes on top.
            self.late += held.grant.tokens
        self.seconds += LEASE_SECONDS * 0.6
        shift_clock(self.seconds, *self.hosts, self.direct)

    def check(self) -> None:
        for name in ("s", "team"):
            account = self.direct.session(name).read()
            assert account.used + account.reserved <= TOTAL + self.late
            assert min(account.used, account.reserved) >= 0

    def finish(self) -> None:
        """All come back, and settle what they hold."""
        for link in self.links:
            link.mend()
        while self.held:
            self.settle()
        for _ in range(20):
            for host in self.hosts:
                try:
                    host.list()
                except LedgerUnreachable:
                    pass
        self.seconds += 10 * LEASE_SECONDS
        shift_clock(self.seconds, *self.hosts, self.direct)

    def waiting(self) -> list[str]:
        boxes = [place / "outbox" for place in self.places]
        return [name for box in boxes if box.exists() for name in os.listdir(box)]

    def close(self) -> None:
        for ledger in (*self.hosts, self.direct):
            ledger.close()
        for link in self.links:
            link.close()
        self.server.close()


CHOICES = {
    "reserve": 10,
    "announce": 4,
    "settle": 8,
    "die": 1,
    "cut_or_mend": 3,
    "wait": 1,
    "check": 2,
    "restart": 0.25,
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", list(DURABLE))
def test_in_the_end_the_server_has_counted_exactly_what_was_used(scheme, seed, tmp_path):
    server_of(scheme)
    fleet = Fleet(scheme, seed, tmp_path)
    try:
        for _ in range(STEPS):
            (step,) = fleet.chance.choices(list(CHOICES), list(CHOICES.values()))
            getattr(fleet, step)()
        fleet.restart()
        fleet.finish()
        assert fleet.waiting() == []
        for name in ("s", "team"):
            account = fleet.direct.session(name).read()
            assert (account.used, account.reserved) == (fleet.used, 0)
        assert fleet.used > 0
    finally:
        fleet.close()
