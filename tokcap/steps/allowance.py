"""What one call asks of its budget: the window, the shares and the tokens that its form of answer needs.

This module only computes numbers from a request. `charging` asks the ledger.
"""

from __future__ import annotations

from tokcap.budget.arithmetic import Window, result_share
from tokcap.errors import BudgetExhausted, UsageError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.budget.base import Grant
    from tokcap.core.request import View


def window_of(view: View) -> Window | None:
    """Return the window that this call names; None if it names none."""
    return None if view.context_window is None else shares_of(view).but(tokens=view.context_window)


def shares_of(view: View) -> Window:
    """Return the shares and the floor of this call, for a window that is known elsewhere."""
    return Window(
        tokens=0, result_pct=view.result_pct, turn_pct=view.turn_pct, floor_tokens=view.floor_tokens
    )


def limit_of(window: Window | None) -> int | None:
    """Return what a window alone allows for one result; None without a window."""
    if window is None:
        return None
    tokens = result_share(window, 0).tokens
    if tokens == 0:
        raise UsageError("--context-window is too small: one result would get 0 tokens; use a larger value")
    return tokens


def requested_tokens(view: View) -> int | None:
    """Return what to ask the session for; None asks for as much as possible."""
    return None if view.token_limit is None else view.token_limit + FORMS[view.output].extra_tokens


def too_small(grant: Grant, view: View) -> BudgetExhausted | None:
    """Return the refusal of a grant in which no answer of this form fits; None if one fits."""
    least = FORMS[view.output].least_tokens
    if grant.tokens is None:
        return None
    left = grant.account.remaining_after(grant.tokens, 0)
    if left is not None and left < least:
        name, tightest = grant.account.tightest
        whose = f"the budget of {name!r}" if name else "the budget"
        reserved = tightest.reserved - grant.tokens
        others = f", {reserved} are reserved by running commands" if reserved else ""
        return BudgetExhausted(
            f"{whose} is exhausted: {left} tokens are left{others}, the smallest answer needs {least}"
        )
    requested = requested_tokens(view)
    if grant.tokens < least and (requested is None or grant.tokens < requested):
        return BudgetExhausted(
            f"the share of this result is too small: it allows {grant.tokens} tokens,"
            f" the smallest answer needs {least}"
        )
    return None


def limit_of_grant(grant: Grant, view: View) -> int | None:
    """Return what an answer may cost; None if nothing limits it. Later answers keep their share."""
    most = grant.account.most_for_one_answer(FORMS[view.output].least_tokens)
    return grant.tokens if most is None or grant.tokens is None else min(grant.tokens, most)
