"""Fit an answer into its budget. A session pays for the whole envelope, so the envelope has to fit too."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.answer import make_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.request import View
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.delivery import Bill
    from tokcap.steps.examination import Examined

# `budget_remaining` is part of what the envelope costs. It rarely changes that cost twice.
REMAINING_ATTEMPTS = 5
# How much of the end of stderr stays in an envelope that is too large.
SHORT_DETAIL_CHARACTERS = 200


def fit_answer(
    answer: Answer, view: View, examined: Examined, continuation: Continuation, bill: Bill, charge: Charge
) -> Answer:
    """Return the answer if the session can pay for it, else make smaller ones until one fits."""
    answer = complete(answer, view, bill, charge)
    limit, data_limit = charge.limit, view.token_limit
    if limit is None or data_limit is None:
        return answer
    while (cost := bill.price(answer, view)) > limit:
        for leaner in with_less_detail(answer):
            answer = complete(leaner, view, bill, charge)
            cost = bill.price(answer, view)
            if cost <= limit:
                return answer
        data_limit -= max(cost - limit, 1)
        if data_limit < 1:
            return smallest(answer, view, bill, charge, limit)
        smaller = make_answer(view.but(token_limit=data_limit), examined, continuation)
        answer = complete(smaller, view, bill, charge)
    return answer


def complete(answer: Answer, view: View, bill: Bill, charge: Charge) -> Answer:
    """Add what the session has left after it has paid for this answer."""
    answer = bill.complete(answer).with_meta(session=charge.session)
    for _ in range(REMAINING_ATTEMPTS):
        left = charge.remaining_after(bill.price(answer, view))
        if left == answer.response.meta.budget_remaining:
            return answer
        answer = answer.with_meta(budget_remaining=left)
    # Each value changes the price, which changes the value. Leave it out.
    return answer.with_meta(budget_remaining=None)


def smallest(answer: Answer, view: View, bill: Bill, charge: Charge, limit: int) -> Answer:
    """Return the answer without its payload, and with less and less of `meta` until it fits."""
    for leaner in without_payload(answer):
        answer = complete(leaner, view, bill, charge) if leaner.response.meta.session else leaner
        if bill.price(answer, view) <= limit:
            break
    return answer


def with_less_detail(answer: Answer) -> Iterator[Answer]:
    """Yield the answer with a shorter end of stderr in its error, then without it."""
    response = answer.response
    failure = response.failure
    if failure and failure.detail:
        for detail in (failure.detail[-SHORT_DETAIL_CHARACTERS:], ""):
            yield answer.but(response=response.but(failure=failure.but(detail=detail)))


def without_payload(answer: Answer) -> Iterator[Answer]:
    """Yield the answer without payload, each time with less of `meta`."""
    response = answer.response
    failure = response.failure
    bare = response.but(payload=None, failure=failure.but(detail="") if failure else None, notices=())
    meta = response.meta.but(
        truncated=True,
        returned_tokens=None,
        next_offset=None,
        truncation_hint=None,
        first_pointer=None,
        next_pointer=None,
        returned_count=None,
        spill_path=None,
    )
    yield answer.but(stderr=b"", response=bare.but(meta=meta))
    leaner = meta.but(
        session=None,
        budget_remaining=None,
        shape=None,
        total_count=None,
        token_limit=None,
        token_offset=None,
        total_tokens=None,
        total_tokens_estimate=None,
        binary=None,
    )
    yield answer.but(stderr=b"", response=bare.but(meta=leaner))
