"""An answer that fits its budget: a session pays for the envelope as well, so that is made to fit too."""

from __future__ import annotations

from tokcap.envelope import rendered
from tokcap.record import TYPE_CHECKING
from tokcap.tokens import count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from tokcap.answer import Answer
    from tokcap.environment import Environment
    from tokcap.spending import Spending
    from tokcap.types import Tokenizer, View

    AnyView = TypeVar("AnyView", bound=View)

# A number in an envelope is part of what it costs, and seldom changes that twice.
ACCOUNT_ATTEMPTS = 5


def within_budget(
    view: AnyView,
    answered: Callable[[AnyView], Answer],
    spending: Spending | None,
    tokenizer: Tokenizer,
    started: float,
    env: Environment,
) -> Answer:
    """The answer, complete, for no more than the session grants: it pays for the envelope as well."""

    def completed(answer: Answer) -> Answer:
        answer = answer.with_meta(duration_ms=round((env.clock() - started) * 1000))
        return with_account(answer, view, spending, tokenizer) if spending else answer

    answer = completed(answered(view))
    limit = spending.limit if spending and spending.is_tracked else None
    data_limit = view.token_limit
    if limit is None or data_limit is None or view.output == "text":
        return answer
    while (cost := price_of(answer, view, tokenizer)) > limit:
        data_limit -= cost - limit
        if data_limit < 1:
            # Of the payload there is nothing left to leave out.
            return completed(slimmed(answer))
        answer = completed(answered(view.but(token_limit=data_limit)))
    return answer


def with_account(answer: Answer, view: View, spending: Spending, tokenizer: Tokenizer) -> Answer:
    """The answer with the session in it, and what that has left once this very answer is paid for."""
    if not spending.is_tracked:
        return answer
    answer = answer.with_meta(session=spending.session)
    for _ in range(ACCOUNT_ATTEMPTS):
        left = spending.remaining_after(price_of(answer, view, tokenizer))
        if left == answer.response.meta.budget_remaining:
            return answer
        answer = answer.with_meta(budget_remaining=left)
    # The number changes its own price, for ever: it is not told.
    return answer.with_meta(budget_remaining=None)


def price_of(answer: Answer, view: View, tokenizer: Tokenizer) -> int:
    """What an answer costs its reader: all that is written, on both streams."""
    written = rendered(answer.response, view.output)
    return count_bytes(written, tokenizer) + count_bytes(answer.stderr, tokenizer)


def slimmed(answer: Answer) -> Answer:
    """The answer without payload, and without all that a reader can ask for again."""
    response = answer.response
    failure = response.failure
    return answer.but(
        stderr=b"",
        response=response.but(
            payload=None,
            failure=failure.but(detail="") if failure else None,
            notices=(),
            meta=response.meta.but(
                truncated=True,
                returned_tokens=None,
                next_offset=None,
                truncation_hint=None,
                first_pointer=None,
                next_pointer=None,
                returned_count=None,
                spill_path=None,
            ),
        ),
    )
