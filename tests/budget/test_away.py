"""A server that is away before or after a command runs: what is shown, and what is charged in the end."""

import json
import os
import threading

import pytest

from tests.support.engines import new_space, one_worker, server_of
from tests.support.ledgers import shift_clock
from tests.support.links import Link
from tests.support.processes import wait_for
from tests.support.tiers import as_nightly
from tokcap import count
from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment

pytestmark = one_worker


# What waits for a server does not depend on its kind. `test_servers.py` has both in every fault of a server.
@pytest.fixture(params=["redis", as_nightly("postgresql")])
def server(request):
    return server_of(request.param)


@pytest.fixture
def link(server):
    link = Link(server.port)
    yield link
    link.close()


@pytest.fixture
def url(server, link, monkeypatch):
    """Name the ledger of a started session, as the command line finds it through the link."""
    space = new_space()
    direct = server.url(space)
    open_ledger(Environment(os.environ), url=direct).start("s", Settings(10_000))
    monkeypatch.setenv("TOKCAP_LEDGER", server.url(space, "timeout=0.3&lease=600", port=link.port))
    return direct


@pytest.fixture
def direct(url):
    """Return the ledger without the link."""
    return open_ledger(Environment({**os.environ, "TOKCAP_DATA_DIR": "/nowhere"}), url=url)


@pytest.fixture
def used(direct):
    """Return what the server has counted."""
    return lambda: direct.session("s").read().used


def waiting(with_store) -> list[str]:
    return os.listdir(with_store / "outbox") if (with_store / "outbox").exists() else []


def owed(with_store) -> int:
    """Return the tokens that wait."""
    return sum(
        json.loads((with_store / "outbox" / name).read_bytes())["tokens"] for name in waiting(with_store)
    )


RUN = ("--session", "s", "-n", "200", "--", "echo", "x")


def test_before_the_run_it_refuses_and_runs_nothing(link, url, used, inside, with_store, tmp_path):
    link.cut()
    for more in ((), ("--on-ledger-failure", "closed")):
        ran = inside("--session", "s", *more, "--", "touch", str(tmp_path / "ran"))
        assert (ran.status, ran.out, ran.err.count(b"\n")) == (125, b"", 1)
    assert not (tmp_path / "ran").exists()
    assert (waiting(with_store), used()) == ([], 0)


def test_open_runs_with_a_warning_and_charges_later_once(link, url, used, inside, with_store):
    link.cut()
    ran = inside("--on-ledger-failure", "open", *RUN)
    assert (ran.status, ran.out) == (0, b"x\n")
    assert b"warning" in ran.err
    assert b"charged later" in ran.err
    enveloped = inside("--on-ledger-failure", "open", "-o", "json", *RUN)
    assert [warning["code"] for warning in enveloped.json["warnings"]] == ["LEDGER_UNREACHABLE"]
    assert (len(waiting(with_store)), used()) == (2, 0)
    tokens = owed(with_store)
    status = inside("budget", "status", "s")
    assert status.status == 125
    assert b"used tokens wait to be charged" in status.err
    assert b"tokens of 2 calls wait for" in inside("doctor").out
    link.mend()
    assert inside("budget", "status", "s").status == 0
    assert waiting(with_store) == []
    assert inside("budget", "status", "s", "-o", "json").json["data"]["used"] == used() == tokens


@pytest.mark.parametrize("lines", [1, 500])
def test_after_the_run_the_output_comes_out_and_is_charged_later(
    link, url, used, direct, inside, with_store, tmp_path, lines
):
    began, cut = tmp_path / "began", tmp_path / "cut"
    script = f"touch {began}; while [ ! -e {cut} ]; do sleep 0.01; done; echo a; seq {lines}"

    def cut_the_link() -> None:
        wait_for(began.exists)
        link.cut()
        cut.touch()

    thread = threading.Thread(target=cut_the_link)
    thread.start()
    ran = inside("--session", "s", "-n", "250", "-o", "json", "--", "sh", "-c", script)
    thread.join()
    assert ran.status == 0
    assert ran.json["data"][0].startswith("a\n1\n")
    assert [warning["code"] for warning in ran.json["warnings"]] == ["CHARGED_LATER"]
    assert len(waiting(with_store)) == 1
    shift_clock(3600, direct)
    assert used() == 0, "the lease has ended"
    shift_clock(0, direct)
    link.mend()
    assert inside(*RUN).out == b"x\n"
    assert waiting(with_store) == []
    assert used() - 2 == count(ran.out), "the whole envelope, with the warning, whether it is cut or not"


def test_what_waits_is_delivered_once_by_many(link, url, used, inside, with_store):
    link.cut()
    inside("--on-ledger-failure", "open", *RUN)
    (name,) = waiting(with_store)
    tokens = owed(with_store)
    entry = (with_store / "outbox" / name).read_bytes()
    link.mend()
    inside("budget", "status", "s")
    assert used() == tokens
    # The answer to the delivery was lost, or another process has delivered it too.
    (with_store / "outbox" / name).write_bytes(entry)
    link.cut()
    inside("budget", "status", "s")
    link.mend()
    inside("budget", "status", "s")
    assert (used(), waiting(with_store)) == (tokens, [])


def test_what_belongs_to_a_session_that_is_gone_stays_and_does_no_harm(link, url, used, inside, with_store):
    link.cut()
    inside("--on-ledger-failure", "open", *RUN)
    tokens = owed(with_store)
    (with_store / "outbox" / "junk").write_bytes(b"{")
    link.mend()
    open_ledger(Environment({**os.environ, "TOKCAP_DATA_DIR": "/nowhere"}), url=url).session("s").end()
    assert inside("budget", "list").status == 0
    assert len(waiting(with_store)) == 2
    inside("budget", "start", "s", "--total", "10000")
    link.cut()
    inside("budget", "list")
    link.mend()
    inside("budget", "list")
    assert (waiting(with_store), used()) == (["junk"], tokens)


def test_nobody_else_can_read_what_waits_and_it_has_no_password(link, url, inside, with_store, server):
    link.cut()
    inside("--on-ledger-failure", "open", *RUN)
    (name,) = waiting(with_store)
    path = with_store / "outbox" / name
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)
    assert b"horse" not in path.read_bytes()
