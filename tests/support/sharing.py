"""Hosts that share a store, in one process or in many: each is a data directory of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.environment import Environment
from tokcap.store import open_store

if TYPE_CHECKING:
    from pathlib import Path

LINES = b"".join(b"line %d\n" % number for number in range(3000))


class Host:
    """A data directory, the store that all hosts share, and the variables to reach it."""

    def __init__(self, directory: Path, url: str, env=None) -> None:
        self.variables = {"TOKCAP_DATA_DIR": str(directory), "TOKCAP_STORE": url, **(env or {})}
        self.directory = directory

    def call(self, inside, *args, stdin=b""):
        return inside(*args, stdin=stdin, env=self.variables)

    def store(self):
        return open_store(Environment({**os.environ, **self.variables}))

    def keep(self, inside, data=LINES, *options) -> str:
        """Store an output here and for all hosts. Return its handle."""
        ran = self.call(inside, "-n", "250", "-o", "json", *options, stdin=data)
        assert ran.status == 0, ran
        assert not {"NOT_STORED", "NOT_SHARED"} & set(warnings_of(ran)), ran
        return ran.json["meta"]["handle"]

    def pages(self, inside, handle: str) -> bytes:
        """Return an output, page by page."""
        pages, name = b"", handle
        while name:
            page = self.call(inside, "show", name, "-n", "9000", "-o", "json").json
            pages += page["data"][0].encode()
            name = next_name(page["meta"])
        return pages


def warnings_of(ran) -> dict[str, str]:
    return {warning["code"]: warning["message"] for warning in ran.json["warnings"]}


def next_name(meta) -> str | None:
    """Return the name of the next page; None after the last one."""
    return f"{meta['handle']}@{meta['next_offset']}" if "next_offset" in meta else None
