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
    form = FORMS[view.output]
    least = form.least_count_tokens if view.token_count else form.least_tokens
    if grant.tokens is None or grant.tokens >= least:
        return None
    account = grant.account
    is_exhausted = account.total is not None and account.total - account.used < least
    reason = "the budget is exhausted" if is_exhausted else "the share of this result is too small"
    return BudgetExhausted(f"{reason}: it allows {grant.tokens} tokens, the smallest answer needs {least}")
