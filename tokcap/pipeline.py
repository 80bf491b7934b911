"""The whole flow of one call, top to bottom. Every step is a module; this is their order.

run:   open -> capture -> examine -> reserve a handle -> fit the answer -> store -> pay -> deliver
show:  open a stored output -> examine -> fit the answer -> pay -> deliver
"""

from __future__ import annotations

from tokcap.core.response import Notice
from tokcap.errors import StoreError, StreamError
from tokcap.exits import OK, READER_GONE
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import answer_with_everything, certainly_fits, may_withhold
from tokcap.steps.capture import capture
from tokcap.steps.delivery import (
    deliver,
    note_run,
    note_show,
    report_passed_output,
    unreported,
)
from tokcap.steps.destinations import may_repeat, open_destinations
from tokcap.steps.fitting import Bill, fit_answer
from tokcap.steps.opening import Call, Closing, open_call, open_source
from tokcap.system.shortage import free_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokcap.core.payload import Source, Spool
    from tokcap.core.request import Request, ShowRequest, View, WaitRequest
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.errors import ReaderGone, TokcapError
    from tokcap.exits import Ending
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Input, RunInput
    from tokcap.steps.rescue import Attempt
    from tokcap.steps.stored_input import ShowCall


class Done(Record):
    """The result of a call: its exit status, and the response that was written."""

    status: int
    response: Response
    # What was written to stderr in text form, tokcap's own words included.
    stderr: bytes = b""


def run(
    asked: Request,
    env: Environment,
    open_source: Callable[[Request, Environment], Source] = open_source,
    more_notices: Callable[[Call, Spool | None], tuple[Notice, ...]] | None = None,
) -> Done:
    """Run a command or read another source, and answer. Refusals are raised before anything runs."""
    with Closing() as closing:
        call = open_call(asked, env, closing)
        source = closing.add(open_source(call.request, env))
        if call.charge:
            # Not before: the command is started by a fork, and this may start a thread.
            call.charge.keep_lease()
        destinations = open_destinations(call, source, closing)
        captured = capture(source, destinations.sinks)
        if call.recorder:
            call.recorder.status = captured.status
        if captured.ending and captured.ending.unread:
            return unread(captured.ending)
        has_error = FORMS[call.request.output].has_envelope
        notices = destinations.notices + call.notices + captured.notices(has_error=has_error)
        if more_notices:
            notices += more_notices(call, destinations.out.spool)
        if destinations.out.is_out:
            # There is nothing left to answer.
            response = report_passed_output(call, destinations, captured, notices)
            return finish(response, captured.failure, env, (captured.broken, captured.failure))
        given = destinations.as_input(captured, notices)
        bill = Bill(
            call.paying, call.tokenizer, call.stopwatch, env, destinations.tokens_passed(), given.passed
        )
        answer = pay(answer_and_store(call, given, bill), call, given, bill)
        if destinations.progress:
            destinations.progress.end()
        delivered = deliver(answer, given, call.request, env)
        failure = delivered.failure or captured.failure
        if answer.showing and call.paying and not failure:
            call.paying.note_shown(answer.showing)
        note_run(asked, call.tokenizer, answer, given, failure, env)
        done = finish(delivered.response, failure, env, unreported(captured, delivered, call.request))
        return done.replace(stderr=answer.all_stderr)


def show(asked: ShowRequest, env: Environment) -> Done:
    """Answer from a stored output. The command does not run again, and no output is stored."""
    from tokcap.steps.stored_input import open_show

    with Closing() as closing:
        call = open_show(asked, env, closing)
        bill = Bill(call.paying, call.tokenizer, call.stopwatch, env)
        answer = pay(answer_for(call, call.given, bill), call, call.given, bill)
        delivered = deliver(answer, call.given, call.request, env)
        call.save_findings(answer)
        note_show(call.request, call.tokenizer, answer, call.stored, delivered.failure, env)
        return finish(delivered.response, delivered.failure, env, (delivered.failure,))


def wait(asked: WaitRequest, env: Environment) -> Done:
    """Wait for a running command, and answer with what is new to this reader."""
    from tokcap.steps.waiting import open_wait

    with Closing() as closing:
        waited = open_wait(asked, env, closing)
        bill = Bill(waited.paying, waited.tokenizer, waited.stopwatch, env)
        for call in waited.attempts():
            answer = answer_for(call, call.given, bill)
            if not answer.withheld:
                break
        answer = pay(answer, call, call.given, bill)
        delivered = deliver(answer, call.given, call.request, env)
        if not delivered.failure:
            call.save_place()
        # Its positions are not those of the stored output.
        answer = answer.replace(indexes={})
        note_show(call.request, call.tokenizer, answer, call.stored, delivered.failure, env)
        return finish(delivered.response, delivered.failure, env, (delivered.failure,))


