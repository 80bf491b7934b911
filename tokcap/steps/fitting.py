"""Make an answer fit its grant. A session pays for the whole envelope, not only for its data."""

from __future__ import annotations

from tokcap.errors import TokenizerFailed
from tokcap.forms.envelope import rendered
from tokcap.lean.record import TYPE_CHECKING
from tokcap.tokens import ByteTokenizer, count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from tokcap.core.notice import Notice
    from tokcap.core.request import View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge

    AnyView = TypeVar("AnyView", bound=View)

# The remaining budget is part of the envelope, so writing it can change the cost. It seldom does so twice.
REMAINING_ATTEMPTS = 5
# How much of the end of stderr stays in an envelope that costs too much.
SHORT_DETAIL_CHARACTERS = 200


class Fitting:
    """Fits, prices and settles the answer of one call."""

    def __init__(
        self,
        charge: Charge | None,
        tokenizer: Tokenizer,
        elapsed: Callable[[], float],
        # What was already written to stderr, and is paid for with the answer.
        passed_tokens: int = 0,
    ) -> None:
        self._charge = charge if charge and charge.is_tracked else None
        self._tokenizer = tokenizer
        self._elapsed = elapsed
        self._passed_tokens = passed_tokens

    def fit(self, view: AnyView, answered: Callable[[AnyView], Answer]) -> Answer:
        """Return the answer with all its metadata, for no more than the session grants."""
        answer = self._completed(answered(view), view)
        limit = self._charge.limit if self._charge else None
        data_limit = view.token_limit
        if limit is None or data_limit is None or view.output == "text":
            # In text form the limit covers everything, and the cut has met it.
            return answer
        while (cost := self.price(answer, view)) > limit:
            for smaller in with_less_detail(answer):
                answer = self._completed(smaller, view)
                cost = self.price(answer, view)
                if cost <= limit:
                    return answer
            data_limit -= max(cost - limit, 1)
            if data_limit < 1:
                return self._smallest(answer, view, limit)
            answer = self._completed(answered(view.but(token_limit=data_limit)), view)
        return answer

    def price(self, answer: Answer, view: View) -> int:
        """Return what an answer costs its reader: everything written to both streams."""
        written = rendered(answer.response, view.output)
        return self._count(written) + self._count(answer.stderr) + self._passed_tokens

    def settle(self, answer: Answer, view: View, kind: str) -> tuple[Notice, ...]:
        """Charge the answer to its session; return warnings."""
        return self._charge.settle(self.price(answer, view), kind) if self._charge else ()

    def _count(self, data: bytes) -> int:
        return safe_count(data, self._tokenizer)

    def _completed(self, answer: Answer, view: View) -> Answer:
        """Add the duration, the session, and what the session has left after this answer."""
        answer = answer.with_meta(duration_ms=round(self._elapsed() * 1000))
        if self._charge is None or view.output == "text":
            # Text does not show it, so the ledger is not asked.
            return answer
        answer = answer.with_meta(session=self._charge.session)
        for _ in range(REMAINING_ATTEMPTS):
            left = self._charge.remaining_after(self.price(answer, view))
            if left == answer.response.meta.budget_remaining:
                return answer
            answer = answer.with_meta(budget_remaining=left)
        # Each value changes its own cost again, so it is left out.
        return answer.with_meta(budget_remaining=None)

    def _smallest(self, answer: Answer, view: View, limit: int) -> Answer:
        """Return the answer without its payload, and drop metadata until it fits."""
        for smaller in without_payload(answer):
            answer = self._completed(smaller, view) if smaller.response.meta.session else smaller
            if self.price(answer, view) <= limit:
                break
        return answer


def with_less_detail(answer: Answer) -> Iterator[Answer]:
    """Yield the answer with a shorter end of stderr in its error, then without any."""
    response = answer.response
    failure = response.failure
    if failure and failure.detail:
        for detail in (failure.detail[-SHORT_DETAIL_CHARACTERS:], ""):
            yield answer.but(response=response.but(failure=failure.but(detail=detail)))


def without_payload(answer: Answer) -> Iterator[Answer]:
    """Yield the answer without its payload, each time with less metadata."""
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
    least_meta = meta.but(
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
    yield answer.but(stderr=b"", response=bare.but(meta=least_meta))


def safe_count(data: bytes, tokenizer: Tokenizer) -> int:
    """Count the tokens of a text. If the tokenizer fails, count bytes, which are never fewer."""
    try:
        return count_bytes(data, tokenizer)
    except TokenizerFailed:
        return count_bytes(data, ByteTokenizer())
