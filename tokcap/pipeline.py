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
)
from tokcap.steps.capture import capture
from tokcap.steps.delivery import Bill, deliver
from tokcap.steps.destinations import open_destinations
from tokcap.steps.opening import Closing, open_call, open_show, open_source

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, ShowRequest, View
    from tokcap.core.response import Response
    from tokcap.environment import Environment
    from tokcap.errors import ReaderGone
    from tokcap.steps.answer import Answer
    from tokcap.steps.inputs import Input, RunInput
    from tokcap.steps.opening import Call, ShowCall


class Done(Record):
    """The result of a call: its exit status, and the response that was written."""

    status: int
    response: Response


def run(
    asked: Request, env: Environment, open_source: Callable[[Request, Environment], Source] = open_source
) -> Done:
    """Run a command or read another source, and answer. Refusals are raised before anything runs."""
    with Closing() as closing:
        call = open_call(asked, env, closing)
        source = closing.add(open_source(call.request, env))
        destinations = open_destinations(call, source, closing)
        captured = capture(source, destinations.sinks)
        notices = destinations.notices + call.notices + captured.notices
        if destinations.everything_is_out:
            from tokcap.steps.passed_through import report_passed_output

            response = report_passed_output(call, destinations, captured, notices)
            return finish(response, captured.failure, env, captured.broken)
        given = destinations.as_input(captured, notices)
        bill = Bill(call.paying, call.tokenizer, call.stopwatch, destinations.tokens_passed(call))
        answer = answer_and_store(call, given, bill)
        if destinations.progress:
            destinations.progress.close()
        delivered = deliver(answer, given, call.request, bill, "run", env)
        failure = delivered.failure or captured.failure
        usage_notes.note_run(asked, call.tokenizer, answer, given, failure, env)
        return finish(delivered.response, failure, env, captured.broken)


def show(asked: ShowRequest, env: Environment) -> Done:
    """Answer from a stored output. The command does not run again, and no output is stored."""
    with Closing() as closing:
        call = open_show(asked, env, closing)
        bill = Bill(call.paying, call.tokenizer, call.stopwatch)
        answer = make_answer_from(call, call.given, bill)
        delivered = deliver(answer, call.given, call.request, bill, "show", env)
        call.save_findings(answer)
        usage_notes.note_show(call.request, call.tokenizer, answer, call.stored, delivered.failure, env)
        return finish(delivered.response, delivered.failure, env)


def answer_and_store(call: Call, given: RunInput, bill: Bill) -> Answer:
    """Make the answer, and store what it withholds before the answer shows the handle."""
    if call.recorder:
        call.recorder.begin_digest()
    answer = make_answer_from(call, given, bill)
    if call.recorder is None or not (answer.withheld or call.request.spill == "always"):
        return answer
    try:
        call.recorder.commit(call.record_of(given.captured, answer), answer.indexes)
        return answer
    except StoreError as error:
        # The answer must not name a handle that is not stored.
        notice = Notice("NOT_STORED", f"the output was not stored: {error}")
    return make_answer_from(call.but(recorder=None), given.but(notices=(*given.notices, notice)), bill)


def make_answer_from(call: Call | ShowCall, given: Input, bill: Bill) -> Answer:
    """Make the answer. After the command has run, a failure leads to a simpler attempt, not to an error."""
    view: View = call.request
    tokenizer = call.tokenizer
    while True:
        try:
            if certainly_fits(view, given):
                everything = answer_with_everything(given)
                if call.always_names_handle:
                    everything = name_handle(everything, call.continuation(needs_handle=False))
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
            from tokcap.steps.rescue import Attempt, rescue

            next_step = rescue(Attempt(view, given, tokenizer), error)
            if not isinstance(next_step, Attempt):
                return bill.complete(next_step)
            view, given, tokenizer = next_step.view, next_step.given, next_step.tokenizer


def finish(
    response: Response,
    failure: StreamError | ReaderGone | None,
    env: Environment,
    broken: StreamError | None = None,
) -> Done:
    """Report stream errors. A failed write decides the exit status, unless the command failed as well."""
    for error in (broken, failure):
        if isinstance(error, StreamError):
            env.tell(str(error))
    if failure and response.status in (OK, READER_GONE):
        return Done(failure.exit_status, response)
    return Done(response.status, response)
