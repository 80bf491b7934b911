"""The whole flow of one call, top to bottom. Every step is a module; this is their order.

run:   open -> capture -> examine -> reserve a handle -> fit the answer into the budget -> store -> deliver
show:  open a stored output -> examine -> fit the answer into the budget -> deliver
"""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.errors import StoreError, StreamError
from tokcap.exits import OK, READER_GONE
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps import usage_notes
from tokcap.steps.answer import (
    answer_with_everything,
    certainly_fits,
    make_answer,
    may_withhold,
    name_handle,
    with_words,
)
from tokcap.steps.capture import capture
from tokcap.steps.delivery import Bill, deliver, unreported
from tokcap.steps.destinations import may_repeat, open_destinations
from tokcap.steps.opening import Call, Closing, Payment, open_call, open_source
from tokcap.system.shortage import free_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, ShowRequest, View
    from tokcap.core.response import Response
    from tokcap.environment import Environment
    from tokcap.errors import ReaderGone
    from tokcap.exits import Ending
    from tokcap.steps.answer import Answer
    from tokcap.steps.inputs import Input, RunInput
    from tokcap.steps.opening_show import ShowCall


class Done(Record):
    """The result of a call: its exit status, and the response that was written."""

    status: int
    response: Response
    # What was written to stderr in text form, tokcap's own words included.
    stderr: bytes = b""


def run(
    asked: Request, env: Environment, open_source: Callable[[Request, Environment], Source] = open_source
) -> Done:
    """Run a command or read another source, and answer. Refusals are raised before anything runs."""
    started = env.clock()
    with Payment() as payment:
        try:
            return run_and_answer(asked, env, open_source, payment)
        except Exception as error:
            return answer_failure(error, asked, payment, started, env)


def show(asked: ShowRequest, env: Environment) -> Done:
    """Answer from a stored output. The command does not run again, and no output is stored."""
    started = env.clock()
    with Payment() as payment:
        try:
            return show_and_answer(asked, env, payment)
        except Exception as error:
            return answer_failure(error, asked, payment, started, env)


def run_and_answer(
    asked: Request, env: Environment, open_source: Callable[[Request, Environment], Source], payment: Payment
) -> Done:
    """Do the steps of `run`."""
    with Closing() as closing:
        call = open_call(asked, env, payment)
        source = closing.add(open_source(call.request, env))
        if call.charge:
            # Not before: the command is started by a fork, and this may start a thread.
            call.charge.keep_lease()
        destinations = open_destinations(call, source, closing)
        captured = capture(source, destinations.sinks)
        if captured.ending and captured.ending.unread:
            return unread(captured.ending)
        has_error = FORMS[call.request.output].has_envelope
        notices = destinations.notices + call.notices + captured.notices(has_error=has_error)
        if destinations.everything_is_out:
            from tokcap.steps.passed_through import report_passed_output

            response = report_passed_output(call, destinations, captured, notices)
            return finish(response, captured.failure, env, (captured.broken, captured.failure))
        given = destinations.as_input(captured, notices)
        bill = Bill(call.paying, call.tokenizer, call.stopwatch, destinations.tokens_passed(), given.passed)
        answer = pay(answer_and_store(call, given, bill), call, given, bill, "run", env)
        if destinations.progress:
            destinations.progress.end()
        delivered = deliver(answer, given, call.request, env)
        failure = delivered.failure or captured.failure
        if answer.showing and call.paying and not failure:
            call.paying.note_shown(answer.showing)
        usage_notes.note_run(asked, call.tokenizer, answer, given, failure, env)
        done = finish(delivered.response, failure, env, unreported(captured, delivered, call.request))
        return done.but(stderr=answer.all_stderr)


def show_and_answer(asked: ShowRequest, env: Environment, payment: Payment) -> Done:
    """Do the steps of `show`."""
    from tokcap.steps.opening_show import open_show

    with Closing() as closing:
        call = open_show(asked, env, closing, payment)
        bill = Bill(call.paying, call.tokenizer, call.stopwatch)
        answer = pay(answer_for_reader(call, call.given, bill, env), call, call.given, bill, "show", env)
        delivered = deliver(answer, call.given, call.request, env)
        call.save_findings(answer)
        usage_notes.note_show(call.request, call.tokenizer, answer, call.stored, delivered.failure, env)
        return finish(delivered.response, delivered.failure, env, (delivered.failure,))


def answer_failure(error: Exception, asked: View, payment: Payment, started: float, env: Environment) -> Done:
    """If a session pays for the call, charge and write its failure; else raise it."""
    if not asked.session:
        raise error
    from tokcap.steps.refusing import charged_refusal

    answer = charged_refusal(error, asked, payment.charge, round((env.clock() - started) * 1000), env)
    if answer is None:
        raise error
    return Done(answer.status, answer)


