"""What only the Redis ledger has: other ways to reach it, clusters, and what a server keeps."""

import time

import pytest

from tests.support.engines import PASSWORD, RedisServer, free_port, need, one_worker, opened, server_of
from tests.support.links import answering
from tests.support.tiers import nightly
from tokcap.budget.arithmetic import Settings
from tokcap.errors import LedgerError, UsageError

pytestmark = one_worker


def test_a_socket_and_the_password_of_redis_cli(space):
    server = server_of("redis")
    ledger = opened(f"unix://{server.socket}?prefix={space}", REDISCLI_AUTH=PASSWORD)
    ledger.start("s", Settings(1000))
    assert opened(server.url(space)).session("s").read().total == 1000


def test_a_missing_password_is_asked_for_in_every_step(space):
    """Redis refuses a short step by a code, and one of more than ten words by its form."""
    ledger = opened(f"redis://127.0.0.1:{server_of('redis').port}?prefix={space}")
    for step in (lambda: ledger.session("s").read(), lambda: ledger.start("s", Settings(1000))):
        with pytest.raises(LedgerError, match="it wants a password: set REDISCLI_AUTH"):
            step()


def test_an_encrypted_connection_checks_the_certificate(space):
    need("redis-server", "redis-cli", "openssl")
    server = RedisServer(encrypted=True)
    try:
        place = f"rediss://localhost:{server.encrypted_port}/0?prefix={space}"
        trusting = opened(f"{place}&cafile={server.certificate}", REDISCLI_AUTH=PASSWORD)
        trusting.start("s", Settings(1000))
        assert trusting.session("s").read().total == 1000
        with pytest.raises(LedgerError, match="the certificate is refused: self"):
            opened(place, REDISCLI_AUTH=PASSWORD).session("s").read()
    finally:
        server.close()


@nightly
def test_a_cluster_sends_steps_to_the_server_that_has_the_keys(space):
    need("redis-server", "redis-cli")
    ports = free_port(), free_port()
    first, second = (
        RedisServer("--cluster-enabled", "yes", "--cluster-port", str(port), "--save", "") for port in ports
    )
    try:
        slot = int(first.ask("CLUSTER", "KEYSLOT", f"{{{space}}}:meta"))
        ranges = [(0, slot - 1), (slot, slot), (slot + 1, 16383)]
        for server, (low, high) in zip((first, second, first), ranges, strict=True):
            assert server.ask("CLUSTER", "ADDSLOTSRANGE", str(low), str(high)) == "OK"
        first.ask("CONFIG", "SET", "masterauth", PASSWORD)
        assert first.ask("CLUSTER", "MEET", "127.0.0.1", str(second.port), str(ports[1])) == "OK"
        deadline = time.monotonic() + 60
        while not all("cluster_state:ok" in each.ask("CLUSTER", "INFO") for each in (first, second)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        ledger = opened(first.url(space))
        ledger.start("s", Settings(1000))
        assert ledger.session("s").settle(ledger.session("s").reserve(10), 7).used == 7
        assert (first.ask("DBSIZE"), second.ask("DBSIZE") != "0") == ("0", True)
    finally:
        first.close()
        second.close()


def test_a_server_without_room_says_so_and_counts_nothing(space):
    need("redis-server", "redis-cli")
    server = RedisServer("--save", "", "--maxmemory-policy", "noeviction")
    try:
        ledger = opened(server.url(space))
        ledger.start("s", Settings(1000))
        server.ask("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(LedgerError, match="its memory is full"):
            ledger.session("s").reserve(10)
        server.ask("CONFIG", "SET", "maxmemory", "0")
        assert (ledger.session("s").read().used, ledger.session("s").read().reserved) == (0, 0)
    finally:
        server.close()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("redis://host:99999", "the port must be"),
        ("redis://host/name", "the number of a database"),
        ("redis://host?nosuch=1", "unknown parameter"),
        ("redis://host?timeout=never", "timeout must be a number of seconds"),
        ("redis://host?lease=nan", "lease must be a number of seconds"),
        ("redis://host?prefix={x}", "the prefix"),
        ("redis://:%zz@host", "is not valid"),
        ("unix://", "the path of the socket"),
        ("postgresql://host/db?schema=a-b", "the schema must be"),
        ("postgresql://host/db?schema=pg_x", "the schema must be"),
        ("postgresql://host/db?lease=0", "lease must be"),
    ],
)
def test_a_bad_url_is_refused(url, words):
    with pytest.raises(UsageError, match=words):
        opened(url)


def test_a_server_of_another_kind_is_recognized(space):
    answer = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    with answering(answer) as port, pytest.raises(LedgerError, match="is not a Redis server"):
        opened(f"redis://127.0.0.1:{port}").session("s").read()
