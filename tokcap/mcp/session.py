"""The session that the results of a server are charged to. Loaded only if there is one."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tokcap.api.manager import open_session
from tokcap.budget import open_ledger
from tokcap.errors import BudgetExhausted, LedgerError, TokcapError
from tokcap.mcp.settings import Hold
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.base import Grant
    from tokcap.budget.ledger import SessionView
    from tokcap.environment import Environment


class ChargedSession(Record):
    """The session that the results of a server are charged to. Calls may run in threads."""

    name: str
    storage: SessionView

    def read(self) -> Account:
        return self.storage.read()

    def hold(self, limit_tokens: int) -> Hold:
        """Reserve tokens for a result; raise `BudgetExhausted` if too few are left for a useful one."""
        grant = self.storage.reserve(limit_tokens)
        if grant.tokens is None:
            return Hold(limit_tokens, session=self, grant=grant)
        if grant.tokens < min(LEAST_TOKENS, limit_tokens):
            self.storage.release(grant)
            raise BudgetExhausted(
                f"the budget is exhausted: {grant.tokens} tokens are left,"
                f" the smallest answer needs {LEAST_TOKENS}"
            )
        self.storage.keep(grant)
        # Later answers keep their share.
        most = grant.account.most_for_one_answer(LEAST_TOKENS)
        tokens = grant.tokens if most is None else min(grant.tokens, most)
        return Hold(tokens, str(grant.account.mode()), self, grant)

    def settle(self, grant: Grant, tokens: int) -> None:
        """Charge what a result costs, and free the rest.

        What the client waits for is more important than a ledger that cannot be used now.
        """
        try:
            self.storage.settle(grant, tokens)
        except LedgerError:
            with suppress(TokcapError):
                self.storage.defer(grant, tokens)
        except TokcapError:
            # The session has ended.
            pass

    def release(self, grant: Grant) -> None:
        """Free a reservation."""
        with suppress(TokcapError):
            self.storage.release(grant)


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
            yield ChargedSession(name, ledger.session(name))
    finally:
        if ends_with_server and ledger.has(name):
            ledger.session(name).end()