def answer_and_store(call: Call, given: RunInput, bill: Bill) -> Answer:
    """Make the answer, and store what it withholds before the answer shows the handle."""
    if call.recorder:
        call.recorder.begin_digest()
    answer = answer_for_reader(call, given, bill, call.env)
    if may_repeat(call.request):
        from tokcap.steps.repeats import answer_repeat

        try:
            answer = answer_repeat(answer, call, given, bill)
        except Exception as error:
            from tokcap.steps.rescue import repeat_failed

            given = given.but(notices=(*given.notices, repeat_failed(error)))
            answer = answer_for_reader(call, given, bill, call.env)
    if call.recorder is None or not (answer.withheld or answer.is_kept or call.request.spill == "always"):
        return answer
    try:
        call.recorder.commit(call.record_of(given.captured, answer), answer.indexes)
        notices = call.recorder.notices
        if not notices:
            return answer
    except StoreError as error:
        notices = (Notice("NOT_STORED", f"the output was not stored: {error}"),)
        # The answer must not name a handle that is not stored.
        call = call.but(recorder=None)
    return answer_for_reader(call, given.but(notices=given.notices + notices), bill, call.env)


def answer_for_reader(call: Call | ShowCall, given: Input, bill: Bill, env: Environment) -> Answer:
    """Make the answer for what reads it: an agent that escapes it, or a terminal that shows a part of it.

    If a terminal shows only a part of the output, the answer restores its modes.
    """

    def smaller(limit: int) -> Answer:
        return make_answer_from(call.but(request=call.request.but(token_limit=limit)), given, bill)

    answer = make_answer_from(call, given, bill)
    if env.frame and env.frame.is_json and call.request.token_limit:
        from tokcap.steps.framing import fit_as_json

        return fit_as_json(answer, call.request.token_limit, call.tokenizer, smaller)
    is_partial = answer.withheld or (given.ending is not None and given.ending.signal is not None)
    if not is_partial or not answer.may_change_screen:
        return answer
    from tokcap.steps.proof import Proof
    from tokcap.steps.terminal_resets import with_resets

    return with_resets(answer, call.request, Proof(call.tokenizer, given.passed), env, smaller)


def pay(
    answer: Answer, call: Call | ShowCall, given: Input, bill: Bill, kind: str, env: Environment
) -> Answer:
    """Charge the session before the answer is written: a call that is killed in between has paid for it.

    If charging fails, the answer has to say so.
    """
    problem = bill.settle(answer, call.request, kind)
    if not problem:
        return answer
    kept = tuple(notice for notice in answer.response.notices if notice.code in ("NOT_STORED", "NOT_SHARED"))
    if isinstance(call, Call) and any(notice.code == "NOT_STORED" for notice in kept):
        call = call.but(recorder=None)
    return answer_for_reader(call, given.but(notices=given.notices + kept + problem), bill, env)


def make_answer_from(call: Call | ShowCall, given: Input, bill: Bill) -> Answer:
    """Make the answer. After the command has run, a failure leads to a simpler attempt, not to an error."""
    view: View = call.request
    tokenizer = call.tokenizer
    while True:
        try:
            if certainly_fits(view, given, tokenizer):
                everything = answer_with_everything(given)
                if call.always_names_handle:
                    continuation = call.continuation(needs_handle=False)
                    everything = with_words(name_handle(everything, continuation), given, view)
                return bill.complete(everything)
            from tokcap.steps.examination import examine

            examined = examine(view, given, tokenizer)
            continuation = call.continuation(needs_handle=may_withhold(view, examined))
            answer = make_answer(view, examined, continuation)
            if bill.charge is None or not FORMS[view.output].has_envelope:
                return bill.complete(answer)
            from tokcap.steps.fitting import fit_answer

            return fit_answer(answer, view, examined, continuation, bill, bill.charge)
        except Exception as error:
            free_memory(error)
            from tokcap.steps.rescue import Attempt, rescue

            next_step = rescue(Attempt(view, given, tokenizer), error)
            if not isinstance(next_step, Attempt):
                return bill.complete(next_step)
            view, given, tokenizer = next_step.view, next_step.given, next_step.tokenizer


def unread(ending: Ending) -> Done:
    """Return the result of a shell whose output nobody reads: as without tokcap, only its end is left."""
    from tokcap.core.response import Meta, Response

    return Done(ending.status, Response(ending.status, None, None, (), Meta(signal=ending.signal)))


def finish(
    response: Response,
    failure: StreamError | ReaderGone | None,
    env: Environment,
    errors: Sequence[StreamError | ReaderGone | None],
) -> Done:
    """Report stream errors. A failed write decides the exit status, unless the command failed as well."""
    for error in errors:
        if isinstance(error, StreamError):
            env.tell(str(error))
    if failure and response.status in (OK, READER_GONE):
        return Done(failure.exit_status, response)
    return Done(response.status, response)
