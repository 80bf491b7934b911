"""An answer that fits its budget: a session pays for the envelope as well, so that is made to fit too."""

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

# A number in an envelope is part of what it costs, and seldom changes that twice.
ACCOUNT_ATTEMPTS = 5
# So much of stderr's end stays in an envelope that is too dear.
SHORT_DETAIL = 200


class Fitting:
    """One call's answer, what it costs, and what it may cost."""

    def __init__(
        self,
        spending: Charge | None,
        tokenizer: Tokenizer,
        elapsed: Callable[[], float],
        # What was written beside the answer, and is paid for with it.
        beside_tokens: int = 0,
    ) -> None:
        self._spending = spending if spending and spending.is_tracked else None
        self._tokenizer = tokenizer
        self._elapsed = elapsed
        self._beside_tokens = beside_tokens

    def fit(self, view: AnyView, answered: Callable[[AnyView], Answer]) -> Answer:
        """The answer, complete, for no more than the session grants."""
        answer = self._completed(answered(view), view)
        limit = self._spending.limit if self._spending else None
        data_limit = view.token_limit
        if limit is None or data_limit is None or view.output == "text":
            # In text form the limit is that of everything, and was met by the cut.
            return answer
        while (cost := self.price(answer, view)) > limit:
            for leaner in with_less_detail(answer):
                answer = self._completed(leaner, view)
                cost = self.price(answer, view)
                if cost <= limit:
                    return answer
            data_limit -= max(cost - limit, 1)
            if data_limit < 1:
                return self._slimmest(answer, view, limit)
            answer = self._completed(answered(view.but(token_limit=data_limit)), view)
        return answer

    def price(self, answer: Answer, view: View) -> int:
        """What an answer costs its reader: all that is written, on both streams."""
        written = rendered(answer.response, view.output)
        return self._count(written) + self._count(answer.stderr) + self._beside_tokens

    def settle(self, answer: Answer, view: View, kind: str) -> tuple[Notice, ...]:
        """Charge an answer to its session."""
        return self._spending.settle(self.price(answer, view), kind) if self._spending else ()

    def _count(self, data: bytes) -> int:
        return safe_count(data, self._tokenizer)

    def _completed(self, answer: Answer, view: View) -> Answer:
        """The answer with its duration, and with what its session has left once it is paid for."""
        answer = answer.with_meta(duration_ms=round(self._elapsed() * 1000))
        if self._spending is None or view.output == "text":
            # Text has no place for it, and the account need not be asked.
            return answer
        answer = answer.with_meta(session=self._spending.session)
        for _ in range(ACCOUNT_ATTEMPTS):
            left = self._spending.remaining_after(self.price(answer, view))
            if left == answer.response.meta.budget_remaining:
                return answer
            answer = answer.with_meta(budget_remaining=left)
        # The number changes its own price, for ever: it is not told.
        return answer.with_meta(budget_remaining=None)

    def _slimmest(self, answer: Answer, view: View, limit: int) -> Answer:
        """The answer without payload, and without more and more of what can be asked for again."""
        for leaner in slimmed(answer):
            answer = self._completed(leaner, view) if leaner.response.meta.session else leaner
            if self.price(answer, view) <= limit:
                break
        return answer


def with_less_detail(answer: Answer) -> Iterator[Answer]:
    """The answer with less of stderr's end in its error, then with nothing of it."""
    response = answer.response
    failure = response.failure
    if failure and failure.detail:
        for detail in (failure.detail[-SHORT_DETAIL:], ""):
            yield answer.but(response=response.but(failure=failure.but(detail=detail)))


def slimmed(answer: Answer) -> Iterator[Answer]:
    """The answer without payload, leaner and leaner."""
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
    """What a text costs; in bytes, which are never fewer, where the tokenizer fails on it."""
    try:
        return count_bytes(data, tokenizer)
    except TokenizerFailed:
        return count_bytes(data, ByteTokenizer())
