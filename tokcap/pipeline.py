"""The whole flow of one call, top to bottom. Every step is a module, and this is the order they come in.

run:   Request -> tokenizer, source -> capture -> answer -> store -> deliver -> exit status
show:  ShowRequest -> stored output -> part of it -> answer -> deliver
"""

from __future__ import annotations

from tokcap import exits
from tokcap.core.notice import Notice
from tokcap.errors import ReaderGone, StoreError, StreamError
from tokcap.forms.envelope import Meta, rendered
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps import usage_notes
from tokcap.steps.answer import Streams, Ways, answer, respond
from tokcap.steps.capture import Spool, capture
from tokcap.steps.continuation import capped_notice, readable, remark_on, way_to
from tokcap.steps.destinations import (
    filtered,
    left_to_answer,
    notices_of,
    open_masks,
    open_places,
    passes_everything,
    tokens_passed,
    until_full,
)
from tokcap.steps.fitting import Fitting
from tokcap.steps.progress import Curtain
from tokcap.steps.recording import Keeping
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol, Self, TypeVar

    from tokcap.core.payload import Payload, Sink, Source
    from tokcap.core.request import Request, ShowRequest, Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.forms.envelope import Response
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.steps.charging import Spending
    from tokcap.steps.destinations import Place

    class HasClose(Protocol):
        def close(self) -> None: ...

    Closes = TypeVar("Closes", bound=HasClose)


class Done(Record):
    """What became of a call: its exit status, and the response that was written."""

    status: int
    response: Response


class Call(Record):
    """A run as it is carried out: what was asked for, and what the budget makes of it."""

    asked: Request
    request: Request
    env: Environment
    started: float
    tokenizer: Tokenizer
    spending: Spending | None
    keeping: Keeping | None

    @property
    def is_tracked(self) -> bool:
        """Whether a session pays for it."""
        return bool(self.spending and self.spending.is_tracked)

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.spending.notices if self.spending else ()

    def seconds(self) -> float:
        return self.env.clock() - self.started


def run(
    asked: Request, env: Environment, open_source: Callable[[Request, Environment], Source] | None = None
) -> Done:
    """Answer one call. Refusals are raised before anything has run.

    `open_source`: where bytes come from, if not from the command or from standard input.
    """
    with Closing() as closing:
        call = open_call(asked, env, closing)
        request, keeping = call.request, call.keeping
        source = closing.add_what_closes((open_source or usual_source)(request, env))
        curtain = closing.add_what_closes(Curtain(env))
        out, err = open_places(request, call.tokenizer, env, curtain, keeping, tracked=call.is_tracked)
        for place in (out, err):
            closing.add_what_closes(place)
        if keeping:
            closing.add_what_closes(keeping)
        masks = open_masks(request)
        sinks: dict[Stream, Sink] = {
            "out": filtered(until_full(out, request, call.tokenizer, source), "out", request, masks),
            "err": filtered(err, "err", request, masks),
        }
        if (kept := left_to_answer(out)) and request.stderr != "pass":
            curtain.raise_over(lambda: kept.size)
        captured = capture(source, sinks)
        notices = notices_of(masks) + call.notices + why_it_ended(captured)
        if kept:
            streams = Streams(
                kept,
                left_to_answer(err),
                out_passed=out.passed,
                err_passed=err.passed,
                err_tail=err.tail,
                err_kept=err.spool,
                captured=captured,
                notices=notices,
            )
            response, failure = answer_kept(call, streams, err, curtain)
        else:
            response, failure = conclude_passed(call, out, err, captured, notices), captured.failure
        for error in (captured.broken, failure):
            if isinstance(error, StreamError):
                env.tell(str(error))
        return Done(exit_status(response.status, failure), response)


