"""Hosts that share a store: a directory, or a bucket of a real server."""

import pytest

from tests.support.buckets import Link, s3_server, variables
from tests.support.sharing import Host


@pytest.fixture
def shared(tmp_path):
    """A directory that all hosts can reach."""
    place = tmp_path / "shared"
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def hosts(tmp_path, shared, monkeypatch):
    monkeypatch.delenv("TOKCAP_SPILL")
    return [Host(tmp_path / name, f"file://{shared}") for name in ("one", "two")]


@pytest.fixture
def link():
    made = Link(s3_server().port)
    yield made
    made.close()


@pytest.fixture
def cloud(tmp_path, link, monkeypatch):
    """Two hosts with a bucket; the second reaches it over a link that counts."""
    monkeypatch.delenv("TOKCAP_SPILL")
    url = f"s3://{s3_server().new_bucket()}/team?timeout=30"
    return [
        Host(tmp_path / "one", url, variables(s3_server().port)),
        Host(tmp_path / "two", url, variables(link.port)),
    ]
