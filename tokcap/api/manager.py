"""`BudgetManager`: a token budget for library users, in memory or in a session that processes share.

It decides nothing itself: it calls one session of a ledger.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import MOST_TOKENS, Settings, tokens_of
from tokcap.budget.base import SessionView
from tokcap.environment import Environment

if TYPE_CHECKING:
    from tokcap.budget.base import Grant
    from tokcap.budget.modes import ResponseMode

DEFAULT_TOTAL = 100_000
CHARACTERS_PER_TOKEN = 4


@runtime_checkable
class TokenCounter(Protocol):
    """An object that counts the tokens of a text."""

    def count(self, text: str) -> int: ...


class BudgetManager:
    """A budget of tokens: allocate before you write, then record what was really written.

    Several allocations may be open; `record_usage` settles the oldest. Threads may share a manager.
    """

    def __init__(
        self,
        total_budget: int | None = DEFAULT_TOTAL,
        *,
        token_counter: TokenCounter | None = None,
        session: str | None = None,
        storage: SessionView | None = None,
    ) -> None:
        """Keep the budget in memory, or in the session that is given.

        `session` names a session of the user's ledger. If it does not exist, it is started with this total.
        If it exists, it keeps its own total: leave `total_budget` at its default, or give the same number.
        `storage` is a session of any ledger that was already started: `SessionView(ledger, name)`. Then
        `total_budget` has no effect.
        """
        if session is not None and storage is not None:
            raise ValueError("give a session or a storage, not both")
        settings = Settings(total_budget).checked()
        if session is not None:
            storage = join_session(session, settings, default=Settings(DEFAULT_TOTAL))
        self._session: SessionView = storage or session_in_memory(settings)
        self._counter = token_counter
        self._open: list[Grant] = []

    def allocate(self, requested: int) -> int:
        """Reserve as much of `requested` as is left; raise `BudgetExhausted` if nothing is."""
        # A request above the greatest possible number asks for everything.
        if not isinstance(requested, int) or requested <= MOST_TOKENS:
            tokens_of(requested, "requested")
        grant = self._session.reserve(requested)
        assert grant.tokens is not None, "a request is a limit"
        self._open.append(grant)
        return grant.tokens

    def record_usage(self, actual: int) -> None:
        """Settle the oldest open allocation with what was really used, less or more.

        Without an open allocation, the usage is only counted.
        """
        # Check first: a refused number leaves the allocation open.
        tokens_of(actual, "actual")
        try:
            grant: Grant | None = self._open.pop(0)
        except IndexError:
            grant = None
        try:
            self._session.settle(grant, actual)
        except BaseException:
            # The allocation stays open and can be settled later.
            if grant is not None:
                self._open.insert(0, grant)
            raise

    def release(self) -> None:
        """Free every open allocation without counting anything."""
        while self._open:
            self._session.release(self._open.pop())

    @property
    def remaining(self) -> int | None:
        """What can still be allocated, never below 0; None if there is no limit."""
        return self._session.read().remaining

    @property
    def usage_fraction(self) -> float:
        """The used part of the total: above 1.0 if more was used, 0.0 without a total."""
        return self._session.read().usage_fraction

    def suggested_mode(self, requested: str = "raw") -> ResponseMode:
        """Return the requested mode, or a shorter one when little of the budget is left."""
        return self._session.read().mode(requested)

    def count(self, text: str) -> int:
        """Return the tokens of a text by the counter; without one, characters / 4, rounded up."""
        if self._counter is not None:
            return self._counter.count(text)
        return -(-len(text) // CHARACTERS_PER_TOKEN)


def join_session(name: str, settings: Settings, default: Settings) -> SessionView:
    """Return a session of the user's ledger, and start it if it does not exist.

    Settings other than the default must be those of the session, if it exists.
    """
    ledger = open_ledger(Environment(os.environ))
    if settings != default or not ledger.has(name):
        ledger.start(name, settings)
    return SessionView(ledger, name)


def session_in_memory(settings: Settings) -> SessionView:
    """Start a session that only this manager knows."""
    from tokcap.budget.memory import MemoryLedger

    ledger = MemoryLedger()
    ledger.start("manager", settings)
    return SessionView(ledger, "manager")
