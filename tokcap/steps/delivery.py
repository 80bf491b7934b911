"""Write an answer to both streams, or report output that was passed through; and note what was shown.

The usage log gets one line. It counts almost nothing: uncounted output is logged in bytes. A failure to log
never fails the call; the line is missing then.
"""

from __future__ import annotations

import os

from tokcap.core.payload import Spool
from tokcap.core.request import AUTO
from tokcap.core.response import Meta, Notice
from tokcap.core.tokenizer import BYTES
from tokcap.errors import ReaderGone, StoreError, StreamError, TokcapError
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import respond
from tokcap.steps.capture import RunInput
from tokcap.tokens import count_bytes
from tokcap.usage import UsageLine, append_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import ParamSpec

    from tokcap.core.cut import Gap
    from tokcap.core.payload import Payload
    from tokcap.core.request import Request, ShowRequest, Stream, View
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured, Input
    from tokcap.steps.destinations import Destinations
    from tokcap.steps.opening import Call
    from tokcap.store.base import StoredOutput, StoredRecord

    Arguments = ParamSpec("Arguments")


# Counting an answer takes a tenth of the time that finding its window took. A larger one is rare, and stays
# uncounted.
LARGEST_COUNTED_BYTES = 256 << 10

STANDARD_INPUT = "(stdin)"
SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "ash", "fish")


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


def unreported(captured: Captured, delivered: Delivered, view: View) -> tuple[TokcapError | None, ...]:
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


def report_passed_output(
    call: Call, destinations: Destinations, captured: Captured, notices: tuple[Notice, ...]
) -> Response:
    """Charge the session, store the output if asked to, and return the response without a payload."""
    out, err = destinations.out, destinations.err
    output_tokens = destinations.tokens_passed() if call.paying else None
    meta = Meta(call.stopwatch.milliseconds, call.tokenizer.name, call.tokenizer.digest or None)
    if call.recorder and call.request.spill == "always":
        try:
            ticket = call.recorder.reserve()
            call.recorder.commit(call.record_of(captured, None), {})
        except StoreError as error:
            notices += (Notice("NOT_STORED", f"the output was not stored: {error}"),)
        else:
            if ticket:
                from tokcap.steps.continuation import continuation_of

                stored = continuation_of(ticket, call.request, call.env.reader, always=True)
                meta = meta.replace(**stored.as_meta())
                notices += stored.notices(None) + call.recorder.notices
    destinations.write_words(words_about(notices, err.tail))
    if call.paying:
        uncharged = call.paying.settle(destinations.tokens_passed())
        destinations.write_words(words_about(uncharged))
        call.paying.amend(destinations.tokens_passed())
        notices += uncharged
    given = RunInput(Spool(), ending=captured.ending, captured=captured, err_tail=err.tail)
    response = respond(given, None, meta, notices)
    exact = output_tokens if call.tokenizer.stable and not captured.failure else None
    size_bytes = out.passed + err.passed
    note_passed(call.asked, call.tokenizer, size_bytes, response.status, call.env, exact)
    return response


def words_about(notices: tuple[Notice, ...], stderr: bytes = b"") -> bytes:
    """Return all warnings in full, for stderr after what was written there. Nothing limits them here."""
    if not notices:
        return b""
    from tokcap.steps.own_words import words_within

    return words_within(notices, (), stderr, None)


