"""Answer a call that failed: one line on stderr, and an envelope if its form has one.

A session pays for such an answer like for any other, or a caller could get as many of them as it likes. Free
are only refusals that no session can pay for: its budget is exhausted, it has not been started, or its
ledger cannot be used.
"""

from __future__ import annotations

from tokcap.core.response import refusal
from tokcap.environment import line_of
from tokcap.errors import BudgetExhausted, LedgerError, ReaderGone, SessionNotStarted, TokcapError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shortage import problem_of

if TYPE_CHECKING:
    from tokcap.core.request import View
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.steps.charging import Charge

# No session can pay for these, or nobody reads them.
UNCHARGED = (BudgetExhausted, SessionNotStarted, LedgerError, ReaderGone)
ELLIPSIS = "…"
# A message may quote a word of the caller, of any length. This much is enough to recognize it.
MOST_CHARACTERS = 1000


def charged_refusal(
    error: Exception, view: View, charge: Charge | None, duration_ms: int, env: Environment
) -> Response | None:
    """Charge a failure to the session of the call and write it; None if no session pays for it.

    `charge` is what the call has reserved. Raise `BudgetExhausted` if nothing is left for the answer.
    """
    if not (view.session and env.is_program) or isinstance(error, UNCHARGED):
        return None
    if charge is None or charge.is_settled:
        charge = charge_for_refusal(view, env)
        if charge is None:
            return None
    tokenizer = countable(view, env)
    limit = max(charge.limit or 0, FORMS[view.output].least_tokens)
    answer = fitted(refusal(problem_of(error), view.tokenizer, duration_ms), view, tokenizer, limit)
    # If this fails, the failure that is told now is very likely the reason.
    charge.settle(price_of(answer, view, tokenizer), "refusal")
    env.write_stderr(line_written(answer))
    try:
        env.write_stdout(envelope_written(answer, view.output))
    except TokcapError:
        # The line on stderr and the exit status report the failure.
        pass
    return answer


def charge_for_refusal(view: View, env: Environment) -> Charge | None:
    """Reserve tokens for a refusal; None if the session cannot pay, for another reason than its budget."""
    from tokcap.steps.charging import Charge

    least_tokens = FORMS[view.output].least_tokens
    try:
        return Charge(view.but(token_limit=least_tokens, compact_before_spill=False), env)
    except BudgetExhausted:
        raise
    except TokcapError:
        return None


def countable(view: View, env: Environment | None = None) -> Tokenizer:
    """Return the tokenizer of the call; the default one if it is the reason of the refusal."""
    from tokcap.core.request import DEFAULTS
    from tokcap.errors import TokenizerUnavailable
    from tokcap.tokens import open_tokenizer

    try:
        return open_tokenizer(view.tokenizer, env)
    except TokenizerUnavailable:
        return open_tokenizer(str(DEFAULTS["tokenizer"]))


def brief(error: TokcapError, answer: Response, view: View | None) -> Response:
    """Return a failure that no session pays for, cut to the limit of its call, or to a few lines without one.

    A limit is not lower than the least useful answer. `view` is None if the call could not be parsed.
    """
    assert answer.failure is not None, "this is a failure"
    message = answer.failure.message
    if len(message) > MOST_CHARACTERS:
        answer = answer.but(failure=answer.failure.but(message=message[:MOST_CHARACTERS] + ELLIPSIS))
    if view is None or view.token_limit is None or isinstance(error, UNCHARGED):
        return answer
    limit = max(view.token_limit, FORMS[view.output].least_tokens)
    if len(envelope_written(answer, view.output) + line_written(answer)) <= limit:
        # Counting takes time, and a token has at least one byte.
        return answer
    return fitted(answer, view, countable(view), limit)


def fitted(answer: Response, view: View, tokenizer: Tokenizer, limit_tokens: int) -> Response:
    """Return the answer with as much of its message as the limit allows. It may quote a long command."""
    while (price := price_of(answer, view, tokenizer)) > limit_tokens:
        assert answer.failure is not None, "this is a failure"
        message = answer.failure.message.removesuffix(ELLIPSIS)
        if not message:
            return answer
        # What is not the message costs something too, so the share alone may be too long again and again.
        kept = min(len(message) * limit_tokens // price, len(message) - len(message) // 8 - 1)
        answer = answer.but(failure=answer.failure.but(message=message[:kept] + ELLIPSIS))
    return answer


def price_of(answer: Response, view: View, tokenizer: Tokenizer) -> int:
    """Return what a failure costs its reader: both streams."""
    from tokcap.steps.inputs import NOTHING_PASSED
    from tokcap.steps.proof import Proof
    from tokcap.tokens import safe_count

    proof = Proof(tokenizer, NOTHING_PASSED, count=safe_count)
    return proof.cost(envelope_written(answer, view.output), line_written(answer))


def line_written(answer: Response) -> bytes:
    return line_of(answer.failure.message) if answer.failure else b""


def envelope_written(answer: Response, output: str) -> bytes:
    form = FORMS[output]
    return form.write(answer) if form.has_envelope else b""
