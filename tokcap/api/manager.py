"""`BudgetManager`: a budget as a library uses it, kept in memory or in the ledger.

It decides nothing itself: every number comes from the storage, and so from `budget.py`.
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokcap.budget.arithmetic import (
    MOST_TOKENS,
    Account,
    Grant,
    Recorded,
    Settings,
    Window,
    granted,
    tokens_of,
    window_after,
)
from tokcap.environment import Environment

if TYPE_CHECKING:
    from tokcap.budget.arithmetic import ResponseMode, Storage

DEFAULT_TOTAL = 100_000
CHARACTERS_PER_TOKEN = 4


@runtime_checkable
class TokenCounter(Protocol):
    """Whatever can say how many tokens a text has."""

    def count(self, text: str) -> int: ...


class BudgetManager:
    """A budget of tokens: allocate before you write, record what was really written.

    Several allocations may be open; `record_usage` settles the oldest. Threads may share a manager.
    """

    def __init__(
        self,
        total_budget: int | None = DEFAULT_TOTAL,
        *,
        token_counter: TokenCounter | None = None,
        session: str | None = None,
        storage: Storage | None = None,
    ) -> None:
        """In memory, unless a session of the ledger or another storage is named.

        A session that is not there yet is started with this total. One that is there keeps its own: a
        total that was left at its default joins it, any other has to be the same.
        """
        if session is not None and storage is not None:
            raise ValueError("give a session or a storage, not both")
        settings = Settings(total_budget).checked()
        if session is not None:
            storage = join(session, settings)
        self._storage: Storage = storage or MemoryStorage(settings)
        self._counter = token_counter
        self._open: list[Grant] = []

    def allocate(self, requested: int) -> int:
        """Reserve as much of `requested` as is left; `BudgetExhausted` if nothing is."""
        # Whoever asks for more than there can be asks for everything.
        wanted = (
            requested
            if isinstance(requested, int) and requested > MOST_TOKENS
            else tokens_of(requested, "requested")
        )
        grant = self._storage.reserve(wanted)
        assert grant.tokens is not None, "a request is a limit"
        self._open.append(grant)
        return grant.tokens

    def record_usage(self, actual: int) -> None:
        """Settle the oldest open allocation with what was really used, be it less or more.

        Without an open allocation it is simply counted.
        """
        # Before the allocation is taken from the list, where it stays if this is refused.
        tokens_of(actual, "actual")
        try:
            grant: Grant | None = self._open.pop(0)
        except IndexError:
            grant = None
        try:
            self._storage.settle(grant, actual)
        except BaseException:
            # It is still open, and can be settled when the storage is there again.
            if grant is not None:
                self._open.insert(0, grant)
            raise

    def release(self) -> None:
        """Free every open allocation: nothing of them was used."""
        while self._open:
            self._storage.release(self._open.pop())

    @property
    def remaining(self) -> int | None:
        """What can still be allocated, never below 0; None: there is no limit."""
        return self._storage.read().remaining

    @property
    def usage_fraction(self) -> float:
        """The used part of the total, above 1.0 where more was used; 0.0 without a total."""
        return self._storage.read().usage_fraction

    def suggested_mode(self, requested: str = "raw") -> ResponseMode:
        """The mode that was asked for, or a terser one as the budget runs out."""
        return self._storage.read().mode(requested)

    def count(self, text: str) -> int:
        """The tokens of a text by the counter; without one, characters / 4, rounded up."""
        if self._counter is not None:
            return self._counter.count(text)
        return -(-len(text) // CHARACTERS_PER_TOKEN)


def join(session: str, settings: Settings) -> Storage:
    """The session's account in the user's ledger; started if it is not there."""
    # A budget in memory needs no database.
    from tokcap.budget.sqlite import Ledger

    ledger = Ledger(Environment(os.environ).data_dir())
    if settings.total != DEFAULT_TOTAL or not ledger.has(session):
        ledger.start(session, settings)
    return ledger.session(session)


class MemoryStorage:
    """An account of this process alone. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._used = 0
        self._window_used = 0
        self._last_id = 0
        self._grants: dict[int, tuple[int, str | None]] = {}
        self._turns: dict[str, int] = {}
        self._keys: set[str] = set()
        self._lock = allocate_lock()

    def reserve(
        self,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        with self._lock:
            before = self._account()
            tokens, floor_decides = granted(
                before,
                requested,
                window or self._settings.window_with(shares or Window(0)),
                self._turn_taken(turn),
            )
            self._last_id += 1
            self._grants[self._last_id] = (tokens or 0, turn)
            return Grant(self._last_id, tokens, turn, floor_decides, self._account())

    def settle(self, grant: Grant | None, actual: int) -> Account:
        tokens_of(actual, "actual")
        with self._lock:
            self._used += actual
            self._window_used += actual
            if grant is not None:
                self._grants.pop(grant.id, None)
                if grant.turn is not None:
                    self._turns[grant.turn] = self._turns.get(grant.turn, 0) + actual
            return self._account()

    def release(self, grant: Grant) -> Account:
        with self._lock:
            self._grants.pop(grant.id, None)
            return self._account()

    def record(self, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        tokens = tokens_of(input_tokens, "input") + tokens_of(output_tokens, "output")
        with self._lock:
            if key is not None:
                if key in self._keys:
                    return Recorded(False, self._account())
                self._keys.add(key)
            self._used += tokens
            self._window_used = window_after(self._window_used, input_tokens, output_tokens)
            return Recorded(True, self._account())

    def compacted(self, used: int) -> Account:
        tokens_of(used, "used")
        with self._lock:
            self._window_used = used
            return self._account()

    def read(self) -> Account:
        with self._lock:
            return self._account()

    def _account(self) -> Account:
        reserved = sum(tokens for tokens, _turn in self._grants.values())
        return Account(self._settings, self._used, reserved, self._window_used)

    def _turn_taken(self, turn: str | None) -> int | None:
        if turn is None:
            return None
        return self._turns.get(turn, 0) + sum(tokens for tokens, of in self._grants.values() if of == turn)