def quietly(note: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Call the function only if the usage log is on, and ignore its failures."""

    def noted(*args: Arguments.args, **named: Arguments.kwargs) -> None:
        view: View = args[0]  # type: ignore[assignment]  # the first argument of every function here
        try:
            if view.account:
                note(*args, **named)
        except Exception:  # noqa: S110  # output and exit status matter more than the log
            pass

    return noted


@quietly
def note_run(
    asked: Request,
    tokenizer: Tokenizer,
    answer: Answer,
    given: RunInput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Log a run whose output was answered from what was captured."""
    meta, err = answer.response.meta, given.err
    out_tokens = exact_tokens(answer, given.out.lost, "out", tokenizer)
    err_tokens = exact_tokens(answer, 0, "err", tokenizer) if err and err.size else 0
    is_known = out_tokens is not None and err_tokens is not None
    was_counted = meta.truncated is not None or meta.token_count is not None
    # If the reader closed its end, it is unknown how much it has read.
    is_counted = was_counted and not failure
    size_bytes = given.size + given.out.lost
    line = line_about(asked, tokenizer, answer, size_bytes, is_counted=is_counted).replace(
        program=program_name(asked.command),
        handle=meta.handle,
        total_tokens=(out_tokens or 0) + (err_tokens or 0) if is_known else None,
        estimated_tokens=None if is_known else meta.total_tokens_estimate,
    )
    append_line(line, env.data_dir(), env.now())


@quietly
def note_passed(
    asked: Request, tokenizer: Tokenizer, size_bytes: int, status: int, env: Environment, tokens: int | None
) -> None:
    """Log a run whose output was streamed through. It was counted only if a session paid for it."""
    line = UsageLine(
        kind="run",
        tokenizer=tokenizer.name,
        status=status,
        output_bytes=size_bytes,
        shown_bytes=size_bytes,
        program=program_name(asked.command),
        session=asked.session or None,
        shown_tokens=tokens,
        total_tokens=tokens,
    )
    append_line(line, env.data_dir(), env.now())


@quietly
def note_show(
    asked: ShowRequest,
    tokenizer: Tokenizer,
    answer: Answer,
    stored: StoredOutput,
    failure: StreamError | ReaderGone | None,
    env: Environment,
) -> None:
    """Log that a stored output was read. It is always counted, because it reduces what the run has saved."""
    command = stored.record.command
    size_bytes = stored.streams[asked.stream].size
    line = line_about(asked, tokenizer, answer, size_bytes, is_counted=not failure).replace(
        kind="show",
        # If the store did not record the command, the line of the run has it.
        program=program_name(command) if command else None,
        handle=stored.handle,
    )
    append_line(line, env.data_dir(), env.now())


def line_about(
    asked: View, tokenizer: Tokenizer, answer: Answer, output_bytes: int, *, is_counted: bool
) -> UsageLine:
    """Return what the lines of runs and of `show` both say about an answer."""
    written, written_bytes = answer_as_written(asked.output, answer)
    return UsageLine(
        kind="run",
        tokenizer=tokenizer.name,
        status=answer.response.status,
        output_bytes=output_bytes,
        shown_bytes=written_bytes + len(answer.all_stderr),
        session=asked.session or None,
        shown_tokens=answer_tokens(answer, written, tokenizer) if is_counted else None,
    )


def exact_tokens(answer: Answer, lost_bytes: int, stream: Stream, tokenizer: Tokenizer) -> int | None:
    """Return the tokens of a whole stream; None if it was not counted to its end."""
    index = answer.indexes.get(stream)
    is_exact = index and index.checkpoints.complete and index.tokenizer == tokenizer.name and not lost_bytes
    return index.total_tokens if index and is_exact else None


def answer_as_written(output: str, answer: Answer) -> tuple[bytes | None, int]:
    """Return what was written to stdout, unless it is long, and its size."""
    form, response = FORMS[output], answer.response
    if response.is_long:
        return None, sum(map(len, form.blocks(response)))
    written = form.write(response)
    return written, len(written)


def answer_tokens(answer: Answer, written: bytes | None, tokenizer: Tokenizer) -> int | None:
    """Return what the answer costs its reader on both streams; None if counting it would take long."""
    if written is None or len(written) + len(answer.all_stderr) > LARGEST_COUNTED_BYTES:
        return None
    return count_bytes(written, tokenizer) + count_bytes(answer.all_stderr, tokenizer)


def program_name(command: Sequence[str]) -> str:
    """Return the program without its arguments, which may contain secrets. A shell string becomes `sh -c`."""
    if not command:
        return STANDARD_INPUT
    name = os.path.basename(command[0])
    runs_a_string = name in SHELLS and any(
        word[:1] == "-" and word[:2] != "--" and "c" in word for word in command[1:-1]
    )
    return f"{name} -c" if runs_a_string else name


def record_of(
    request: Request, captured: Captured, answered: Answer | None, duration_ms: int, env: Environment
) -> StoredRecord:
    """Return what is recorded about a run. The recorder adds the handle and the sizes."""
    # Most short outputs are not stored.
    from tokcap.store.base import StoredRecord

    ending = captured.ending
    command = request.command if request.record_arguments and request.command else None
    if command and request.redact:
        from tokcap.filters.redact import redacted_words

        command = redacted_words(command, env.variables)
    indexes = answered.indexes if answered else {}
    totals = {
        stream: index.total_tokens
        for stream, index in indexes.items()
        # After a tokenizer failed, the index counts bytes, not tokens.
        if index.checkpoints.complete and index.tokenizer != BYTES
    }
    # A shape given by the user is not recorded: later calls detect the shape themselves.
    detected = answered if request.shape == AUTO else None
    return StoredRecord(
        shape=detected.shape if detected else AUTO,
        total_count=detected.total_count if detected else None,
        tokens={request.tokenizer: totals} if totals else {},
        token_limit=request.token_limit,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        duration_ms=duration_ms,
        command=command,
        gaps={stream: numbers_of(gaps) for stream, gaps in answered.gaps.items()} if answered else {},
    )


def numbers_of(gaps: Sequence[Gap]) -> Sequence[Sequence[int]]:
    """Return gaps as the record of a stored output has them."""
    return [[gap.line, gap.first, gap.lines or 0, gap.end - gap.first] for gap in gaps if gap.end]
