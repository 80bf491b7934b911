"""Charge the results of tools to a session: hold tokens before a cut, then settle what it costs."""

from __future__ import annotations

from contextlib import suppress

from tokcap.errors import BudgetExhausted, LedgerError, TokcapError
from tokcap.outputs import LEAST_TOKENS
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from tokcap.budget.base import Grant
    from tokcap.budget.ledger import SessionView


class Hold(Record):
    """What one result may use. If a session pays, it is reserved before anything runs.

    So calls that run at the same time never use more than the total together.
    """

    tokens: int
    # The longest mode in which the result is shown.
    mode: str = "raw"
    session: SessionView | None = None
    grant: Grant | None = None

    def settle(self, tokens: int) -> None:
        """Charge what the result costs, and free the rest.

        What the client waits for is more important than a ledger that cannot be used now.
        """
        if self.session and self.grant:
            # An error that stays: the session has ended.
            with suppress(TokcapError):
                try:
                    self.session.settle(self.grant, tokens)
                except LedgerError:
                    self.session.defer(self.grant, tokens)

    def release(self) -> None:
        """Free all of it: there is no result."""
        if self.session and self.grant:
            with suppress(TokcapError):
                self.session.release(self.grant)


def hold_in(session: SessionView | None, limit_tokens: int) -> Hold:
    """Reserve tokens for a result; raise `BudgetExhausted` if too few are left for a useful one."""
    if session is None:
        return Hold(limit_tokens)
    grant = session.reserve(limit_tokens)
    if grant.tokens is None:
        return Hold(limit_tokens, session=session, grant=grant)
    if grant.tokens < min(LEAST_TOKENS, limit_tokens):
        session.release(grant)
        raise BudgetExhausted(
            f"the budget is exhausted: {grant.tokens} tokens are left,"
            f" the smallest answer needs {LEAST_TOKENS}"
        )
    session.keep(grant)
    # Later answers keep their share.
    most = grant.account.most_for_one_answer(LEAST_TOKENS)
    tokens = grant.tokens if most is None else min(grant.tokens, most)
    return Hold(tokens, str(grant.account.mode()), session, grant)
