"""What only the PostgreSQL ledger has: its schema, rights, isolation levels, restarts, passwords."""

import os
import threading

import pytest

from tests.support.engines import PASSWORD, one_worker, server_of
from tests.support.tiers import as_nightly
from tokcap.budget import libpq, postgres
from tokcap.budget.arithmetic import Settings
from tokcap.errors import BudgetExhausted, LedgerError, PackageMissing

pytestmark = one_worker


def opened(url):
    """Return a ledger with a connection of its own."""
    return postgres.ledger_of(url, os.environ["HOME"])


@pytest.fixture
def server():
    return server_of("postgresql")


def at_once(*work) -> list:
    """Do all of this in threads; return what each returned or raised."""
    outcomes: list = [None] * len(work)

    def run(place):
        try:
            outcomes[place] = work[place]()
        except Exception as error:
            outcomes[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(work))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_many_that_start_the_first_session_create_one_schema(server, space):
    ledgers = [opened(server.url(space)) for _ in range(8)]
    assert ledgers[0].list() == []
    outcomes = at_once(*(lambda each=each: each.start("s", Settings(1000)) for each in ledgers))
    assert sorted(map(str, outcomes)) == ["False"] * 7 + ["True"]
    assert server.ask(f"SELECT count(*) FROM {space}.rows WHERE key = 'meta'") == "1"
    for each in ledgers:
        each.close()


@pytest.mark.parametrize("level", ["serializable", *map(as_nightly, ("read committed", "repeatable read"))])
def test_every_isolation_level_gives_the_exact_sum(server, space, level):
    """The server asks for retries at the stricter levels. Nobody sees them."""
    options = f"timeout=60&options=-c%20default_transaction_isolation%3D{level.replace(' ', '%5C%20')}"
    ledgers = [opened(server.url(space, options)) for _ in range(4)]
    ledgers[0].start("s", Settings(300))

    def spend(ledger):
        spent = 0
        while True:
            try:
                grant = ledger.session("s").reserve(7, turn="t")
            except BudgetExhausted:
                return spent
            assert grant.account.used + grant.account.reserved <= 300
            spent += grant.tokens
            ledger.session("s").settle(grant, grant.tokens)

    outcomes = at_once(*(lambda each=each: spend(each) for each in ledgers))
    assert sum(outcomes) == 300 == ledgers[0].session("s").read().used
    for each in ledgers:
        each.close()


def test_each_step_may_use_another_connection(server, space):
    """So a pooler may sit in between, which gives each transaction another one."""
    ledger = opened(server.url(space))
    ledger.start("s", Settings(1000))
    ledger.close()
    grant = ledger.session("s").reserve(100, turn="t")
    ledger.close()
    ledger.session("s").announce(grant, 10)
    ledger.close()
    assert ledger.session("s").settle(grant, 20).used == 20
    ledger.close()
    assert server.ask("SELECT count(*) FROM pg_prepared_statements") == "0"


def test_a_user_without_rights_is_told_so(server, space):
    owner = opened(server.url(space))
    owner.start("s", Settings(1000))
    server.ask(f"CREATE ROLE {space}_agent LOGIN PASSWORD '{PASSWORD}'")
    agent = opened(server.url(space).replace("//owner:", f"//{space}_agent:"))
    with pytest.raises(LedgerError, match="the user may not do this"):
        agent.session("s").read()
    owner.close()
    agent.close()


def test_the_password_comes_from_a_password_file_or_a_service(server, space, tmp_path, monkeypatch):
    file = tmp_path / "passwords"
    file.write_text(f"127.0.0.1:{server.port}:postgres:owner:{PASSWORD}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    ledger = opened(server.url(space, password=""))
    ledger.start("s", Settings(1000))
    ledger.close()
    services = tmp_path / "services"
    services.write_text(f"[budget]\nhost=127.0.0.1\nport={server.port}\nuser=owner\ndbname=postgres\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    ledger = opened(f"postgresql://?service=budget&schema={space}")
    assert ledger.session("s").read().total == 1000
    ledger.close()


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(libpq, "_library", [])
    monkeypatch.setattr(libpq, "bundled_paths", list)
    monkeypatch.setattr(libpq, "SYSTEM_NAMES", ())
    with pytest.raises(PackageMissing, match=r"install it: .*(psycopg|\[postgres\])"):
        opened("postgresql://127.0.0.1:1/x").session("s").read()


def test_a_database_that_does_not_exist_is_one_line(server, space):
    ledger = opened(server.url(space).replace("/postgres?", "/nosuch?"))
    with pytest.raises(LedgerError, match=r"the database does not exist$"):
        ledger.session("s").read()
