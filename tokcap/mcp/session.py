"""The session that the results of a server are charged to. Loaded only if there is one."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tokcap.api.manager import open_session
from tokcap.budget import open_ledger
from tokcap.budget.ledger import SessionView
from tokcap.errors import BudgetExhausted, TokcapError
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import Record
from tokcap.steps.rescue import UNCHARGED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.base import Grant
    from tokcap.environment import Environment

# The session has ended, or its ledger cannot be used. What the client waits for is more important.
UNIMPORTANT = (TokcapError,)


class Hold(Record):
    """Tokens that are reserved for a result, and the mode in which it is shown."""

    storage: SessionView
    grant: Grant
    tokens: int
    mode: str

    def settle(self, tokens: int) -> None:
        """Charge what the result costs, and free the rest."""
        with suppress(*UNIMPORTANT):
            self.storage.settle(self.grant, tokens)

    def release(self) -> None:
        """Free all of it."""
        with suppress(*UNIMPORTANT):
            self.storage.release(self.grant)


class ChargedSession(Record):
    """The session that the results of a server are charged to."""

    name: str
    storage: SessionView

    def read(self) -> Account:
        return self.storage.read()

    def charge_error(self, error: TokcapError, tokens: int) -> None:
        """Charge the answer to a call that failed, unless the session itself refused the call."""
        if isinstance(error, UNCHARGED):
            return
        with suppress(*UNIMPORTANT):
            self.storage.settle(None, tokens)

    def hold(self, limit_tokens: int) -> Hold:
        """Reserve tokens for a result; raise `BudgetExhausted` if too few are left for a useful one."""
        grant = self.storage.reserve(limit_tokens)
        tokens = limit_tokens if grant.tokens is None else grant.tokens
        if tokens < min(LEAST_TOKENS, limit_tokens):
            self.storage.release(grant)
            raise BudgetExhausted(
                f"the budget is exhausted: {tokens} tokens are left, the smallest answer needs {LEAST_TOKENS}"
            )
        return Hold(self.storage, grant, tokens, str(grant.account.mode()))

    def pay_more(self, tokens: int) -> None:
        """Charge what was added to a result that was charged before.

        It has how the command ended, so it is shown even if nothing is left. Then it is counted as overspent.
        """
        if tokens > 0:
            with suppress(*UNIMPORTANT):
                self.storage.settle(None, tokens)


@contextmanager
def open_server_session(name: str, total: int | None, env: Environment) -> Iterator[ChargedSession]:
    """Open the session of a server for as long as the server runs.

    A named session must exist, unless a total is given to start it with. It stays after the server has ended.
    A session without a name ends with the server.
    """
    ledger = open_ledger(env)
    if total is None:
        # Raises an error if the session was never started. Otherwise a typing error would mean no limit.
        ledger.session(name).read()
    ends_with_server = not name
    name = name or f"mcp-{os.urandom(4).hex()}"
    try:
        with open_session(name, total=total):
            yield ChargedSession(name, SessionView(ledger, name))
    finally:
        if ends_with_server and ledger.has(name):
            ledger.session(name).end()
