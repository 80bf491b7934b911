"""Every kind of ledger, empty, with a clock that a test sets."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from tests.support.engines import EVERY_SERVER, SERVERS, new_space, server_of
from tokcap.budget import open_ledger
from tokcap.budget.base import Engine
from tokcap.environment import Environment

if TYPE_CHECKING:
    from tokcap.budget.ledger import Ledger

# The same member, reached in another way, is not listed here.
KINDS = ("sqlite", "memory", *EVERY_SERVER)


class ShiftedClock(Engine):
    """An engine whose clock runs ahead of its own, or behind it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.seconds = 0.0
        for name in ("title", "lease_seconds", "hold", "is_present", "close"):
            setattr(self, name, getattr(engine, name))

    def change(self, keys, step, seconds):
        self._engine.change(keys, lambda texts, now: step(texts, now + self.seconds), seconds)

    def load(self, keys, seconds):
        texts, now = self._engine.load(keys, seconds)
        return texts, now + self.seconds

    def scan(self, kind, most, seconds):
        texts, now = self._engine.scan(kind, most, seconds)
        return texts, now + self.seconds


def shift_clock(seconds: float, *ledgers: Ledger) -> None:
    """Set the clock of ledgers forward or back."""
    for ledger in ledgers:
        if not isinstance(ledger.engine, ShiftedClock):
            ledger.engine = ShiftedClock(ledger.engine)
        ledger.engine.seconds = seconds


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
        """Let the clock of the ledger run from this time on."""
        self._offset = seconds - time.time()
        if self._kind in SERVERS:
            shift_clock(self._offset, self.ledger)
