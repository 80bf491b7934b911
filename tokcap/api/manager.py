"""`BudgetManager`: a token budget for library users, in memory or in a session that processes share.

It decides nothing itself: it calls one session of a ledger.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from tokcap.budget import open_ledger
from tokcap.budget.arithmetic import MOST_TOKENS, ResponseMode, Settings, tokens_of
from tokcap.budget.ledger import SessionView
from tokcap.environment import Environment
from tokcap.errors import StoreError, UsageError
from tokcap.shapes import MODES, terser
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.base import Grant

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
        tokenizer: str | None = None,
        session: str | None = None,
        storage: SessionView | None = None,
        parent: str | BudgetManager | None = None,
        renew: str | None = None,
    ) -> None:
        """Keep the budget in memory, or in the session that is given. None as the total means no limit.

        `session` names a session of the user's ledger. If it does not exist, it is started with this total.
        If it exists, it keeps its own total: leave the total out, or give the same number. `storage` is a
        session of any ledger that was already started: `SessionView(ledger, name)`. Then the total has no
        effect.

        `parent` is the session that this budget is a part of: what is allocated and recorded here counts
        there too, and the tightest of them decides. Give the name of a session of the user's ledger, together
        with `session`, or another manager: then the budget is kept where that one is. `renew` (`day`, `week`,
        `month`) lets what was used begin at 0 again in every period.

        `count` uses the tokenizer of this name (`cl100k_base`, `gpt-4o`, …), or `token_counter`.
        """
        if session is not None and storage is not None:
            raise ValueError("give a session or a storage, not both")
        if tokenizer is not None and token_counter is not None:
            raise ValueError("give a tokenizer or a token_counter, not both")
        if isinstance(token_counter, (str, bytes)):
            # They have a method `count`, which finds 0 in nearly every text.
            raise TypeError("token_counter is an object with count(text); for a name, use tokenizer")
        if storage is not None and (parent is not None or renew is not None):
            raise ValueError("a storage has its parent and its periods already")
        if isinstance(parent, BudgetManager):
            storage = parent._session.below(session, Settings(total_budget, renew=renew))
        elif parent is not None and session is None:
            raise ValueError("give a session too: the parent is a session of the ledger")
        else:
            settings = Settings(total_budget, parent=parent, renew=renew).checked()
            if session is not None:
                storage = join_session(session, settings, default=Settings(DEFAULT_TOTAL))
            storage = storage or session_in_memory(settings)
        self._session: SessionView = storage
        self._counter = token_counter
        self._tokenizer = tokenizer
        if tokenizer is not None:
            # Refuse an unknown name now, not at the first text.
            open_tokenizer(tokenizer)
        self._open: list[Grant] = []
        self._turn: str | None = None

    def __repr__(self) -> str:
        account = self._session.read()
        return f"<BudgetManager used={account.used} total={account.total}>"

    def allocate(self, requested: int) -> int:
        """Reserve as much of `requested` as is left; raise `BudgetExhausted` if nothing is."""
        # A request above the greatest possible number asks for everything.
        if not isinstance(requested, int) or requested <= MOST_TOKENS:
            tokens_of(requested, "requested")
        grant = self._session.reserve(requested, turn=self._turn)
        assert grant.tokens is not None, "a request is a limit"
        self._open.append(grant)
        self._session.keep(grant)
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
                self._session.keep(grant)
            raise

    def release(self) -> None:
        """Free every open allocation without counting anything."""
        while self._open:
            self._session.release(self._open.pop())

    def turn(self, identifier: str | None = None) -> str:
        """Begin a turn; return its name, a new one if none is given.

        Later allocations of this manager count toward it, and so does `run(…, turn=name)`. In a session with
        a context window, one turn may use `turn_pct` of it.
        """
        identifier = f"t{os.urandom(4).hex()}" if identifier is None else identifier
        self._session.turn(identifier)
        self._turn = identifier
        return identifier

    def compacted(self, used: int) -> None:
        """Record that the model's context was compacted and now holds `used` tokens.

        What was used of the total stays used.
        """
        self._session.compacted(used)

    def end(self) -> int:
        """End the session, for all processes that use it; return how many tokens were used.

        Open allocations are freed. After this, the manager raises `SessionNotStarted`.
        """
        self.release()
        return self._session.end().used

    @property
    def total(self) -> int | None:
        """The budget in tokens; None if there is no limit."""
        return self._session.read().total

    @property
    def used(self) -> int:
        """What was really used. It can be more than the total."""
        return self._session.read().used

    @property
    def remaining(self) -> int | None:
        """What can still be allocated, here and in every parent, never below 0; None if there is no limit."""
        return self._session.read().remaining

    @property
    def usage_fraction(self) -> float:
        """The used part of the total: above 1.0 if more was used, 0.0 without a total."""
        return self._session.read().usage_fraction

    def suggested_mode(self, requested: str = "raw") -> ResponseMode:
        """Return the requested mode, or a shorter one when little of the budget is left."""
        if requested not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {requested!r}")
        return ResponseMode.named(terser(requested, self._session.read().mode()))

    def count(self, text: str) -> int:
        """Return the tokens of a text by tokenizer or counter; without one, characters / 4, rounded up."""
        if self._tokenizer is not None:
            from tokcap.api.calls import count

            return count(text, self._tokenizer)
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
    from tokcap.budget.memory import ledger_in_memory

    ledger = ledger_in_memory()
    ledger.start("manager", settings)
    return SessionView(ledger, "manager")


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
        # If the session has ended, or the ledger cannot be reached: the ledger frees the allocations of a
        # process when that process ends.
        with suppress(StoreError, UsageError):
            manager.release()
