"""Complete an answer, charge its session, and write it to both streams."""

from __future__ import annotations

from tokcap.errors import ReaderGone, StreamError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps.inputs import NOTHING_PASSED
from tokcap.tokens import safe_count

if TYPE_CHECKING:
    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import View
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.steps.charging import Charge
    from tokcap.steps.inputs import Input, Passed


class Bill(Record):
    """The session that pays for an answer, the tokenizer that counts it, and the call's stopwatch."""

    # None if no session pays.
    charge: Charge | None
    tokenizer: Tokenizer
    stopwatch: Stopwatch
    # Tokens that were written before the answer, and are paid for with it.
    already_written_tokens: int = 0
    # The beginning of the answer that was written before.
    passed: Passed = NOTHING_PASSED

    def complete(self, answer: Answer) -> Answer:
        """Add what is known about every call: its duration, and the tokenizer that was asked for."""
        return answer.with_meta(
            duration_ms=self.stopwatch.milliseconds,
            tokenizer=self.tokenizer.name,
            tokenizer_digest=self.tokenizer.digest or None,
        )

    def price(self, answer: Answer, view: View) -> int:
        """Return what an answer costs its reader: all that is written, on both streams."""
        from tokcap.steps.proof import Proof

        written = FORMS[view.output].write(answer.response)
        proof = Proof(self.tokenizer, self.passed, count=safe_count)
        return proof.cost(written, answer.all_stderr) + self.already_written_tokens

    def settle(self, answer: Answer, view: View, kind: str) -> tuple[Notice, ...]:
        """Charge an answer to its session. Return a warning if that fails."""
        return self.charge.settle(self.price(answer, view), kind) if self.charge else ()


class Delivered(Record):
    """The response that was written, and why it could not be written completely."""

    response: Response
    failure: StreamError | ReaderGone | None = None


def deliver(answer: Answer, given: Input, view: View, env: Environment) -> Delivered:
    """Write an answer that is paid for: the rest of stdout, the rest of stderr, tokcap's own words."""
    form, response = FORMS[view.output], answer.response
    failure = None
    try:
        if response.is_long:
            for block in form.blocks(response):
                env.write_stdout(block)
        else:
            env.write_stdout(rest_of(form.write(response), given.out, given.passed.out))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(rest_of(answer.stderr, given.err, given.passed.err))
    env.write_words(answer.words)
    return Delivered(response, failure)


def unreported(
    captured: Captured, delivered: Delivered, view: View
) -> tuple[StreamError | ReaderGone | None, ...]:
    """Return the errors that stderr does not have yet."""
    if FORMS[view.output].has_envelope:
        return captured.broken, delivered.failure or captured.failure
    # The words of the answer have reported what failed before it was made.
    return () if captured.failure else (delivered.failure,)


def rest_of(written: bytes, payload: Payload | None, passed: int) -> bytes:
    """Return what is left to write of an answer whose beginning is already written."""
    if payload is None or not passed:
        return written
    # If it does not start with what is written, write all of it.
    return written[passed:] if written.startswith(payload.read(0, passed)) else written
