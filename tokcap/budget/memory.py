"""A ledger in the memory of one process, shared by its threads. It ends with the process."""

from __future__ import annotations

import time

from tokcap.budget.base import Engine
from tokcap.budget.ledger import Ledger
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.budget.base import Step, Texts
    from tokcap.environment import Environment

# Rows that are kept for a limited time are looked for after this many changes.
CLEANING_STEPS = 1000

# Every call of a process that names the same URL gets the same ledger.
_opened: dict[str, Ledger] = {}


def open_memory(url: str, env: Environment, patience_seconds: float) -> Ledger:
    """Return this process's ledger of that URL."""
    return _opened.setdefault(url, ledger_in_memory(env.now))


def ledger_in_memory(now: Callable[[], float] = time.time) -> Ledger:
    """Return a new ledger that only its users know."""
    return Ledger(MemoryEngine(now))


class MemoryEngine(Engine):
    """Rows in a dict. The lock of the ledger keeps other threads out."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        # Texts by key, and until when they are kept.
        self._rows: dict[str, tuple[str, float | None]] = {}
        self._steps = 0

    def change(self, keys: Sequence[str], step: Step, seconds: float) -> None:
        texts, now = self.load(keys, seconds)
        for key, (text, kept_seconds) in step(texts, now).items():
            # The newest row is the last one.
            self._rows.pop(key, None)
            if text is not None:
                self._rows[key] = text, None if kept_seconds is None else now + kept_seconds
        self._steps += 1
        if self._steps % CLEANING_STEPS == 0:
            self._rows = {key: row for key, row in self._rows.items() if row[1] is None or row[1] > now}

    def load(self, keys: Sequence[str], seconds: float) -> tuple[Texts, float]:
        return {key: self._rows.get(key, (None, None))[0] for key in keys}, self._now()

    def scan(self, kind: str, most: int, seconds: float) -> tuple[Texts, float]:
        found = [key for key in self._rows if key.startswith(f"{kind}/")]
        return self.load(found[-most:], seconds)