def show(asked: ShowRequest, env: Environment) -> Done:
    """Answer from a stored output. The command does not run again, and nothing is stored."""
    started = env.clock()
    tokenizer = open_tokenizer(asked.tokenizer)
    from tokcap.steps.stored_input import open_part, save_what_was_learnt
    from tokcap.store import Shelf

    with Closing() as closing:
        entry = closing.add_what_closes(Shelf(env).open(asked.handle, asked.stream))
        # The command that a mark prints has no limit in it: it goes on as the run began.
        request = asked.but(token_limit=asked.token_limit or entry.record.token_limit)
        spending = open_spending(request, env)
        if spending:
            closing.add(spending.release)
            request = spending.adjusted(request)
        part = open_part(entry, request, tokenizer)
        if spending:
            part = part.but(notices=part.notices + spending.notices)
        lost = entry.record.lost_bytes.get(request.stream, 0)
        ways = Ways(
            way_to(entry.handle, request), remark=remark_on(part.size) if lost else "", handle=entry.handle
        )

        def answered(view: ShowRequest) -> Answer:
            found = answer(view, part, tokenizer, lambda: ways)
            return found.with_meta(
                *(Notice("STORE_DAMAGED", message) for message in entry.damage),
                *capped_notice(entry.record.stored_bytes.get(request.stream, 0), lost, found.response.meta),
                handle=entry.handle,
                spill_path=readable(entry.path(request.stream)),
                spill_truncated=True if lost else None,
            )

        fitting = Fitting(spending, tokenizer, lambda: env.clock() - started)
        shown = fitting.fit(request, answered)
        response, failure = deliver(shown, part, request, fitting, "show", env)
        if isinstance(failure, StreamError):
            env.tell(str(failure))
        save_what_was_learnt(entry, request, shown)
        usage_notes.note_show(request, tokenizer, shown, entry, failure, env)
        return Done(exit_status(shown.response.status, failure), response)


