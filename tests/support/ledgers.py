"""Every kind of ledger, empty, with a clock that a test sets."""

from __future__ import annotations

import os
import time

from tests.support.engines import EVERY_SERVER, SERVERS, new_space, server_of
from tokcap.budget import open_ledger
from tokcap.environment import Environment

# The same member, reached in another way, is not listed here.
KINDS = ("sqlite", "memory", *EVERY_SERVER)


class TestLedger:
    """A ledger that nothing else uses: `ledger` is the store, and `set_time` moves its clock."""

    __test__ = False

    def __init__(self, kind: str, data_dir: object, query: str = "timeout=20") -> None:
        self._kind = kind
        self._space = new_space()
        self._offset = 0.0
        plain = {"sqlite": "sqlite:", "memory": f"memory:{self._space}"}
        self.url = plain.get(kind) or server_of(kind).url(self._space, query)
        variables = {**os.environ, "TOKCAP_LEDGER": self.url, "TOKCAP_DATA_DIR": str(data_dir)}
        self.environment = Environment(variables, now=lambda: time.time() + self._offset)
        self.ledger = open_ledger(self.environment, patience_seconds=20)

    def set_time(self, seconds: float) -> None:
        """Let the clock of the ledger run from this time on. A session must have been started before."""
        self._offset = seconds - time.time()
        if self._kind in SERVERS:
            server_of(self._kind).shift_clock(self._space, self._offset)
