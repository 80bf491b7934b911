"""Complete an answer, charge its session, and write it to both streams."""

from __future__ import annotations

from tokcap.errors import ReaderGone, StreamError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import safe_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import View
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.inputs import Input


class Bill(Record):
    """The session that pays for an answer, the tokenizer that counts it, and the call's stopwatch."""

    # None if no session pays.
    charge: Charge | None
    tokenizer: Tokenizer
    stopwatch: Stopwatch
    # Tokens that were written before the answer, and are paid for with it.
    already_written_tokens: int = 0

    def complete(self, answer: Answer) -> Answer:
        """Add what is known about every call: its duration, and the tokenizer that was asked for."""
        return answer.with_meta(duration_ms=self.stopwatch.milliseconds, tokenizer=self.tokenizer.name)

    def price(self, answer: Answer, view: View) -> int:
        """Return what an answer costs its reader: all that is written, on both streams."""
        written = FORMS[view.output].write(answer.response)
        counts = (safe_count(data, self.tokenizer) for data in (written, answer.stderr))
        return sum(counts) + self.already_written_tokens

    def settle(self, answer: Answer, view: View, kind: str) -> tuple[Notice, ...]:
        """Charge an answer to its session. Return a warning if that fails."""
        return self.charge.settle(self.price(answer, view), kind) if self.charge else ()


class Delivered(Record):
    """The response that was written, and why it could not be written completely."""

    response: Response
    failure: StreamError | ReaderGone | None = None


def deliver(answer: Answer, given: Input, view: View, bill: Bill, kind: str, env: Environment) -> Delivered:
    """Charge the answer and write it. Without an envelope, warnings go to stderr."""
    form, response = FORMS[view.output], answer.response
    # Charge first: a process that dies in between has paid too much, never too little.
    charging = bill.settle(answer, view, kind)
    failure = None
    try:
        env.write_stdout(rest_of(form.write(response), given.out, given.out_passed))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(rest_of(answer.stderr, given.err, given.err_passed))
    messages = [answer.message] if answer.message else []
    messages += warnings_of(charging)
    if not form.has_envelope:
        messages += warnings_of(response.notices)
    env.tell_after(answer.stderr, messages)
    return Delivered(response.but(notices=(*response.notices, *charging)), failure)


def rest_of(written: bytes, payload: Payload | None, passed: int) -> bytes:
    """Return what is left to write of an answer whose beginning is already written."""
    if payload is None or not passed:
        return written
    # If it does not start with what is written, write all of it.
    return written[passed:] if written.startswith(payload.read(0, passed)) else written


def warnings_of(notices: Sequence[Notice]) -> Sequence[str]:
    """Return warnings for stderr. The mark says what was cut; more words would break the cap."""
    return [f"warning: {notice.message}" for notice in notices if not notice.of_the_cut]
