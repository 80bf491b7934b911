"""`open_session`: a session of the ledger for the length of a `with` block."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from tokcap.api.manager import BudgetManager, join_session
from tokcap.budget.arithmetic import Settings
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
    parent: str | None = None,
    renew: str | None = None,
    tokenizer: str | None = None,
) -> Iterator[BudgetManager]:
    """Open the budget of a session, and start the session if it does not exist.

    >>> from tokcap import open_session, run
    >>> with open_session("docs", total=1000) as budget:
    ...     _ = run(["seq", "1", "50"], limit=200, session="docs")
    ...     budget.remaining
    900

    Any process can charge the session by its name. If the session exists, settings that are given must be
    the same as its own. On exit, what this manager allocated and never recorded is freed; the session and
    its usage stay, until `budget.end()` or `tokcap budget end`. `budget.count` uses the given tokenizer.
    `parent` is the session that this one is a part of, `renew` (`day`, `week`, `month`) its period.
    """
    settings = Settings(
        total=total,
        context_window=context_window,
        result_pct=result_pct,
        turn_pct=turn_pct,
        floor_tokens=floor_tokens,
        parent=parent,
        renew=renew,
    ).checked()
    manager = BudgetManager(storage=join_session(name, settings, default=Settings()), tokenizer=tokenizer)
    try:
        yield manager
    finally:
        try:
            manager.release()
        except (StoreError, UsageError):
            # The session has ended, or the ledger cannot be reached. The ledger frees the allocations of a
            # process when that process ends.
            pass
