"""The ledgers on servers that this process has opened: one connection for each URL, for all its sessions."""

from __future__ import annotations

import time

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.budget.server import ServerLedger

# Opening a ledger leaves open the connections of so many. One of the others connects again when it is used.
MOST_CONNECTED = 16

# By what tells ledgers apart, and when each of them was last opened.
_ledgers: dict[str, ServerLedger] = {}
_opened_at: dict[str, float] = {}


def opened(name: str, make: Callable[[], ServerLedger]) -> ServerLedger:
    """Return the ledger of that name, which is made once. Close connections that were not used for long."""
    ledger = _ledgers.get(name) or _ledgers.setdefault(name, make())
    _opened_at[name] = time.monotonic()
    if len(_ledgers) > MOST_CONNECTED:
        # Threads may open ledgers at the same time.
        names = sorted([*_opened_at], key=_opened_at.__getitem__)
        for each in names[:-MOST_CONNECTED]:
            _ledgers[each].close_if_idle()
    return ledger
