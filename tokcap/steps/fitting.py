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
# How much of the end of stderr, and how many findings, stay in an envelope that is too large.
SHORT_DETAIL_CHARACTERS, FEW_FINDINGS = 200, 4


def fit_answer(
    answer: Answer, view: View, examined: Examined, continuation: Continuation, bill: Bill, charge: Charge
) -> Answer:
    """Return the answer if the session can pay for it, else make smaller ones until one fits."""
    answer = complete(answer, view, bill, charge)
    limit, most = charge.limit, view.token_limit
    if limit is None or most is None:
        return answer
    data_limit, is_lean = most, False
    while (cost := bill.price(answer, view)) > limit:
        for leaner in with_less_detail(answer):
            answer = complete(leaner, view, bill, charge)
            cost = bill.price(answer, view)
            if cost <= limit:
                return answer
        data_limit -= max(cost - limit, 1)
        if data_limit < 1:
            if is_lean:
                start = () if view.token_count else continuation.arguments_at(view.token_offset)
                return smallest(answer, view, start, bill, charge, limit)
            # `meta` alone is too large. Some of the payload is worth more than what is in it twice.
            is_lean, data_limit = True, most
        smaller = make_answer(view.but(token_limit=data_limit), examined, continuation)
        if is_lean:
            smaller = smaller.with_meta(truncation_hint=None, spill_path=None, focus=None)
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


def smallest(
    answer: Answer, view: View, start: tuple[str, ...], bill: Bill, charge: Charge, limit: int
) -> Answer:
    """Return the answer without its payload, and with less and less of `meta` until it fits.

    `start` has the arguments of a call that shows what is left out: nothing of the window is shown, so the
    next page starts where this one does.
    """
    for leaner in without_payload(answer, view.token_offset if start else None, start):
        answer = complete(leaner, view, bill, charge) if leaner.response.meta.session else leaner
        if bill.price(answer, view) <= limit:
            break
    return answer


def with_less_detail(answer: Answer) -> Iterator[Answer]:
    """Yield the answer with less beside its payload: of stderr, of the findings, of what is said twice."""
    response = answer.response
    failure = response.failure
    if failure and failure.detail:
        for detail in (failure.detail[-SHORT_DETAIL_CHARACTERS:], ""):
            response = response.but(failure=failure.but(detail=detail))
            yield answer.but(response=response)
    if findings := response.meta.focus:
        for fewer in (findings[:FEW_FINDINGS], None):
            response = response.but(meta=response.meta.but(focus=fewer))
            yield answer.but(response=response)
    if response.meta.continue_:
        # The arguments of the next call say the same.
        meta = response.meta.but(truncation_hint=None, spill_path=None)
        yield answer.but(response=response.but(meta=meta))


def without_payload(answer: Answer, next_offset: int | None, start: tuple[str, ...]) -> Iterator[Answer]:
    """Yield the answer without payload, each time with less of `meta`."""
    response = answer.response
    failure = response.failure
    bare = response.but(body=None, failure=failure.but(detail="") if failure else None, notices=())
    meta = response.meta.but(
        truncated=True,
        returned_tokens=None,
        next_offset=next_offset,
        continue_=start or None,
        truncation_hint=None,
        first_pointer=None,
        next_pointer=None,
        returned_count=None,
        spill_path=None,
        focus=None,
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
    # A reader that follows `continue` must not take this for the end, so it is the last to go.
    last = leaner.but(next_offset=None, continue_=None)
    yield answer.but(stderr=b"", response=bare.but(meta=last))
