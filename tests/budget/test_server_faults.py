"""Servers that lose writes or run out of disk, hosts with a wrong clock, a pooler, users with few rights."""

import os
import re

import pytest

from tests.support.engines import (
    PASSWORD,
    need,
    one_worker,
    opened,
    server_of,
)
from tests.support.program import ROOT
from tests.support.server_worker import worker_on
from tests.support.tiers import as_nightly
from tokcap.budget import postgres
from tokcap.budget.arithmetic import Settings
from tokcap.errors import BudgetExhausted, LedgerError, SessionNotStarted

pytestmark = one_worker


@pytest.mark.parametrize(
    ("scheme", "offset"),
    [("redis", "+1h"), *map(as_nightly, (("redis", "-1h"), ("postgresql", "+1h"), ("postgresql", "-1h")))],
)
def test_a_host_whose_clock_is_an_hour_off_loses_and_takes_nothing(scheme, space, offset):
    need("faketime")
    server = server_of(scheme)
    ledger = opened(server.url(space))
    ledger.start("s", Settings(1000))
    url = server.url(space, "timeout=20&lease=600")
    process = worker_on(url, 0, "hold", before=("faketime", "-f", offset))
    assert process.stdout.readline() == "holds\n"
    assert (ledger.session("s").read().reserved, ledger.session("s").read().used) == (600, 0)
    assert ledger.session("s").reserve(1000).tokens == 400
    with pytest.raises(BudgetExhausted):
        ledger.session("s").reserve(1)
    answer, _ = process.communicate("\n")
    assert (answer, process.returncode) == ("250\n", 0)
    assert ledger.session("s").read().used == 250


def documented(pattern: str) -> str:
    """Return a line of docs/fleet.md."""
    return re.search(pattern, (ROOT / "docs" / "fleet.md").read_text(), re.MULTILINE)[0]


def every_step(ledger) -> None:
    """Take every step that there is."""
    ledger.start("team", Settings(5000, renew="day"))
    ledger.start("s", Settings(1000, 5000, parent="team", renew="week"))
    grants = [ledger.session("s").reserve(100, turn="t") for _ in range(3)]
    ledger.session("s").announce(grants[0], 10)
    ledger.session("s").announce(grants[0], 0)
    ledger.session("s").settle(grants[0], 20)
    ledger.session("s").release(grants[1])
    ledger.session("s").settle(grants[1], 5)
    ledger.session("s").record(1, 2, key="k")
    context = ledger.session("s").shown(["a"]).context
    ledger.session("s").note_shown(context, {"a": "111111111111"})
    ledger.session("s").turn("t")
    assert ledger.session("s").read().used == 28
    assert len(ledger.list()) == 2
    ledger.session("s").compacted(5)
    ledger.session("s").reset()
    ledger.session("team").end(tree=True)
    assert len(ledger.history()) == 3
    with pytest.raises(SessionNotStarted):
        ledger.session("s").read()


def test_a_user_of_redis_needs_only_the_documented_rights(space):
    server = server_of("redis")
    words = documented(r"^ACL SETUSER .*$").replace("tokcap on", f"{space} on").replace("PASSWORD", "secret")
    assert server.ask(*words.replace("{tokcap}", f"{{{space}}}").split()) == "OK"
    url = server.url(space).replace(":correct%20horse@", f"{space}:secret@")
    every_step(opened(url))
    with pytest.raises(LedgerError, match="the user may not do this"):
        opened(url.replace(f"prefix={space}", "prefix=another")).session("s").read()


def test_a_user_of_postgresql_needs_only_the_documented_rights(space):
    server = server_of("postgresql")
    owner = postgres.ledger_of(server.url(space), os.environ["HOME"])
    owner.start("first", Settings())
    owner.session("first").end()
    server.ask(f"DELETE FROM {space}.rows WHERE key LIKE 'past/%'")
    assert documented(r"^CREATE ROLE .*$") == "CREATE ROLE agents LOGIN;"
    server.ask(f"CREATE ROLE {space}_agent LOGIN PASSWORD '{PASSWORD}'")
    for grant in (documented(r"^GRANT USAGE .*$"), documented(r"^GRANT SELECT.*$")):
        server.ask(grant.replace("tokcap", space).replace("agents", f"{space}_agent"))
    agent = postgres.ledger_of(server.url(space).replace("//owner:", f"//{space}_agent:"), os.environ["HOME"])
    every_step(agent)
    agent.close()
    owner.close()