class Closing:
    """Calls what has to be called in the end, whatever happens; last added, first called."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def add(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def add_what_closes(self, thing: Closes) -> Closes:
        self._calls.append(thing.close)
        return thing

    def __exit__(self, *_: object) -> None:
        # One that fails keeps no other from being called.
        try:
            while self._calls:
                self._calls.pop()()
        finally:
            if self._calls:
                self.__exit__()


def open_call(asked: Request, env: Environment, closing: Closing) -> Call:
    """Find the tokenizer, and ask the budget. Refuses what cannot be answered."""
    started = env.clock()
    tokenizer = open_tokenizer(asked.tokenizer)
    spending = open_spending(asked, env)
    if spending:
        closing.add(spending.release)
    request = spending.adjusted(asked) if spending else asked
    keeping = None if request.spill == "never" else Keeping(request, tokenizer, env)
    return Call(asked, request, env, started, tokenizer, spending, keeping)


def open_spending(view: View, env: Environment) -> Spending | None:
    """The budget that bounds the answer, if there is one."""
    if not (view.session or view.turn or view.context_window):
        return None
    from tokcap.steps.charging import Spending

    return Spending(view, env)


def usual_source(request: Request, env: Environment) -> Source:
    """The command if there is one, else standard input."""
    if request.command:
        from tokcap.source.command import Command

        return Command(
            request.command,
            request.stderr,
            env,
            timeout_seconds=request.timeout,
            kill_after_seconds=request.kill_after,
            pty=request.pty,
            # Whoever is passed everything is missed as soon as it goes away.
            reader=env.stdout if env.is_program and passes_everything(request) else None,
        )
    from tokcap.source.stdin import StandardInput

    return StandardInput(env, request.timeout)


def answer_kept(
    call: Call, streams: Streams, err: Place, curtain: Curtain
) -> tuple[Response, StreamError | ReaderGone | None]:
    """Answer from what was kept, and write the answer; that may fail."""
    beside = tokens_passed(call.tokenizer, err) if call.is_tracked else 0
    fitting = Fitting(call.spending, call.tokenizer, call.seconds, beside)
    answered = answer_and_store(call, streams, fitting)
    curtain.close()
    response, failure = deliver(answered, streams, call.request, fitting, "run", call.env)
    if streams.captured and failure is None:
        failure = streams.captured.failure
    usage_notes.note_run(call.asked, call.tokenizer, answered, streams, failure, call.env)
    return response, failure


def conclude_passed(
    call: Call, out: Place, err: Place, captured: Captured, notices: tuple[Notice, ...]
) -> Response:
    """Pay for what is out already, store it if that was asked for, and say how it ended."""
    spent = tokens_passed(call.tokenizer, out, err) if call.is_tracked else None
    if call.spending and spent is not None:
        notices += call.spending.settle(spent, "run")
    meta = Meta(round(call.seconds() * 1000), call.tokenizer.name)
    if call.keeping and call.request.spill == "always":
        from tokcap.steps.storing import store_what_was_passed

        meta, told = store_what_was_passed(call.asked, captured, call.keeping, meta)
        notices += told
    call.env.tell_below(b"", warnings_of(notices))
    response = respond(Streams(Spool(), err_tail=err.tail, captured=captured), None, meta, notices)
    exact = spent if call.tokenizer.stable and not captured.failure else None
    size = out.passed + err.passed
    usage_notes.note_passed(call.asked, call.tokenizer, size, response.status, call.env, exact)
    return response


def answer_and_store(call: Call, streams: Streams, fitting: Fitting) -> Answer:
    """The answer, with a handle to all that it withholds: stored before anybody is told of it."""
    request, tokenizer, keeping = call.request, call.tokenizer, call.keeping
    if keeping is None:
        return fitting.fit(request, lambda view: answer(view, streams, tokenizer, Ways))

    # What fits is not stored, and most does.
    def find_ways(view: Request) -> Ways:
        from tokcap.steps.storing import ways_to

        return ways_to(keeping, view)

    keeping.prepare()

    def stored_as(view: Request) -> Answer:
        """The answer as it is if the output is stored, as it will be unless that fails."""
        answered = answer(view, streams, tokenizer, lambda: find_ways(view))
        if not (answered.withheld or request.spill == "always") or not keeping.handle():
            return answered
        stored, lost = keeping.stored_bytes(), keeping.lost_bytes()
        return answered.with_meta(
            *capped_notice(stored["out"], lost["out"], answered.response.meta),
            *capped_notice(stored.get("err", 0), lost.get("err", 0), answered.response.meta, "stderr: "),
            handle=keeping.handle(),
            spill_path=readable(keeping.path()),
            spill_truncated=True if keeping.truncated else None,
        )

    answered = fitting.fit(request, stored_as)
    if request.spill == "auto" and not answered.withheld:
        return answered
    from tokcap.steps.storing import record_of

    try:
        record = record_of(call.asked, streams.captured, answered, answered.response.meta.duration_ms)
        keeping.keep(record, answered.indexes)
        return answered
    except StoreError as error:
        # Nobody may be sent to an entry that is not there.
        notice = Notice("NOT_STORED", f"the output was not stored: {error}")
    streams = streams.but(notices=(*streams.notices, notice))
    return fitting.fit(request, lambda view: answer(view, streams, tokenizer, Ways))


def why_it_ended(captured: Captured) -> tuple[Notice, ...]:
    """That tokcap itself has ended the command, where the answer does not say so otherwise."""
    if captured.ending and captured.ending.stopped_for == "limit":
        message = "the command was ended because the window is full (--kill-on-limit)"
        return (Notice("COMMAND_STOPPED", message, of_the_cut=True),)
    return ()


def deliver(
    answer: Answer,
    streams: Streams,
    view: View,
    fitting: Fitting,
    kind: str,
    env: Environment,
) -> tuple[Response, StreamError | ReaderGone | None]:
    """Charge the answer and write it; to stdout that may fail. In text form, warnings stand on stderr."""
    said = [answer.told] if answer.told else []
    # Before it is out: whoever dies in between has paid too much, and never too little.
    settled = fitting.settle(answer, view, kind)
    said += warnings_of(settled)
    failure = None
    try:
        env.write_stdout(rest_of(rendered(answer.response, view.output), streams.out, streams.out_passed))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(rest_of(answer.stderr, streams.err, streams.err_passed))
    if view.output == "text":
        said += warnings_of(answer.response.notices)
    env.tell_below(answer.stderr, said)
    return answer.response.but(notices=(*answer.response.notices, *settled)), failure


def rest_of(written: bytes, payload: Payload | None, passed: int) -> bytes:
    """What is to be written of an answer whose beginning is out already."""
    if payload is None or not passed:
        return written
    # Were it not its beginning, all of it would still have to come out.
    return written[passed:] if written.startswith(payload.read(0, passed)) else written


def warnings_of(notices: Sequence[Notice]) -> Sequence[str]:
    """The mark speaks of the cut, as far as the limit admits one; more words would break the cap."""
    return [f"warning: {notice.message}" for notice in notices if not notice.of_the_cut]


def exit_status(status: int, failure: StreamError | ReaderGone | None) -> int:
    """The answer's own status, unless it is only tokcap's failure to write it that is left to tell."""
    if failure and status in (exits.OK, exits.READER_GONE):
        return failure.exit_status
    return status
