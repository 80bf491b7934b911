"""Fit an answer into its budget. A session pays for the whole envelope, so the envelope has to fit too."""

from __future__ import annotations

from tokcap.errors import TokenizerFailed
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps.answer import make_answer
from tokcap.tokens import ByteTokenizer, count_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.core.notice import Notice
    from tokcap.core.request import View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Stopwatch
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined

# `budget_remaining` is part of what the envelope costs. It rarely changes that cost twice.
REMAINING_ATTEMPTS = 5
# How much of the end of stderr stays in an envelope that is too large.
SHORT_DETAIL_CHARACTERS = 200


class Bill(Record):
    """Who pays for an answer, in which tokens, and since when the call runs."""

    # None if no session pays.
    charge: Charge | None
    tokenizer: Tokenizer
    stopwatch: Stopwatch
    # Tokens that were written before the answer, and are paid for with it.
    already_written: int = 0

    def price(self, answer: Answer, view: View) -> int:
        """Return what an answer costs its reader: all that is written, on both streams."""
        written = FORMS[view.output].write(answer.response)
        return (
            safe_count(written, self.tokenizer)
            + safe_count(answer.stderr, self.tokenizer)
            + self.already_written
        )

    def settle(self, answer: Answer, view: View, kind: str) -> tuple[Notice, ...]:
        """Charge an answer to its session. Return a warning if that fails."""
        return self.charge.settle(self.price(answer, view), kind) if self.charge else ()


def fit_answer(view: View, examined: Examined, continuation: Continuation, bill: Bill) -> Answer:
    """Make the answer, for no more tokens than the session grants."""
    answer = complete(make_answer(view, examined, continuation), view, bill)
    limit = bill.charge.limit if bill.charge else None
    data_limit = view.token_limit
    if limit is None or data_limit is None or not FORMS[view.output].has_envelope:
        # Without an envelope the limit covers everything, and the cut met it.
        return answer
    while (cost := bill.price(answer, view)) > limit:
        for leaner in with_less_detail(answer):
            answer = complete(leaner, view, bill)
            cost = bill.price(answer, view)
            if cost <= limit:
                return answer
        data_limit -= max(cost - limit, 1)
        if data_limit < 1:
            return smallest(answer, view, bill, limit)
        answer = complete(make_answer(view.but(token_limit=data_limit), examined, continuation), view, bill)
    return answer


def complete(answer: Answer, view: View, bill: Bill) -> Answer:
    """Add the duration, and what the session has left after it has paid for this answer."""
    answer = answer.with_meta(duration_ms=bill.stopwatch.milliseconds, tokenizer=bill.tokenizer.name)
    if bill.charge is None or not FORMS[view.output].has_envelope:
        # Text has no place for it, so the ledger is not asked.
        return answer
    answer = answer.with_meta(session=bill.charge.session)
    for _ in range(REMAINING_ATTEMPTS):
        left = bill.charge.remaining_after(bill.price(answer, view))
        if left == answer.response.meta.budget_remaining:
            return answer
        answer = answer.with_meta(budget_remaining=left)
    # Each value changes the price, which changes the value. Leave it out.
    return answer.with_meta(budget_remaining=None)


def smallest(answer: Answer, view: View, bill: Bill, limit: int) -> Answer:
    """Return the answer without its payload, and without more and more of what can be asked for again."""
    for leaner in without_payload(answer):
        answer = complete(leaner, view, bill) if leaner.response.meta.session else leaner
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


def safe_count(data: bytes, tokenizer: Tokenizer) -> int:
    """Return what a text costs; in bytes, which are never fewer, if the tokenizer fails on it."""
    try:
        return count_bytes(data, tokenizer)
    except TokenizerFailed:
        return count_bytes(data, ByteTokenizer())
