"""`open_session`: a session of the ledger for the length of a `with` block."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokcap.api.manager import BudgetManager
from tokcap.budget.arithmetic import Settings
from tokcap.environment import Environment
from tokcap.errors import StoreError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_session(
    name: str,
    *,
    total: int | None = None,
    context_window: int | None = None,
    result_pct: float | None = None,
    turn_pct: float | None = None,
    floor_tokens: int | None = None,
) -> Iterator[BudgetManager]:
    """The budget of a session, which is started if it does not run; any process can charge it by its name.

    >>> from tokcap import open_session, run
    >>> with open_session("docs", total=1000) as budget:
    ...     _ = run(["seq", "1", "50"], limit=200, session="docs")
    ...     budget.remaining
    900

    A session that runs is joined: settings that are given have to be its own. On exit the session stays, with
    all that was used; what this manager allocated and never recorded is freed. `tokcap budget end` ends it.
    """
    # Sessions are the only ones who need a database.
    from tokcap.budget.sqlite import Ledger

    settings = Settings(total, context_window, result_pct, turn_pct, floor_tokens).checked()
    ledger = Ledger(Environment(os.environ).data_dir())
    if settings != Settings() or not ledger.has(name):
        ledger.start(name, settings)
    manager = BudgetManager(storage=ledger.session(name))
    try:
        yield manager
    finally:
        try:
            manager.release()
        except (StoreError, UsageError):
            # It was ended meanwhile, or the ledger is out of reach: what it holds is free when we are gone.
            pass