def answer_and_store(call: Call, given: RunInput, bill: Bill) -> Answer:
    """Make the answer, and store what it withholds before the answer shows the handle."""
    answer = answer_for(call, given, bill)
    if may_repeat(call.request):
        from tokcap.steps.repeats import answer_repeat

        try:
            answer = answer_repeat(answer, call, given, bill)
        except Exception as error:
            from tokcap.steps.rescue import repeat_failed

            given = given.replace(notices=(*given.notices, repeat_failed(error)))
            answer = answer_for(call, given, bill)
    is_kept = answer.withheld or answer.is_kept or call.request.spill == "always"
    if call.recorder is None or not (is_kept or call.recorder.is_read):
        return answer
    try:
        call.recorder.commit(call.record_of(given.captured, answer), answer.indexes)
        notices = call.recorder.notices
        if not notices:
            return answer
    except StoreError as error:
        notices = (Notice("NOT_STORED", f"the output was not stored: {error}"),)
        # The answer must not name a handle that is not stored.
        call = call.replace(recorder=None)
    return answer_for(call, given.replace(notices=given.notices + notices), bill)


def pay(answer: Answer, call: Call | ShowCall, given: Input, bill: Bill) -> Answer:
    """Charge the session before the answer is written: a call that is killed in between has paid for it.

    If charging fails, the answer has to say so.
    """
    problem = bill.settle(answer, call.request)
    if not problem:
        return answer
    kept = tuple(notice for notice in answer.response.notices if notice.code in ("NOT_STORED", "NOT_SHARED"))
    if isinstance(call, Call) and any(notice.code == "NOT_STORED" for notice in kept):
        call = call.replace(recorder=None)
    return bill.amended(
        answer_for(call, given.replace(notices=given.notices + kept + problem), bill), call.request
    )


def answer_for(call: Call | ShowCall, given: Input, bill: Bill) -> Answer:
    """Make the answer. After the command has run, a failure leads to a simpler attempt, not to an error."""
    attempt: Attempt | None = None
    while True:
        try:
            if attempt:
                return answer_within(call, attempt.view, attempt.given, attempt.tokenizer, bill)
            return answer_within(call, call.request, given, call.tokenizer, bill)
        except Exception as error:
            free_memory(error)
            from tokcap.steps.rescue import Attempt, rescue

            following = rescue(attempt or Attempt(call.request, given, call.tokenizer), error)
            if not isinstance(following, Attempt):
                return bill.complete(following, call.request)
            attempt = following


def answer_within(
    call: Call | ShowCall, view: View, given: Input, tokenizer: Tokenizer, bill: Bill
) -> Answer:
    """Make the answer within its limit. An output that certainly fits is not counted."""
    if certainly_fits(view, given, tokenizer, call.env.frame):
        continuation = call.continuation(needs_handle=False) if call.always_names_handle else None
        return bill.complete(answer_with_everything(view, given, continuation), view)
    from tokcap.steps.examination import examine, mode_for

    examined = examine(view, given, tokenizer)
    if (mode := mode_for(view, examined)) != view.mode:
        view, call = view.replace(mode=mode), call.replace(request=call.request.replace(mode=mode))
    continuation = call.continuation(needs_handle=may_withhold(view, examined, call.env.frame))
    return fit_answer(view, examined, continuation, bill)


def unread(ending: Ending) -> Done:
    """Return the result of a shell whose output nobody reads: as without tokcap, only its end is left."""
    from tokcap.core.response import Meta, Response

    return Done(ending.status, Response(ending.status, None, None, (), Meta(signal=ending.signal)))


def finish(
    response: Response,
    failure: StreamError | ReaderGone | None,
    env: Environment,
    errors: Sequence[TokcapError | None],
) -> Done:
    """Report stream errors. A failed write decides the exit status, unless the command failed as well."""
    for error in errors:
        if isinstance(error, StreamError):
            env.tell(str(error))
    if failure and response.status in (OK, READER_GONE):
        return Done(failure.exit_status, response)
    return Done(response.status, response)
