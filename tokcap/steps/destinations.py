"""Decide where each stream of a run goes: kept, passed on, or both; and through which filters."""

from __future__ import annotations

from tokcap.core.request import AUTO, STDERR_SHARE, Request
from tokcap.core.spool import Spool
from tokcap.environment import PROGRAM
from tokcap.filters import chain, notices_of
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES
from tokcap.steps.capture import Filtered, Passing
from tokcap.steps.inputs import Passed, RunInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Sink, Source
    from tokcap.core.request import Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.filters.base import StreamFilter
    from tokcap.steps.capture import Captured
    from tokcap.steps.live import WriteOrder
    from tokcap.steps.metering import Meter, Write
    from tokcap.steps.opening import Call, Closing
    from tokcap.steps.progress import TerminalProgress

    class Destination(Sink, Protocol):
        """Where one stream goes."""

        # Whether everything is passed on as it comes, and nothing is left for the answer.
        is_out: bool
        # Bytes that are already written: all of them, or the beginning.
        passed: int

        @property
        def spool(self) -> Spool | None:
            """Where all bytes are kept; None if they are not."""
            ...

        @property
        def tail(self) -> bytes:
            """The last bytes, even if the others were not kept."""
            ...

        def close(self) -> None: ...


# The most tokens of a mark, without the sentinel text and without options in its command. A vocabulary that
# takes every digit as a token, an estimate and an incomplete store need the most.
MARK_TOKENS = 48
# At least this part of a limit may be used for what a command has written before it waits for input, even if
# the mark has to be shorter then.
PROMPT_SHARE = 4
# Or at least this many tokens, if stderr has only a few.
PROMPT_TOKENS = 16
# If a command runs long, this part of a limit is used for its beginning.
LATE_SHARE = 4
# The most tokens of what undoes colours and modes of a terminal, except unusual ones.
RESET_TOKENS = 64


class Destinations(Record):
    """Both streams of a run."""

    out: Destination
    err: Destination
    # What the source writes to: the filters of each stream, which write to its destination.
    sinks: Mapping[Stream, Sink]
    filters: Mapping[Stream, Sequence[StreamFilter]]
    # None if there is no terminal to draw on.
    progress: TerminalProgress | None
    # Writes tokcap's own words to stderr; they are paid for even if the command's stderr is not.
    write_words: Write
    # What was written before the answer; None if no session pays.
    meter: Meter | None = None
    # None if nothing is passed on live.
    order: WriteOrder | None = None

    @property
    def everything_is_out(self) -> bool:
        """Whether stdout was passed on as it came: then there is nothing left to answer."""
        return self.out.is_out

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return what the filters found."""
        return notices_of(*self.filters.values())

    def as_input(self, captured: Captured, notices: tuple[Notice, ...]) -> RunInput:
        """Return what was kept, for the answer."""
        assert self.out.spool is not None, "stdout is kept unless everything is out"
        return RunInput(
            self.out.spool,
            None if self.err.is_out else self.err.spool,
            err_to_summarize=self.err.spool,
            ending=captured.ending,
            notices=notices,
            passed=Passed(
                self.out.passed, self.err.passed, bytes(self.order.together) if self.order else b""
            ),
            captured=captured,
            err_tail=self.err.tail,
        )

    def tokens_passed(self) -> int:
        """Return what a session pays for streams that are out and are not part of the answer."""
        return self.meter.tokens_written() if self.meter and self.err.is_out else 0


def open_destinations(call: Call, source: Source, closing: Closing) -> Destinations:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    request = call.request
    # Who calls a shell reads what it writes, even from a terminal.
    progress = None if request.as_shell else open_progress(call.env, closing)
    # The progress line erases itself before anything is written.
    writer = progress or call.env
    meter = open_meter(call, closing)
    write_out: Write = writer.write_stdout
    write_err: Write = writer.write_stderr
    write_words: Write = call.env.write_words
    if meter:
        (write_out,) = meter.counting(write_out)
        write_counted_err, write_words = meter.counting(write_err, write_words)
        # With `pass`, the command's stderr is neither limited nor counted.
        write_err = write_err if request.stderr == "pass" else write_counted_err
    out, err = closing.add(open_stdout(call, write_out)), closing.add(open_stderr(call, write_err))
    if call.recorder:
        closing.add(call.recorder)
    order = None
    if may_pass_prompts(call):
        out, err, order = passed_live(call, write_out, write_err, out, err, resets=progress is not None)
    stdout = until_full(out, request, call.tokenizer, source)
    if progress and not out.is_out and request.stderr != "pass":
        stdout = progress.start(stdout, call.tokenizer)
    filters: Mapping[Stream, Sequence[StreamFilter]] = {"out": chain(request), "err": chain(request)}
    sinks: Mapping[Stream, Sink] = {
        "out": filtered(stdout, filters["out"]),
        "err": filtered(err, filters["err"]),
    }
    return Destinations(out, err, sinks, filters, progress, write_words, meter, order)


def open_meter(call: Call, closing: Closing) -> Meter | None:
    """Return what counts the output that is written before the answer, if a session pays for it."""
    if call.paying is None or (is_held(call) and not may_pass_prompts(call)):
        return None
    from tokcap.steps.metering import Meter

    return closing.add(Meter(call.paying, call.tokenizer, announces=call.env.is_program))


def open_progress(env: Environment, closing: Closing) -> TerminalProgress | None:
    """Return a progress line if stderr is a terminal. Most calls have none, and do not load it."""
    if not env.is_terminal(env.stderr):
        return None
    from tokcap.steps.progress import TerminalProgress

    return closing.add(TerminalProgress(env))


def open_stdout(call: Call, write: Write) -> Destination:
    request, recorder = call.request, call.recorder
    if not passes_everything(request):
        # A window at the start of a text needs no more of it than the store keeps.
        return recorder.spool("out", whole=not shows_beginning_of_text(call)) if recorder else Spool()
    spool = recorder.spool("out", whole=False) if recorder and request.spill == "always" else None
    return Passing(write, spool)


def open_stderr(call: Call, write: Write) -> Destination:
    request, recorder = call.request, call.recorder
    if is_held(call):
        return recorder.spool("err", whole=True) if recorder else Spool()
    # Not part of the answer: passed on, and kept if it is stored.
    is_stored = recorder and (request.spill == "always" or not passes_everything(request))
    if recorder and is_stored and request.stderr == "separate":
        return Passing(write, recorder.spool("err", whole=False))
    return Passing(write)


def passes_everything(request: Request) -> bool:
    """Return whether nothing of an output is left out or changed: then it is passed on at once."""
    changed = request.token_limit or request.token_offset or request.token_count or request.fields
    return (
        not changed
        and not may_repeat(request)
        and MODES[request.mode].shows_payload
        and not FORMS[request.output].has_envelope
    )


def may_repeat(request: Request) -> bool:
    """Return whether the answer depends on what was shown before: nothing is passed on until it is known."""
    return request.repeat != Request.repeat


def is_held(call: Call) -> bool:
    """Return whether both streams are part of the answer, so that stderr is not passed on as it comes."""
    return is_capped(call) or may_repeat(call.request)


def is_capped(call: Call) -> bool:
    """Return whether the limit covers both streams."""
    request = call.request
    # In a session even a count has a limit, which stderr must not break.
    counts_for_free = request.token_count and call.paying is None
    return request.token_limit is not None and not counts_for_free


def shows_beginning_of_text(call: Call) -> bool:
    request = call.request
    return (
        is_capped(call)
        and KEEPS[request.keep].reads_only_head
        and MODES[request.mode].shows_payload
        and not (request.fields or request.token_count or request.exact_total)
        and request.shape in (AUTO, FALLBACK)
    )


def may_pass_live(call: Call) -> bool:
    request = call.request
    return (
        shows_beginning_of_text(call)
        and KEEPS[request.keep].may_pass_live
        and not FORMS[request.output].has_envelope
        and not request.token_offset
        and not may_repeat(request)
    )


def may_pass_prompts(call: Call) -> bool:
    """Return whether something is passed on when the command waits for input: at least of stderr."""
    request = call.request
    # A session pays for the whole envelope. It must be able to take all of the limit.
    is_paid_envelope = FORMS[request.output].has_envelope and call.paying is not None
    return (
        is_capped(call)
        and MODES[request.mode].shows_payload
        and not (request.token_count or is_paid_envelope or may_repeat(request))
    )


def may_pass_prompts_of_stdout(call: Call) -> bool:
    """Return whether stdout may begin with what was passed on. It is shown as text then."""
    request = call.request
    return (
        KEEPS[request.keep].shows_prompts
        and not FORMS[request.output].has_envelope
        and not (request.fields or request.token_offset)
        and request.shape in (AUTO, FALLBACK)
    )


def may_pass_late(call: Call) -> bool:
    """Return whether the beginning is passed on if the command runs long, though more than that is shown.

    Who calls a shell may poll it, or kill it before it ends.
    """
    return call.request.as_shell and KEEPS[call.request.keep].needs_head


def passed_live(
    call: Call, write_out: Write, write_err: Write, out: Destination, err: Destination, *, resets: bool
) -> tuple[Destination, Destination, WriteOrder]:
    """Pass on what is certain to be inside the window while it arrives, or when the command waits for input.

    `resets` says that a terminal shows it, where colours and modes may have to be undone afterwards.
    """
    from tokcap.shapes.beginning import certainly_text
    from tokcap.steps.live import Live, Room, WriteOrder

    request = call.request
    limit = request.token_limit
    assert limit is not None
    if call.env.frame and call.env.frame.is_json:
        # What is passed on costs more in its frame: often twice as much, rarely more.
        limit //= 2
    assert out.spool is not None
    assert err.spool is not None
    mark = MARK_TOKENS + tokens_of_words(request.sentinel)
    if call.env.program != PROGRAM:
        mark += tokens_of_words(call.env.program)
    if request.tokenizer != request.defaults()["tokenizer"]:
        mark += tokens_of_words(request.tokenizer)
    has_stderr = bool(request.command) and request.stderr == "separate"
    share = -(-limit // STDERR_SHARE) if has_stderr else 0
    is_text = (lambda _: True) if request.shape == FALLBACK else certainly_text
    # stderr that is too long keeps both ends. What is passed on has to be part of the first one.
    out_room, err_room = limit - share - mark, share // 2 - mark
    if resets:
        out_room -= min(RESET_TOKENS, max(out_room, 0) // 2)
    out_prompt = max(min(limit // 2, limit - mark), limit // PROMPT_SHARE)
    err_prompt = max(err_room, share // 2, min(limit // PROMPT_SHARE, PROMPT_TOKENS))
    is_late = not may_pass_live(call)
    if not is_late:
        out_prompt = max(out_prompt, out_room)
    elif may_pass_late(call):
        # The rest of the limit is for what matters in the whole output.
        out_room = min(out_room, limit // LATE_SHARE)
    else:
        out_room = err_room = 0
    order = WriteOrder(call.tokenizer)
    if may_pass_prompts_of_stdout(call):
        out = Live(
            out.spool,
            write_out,
            call.tokenizer,
            is_text,
            order,
            room=Room(out_room, out_room),
            prompt_room=Room(out_prompt, out_prompt, certainly=False),
            is_late=is_late,
        )
    else:
        out_prompt = 0
    err = Live(
        err.spool,
        write_err,
        call.tokenizer,
        lambda _: True,
        order,
        room=Room(err_room, out_room + err_room),
        prompt_room=Room(err_prompt, out_prompt + err_prompt, certainly=False),
        is_late=is_late,
    )
    return out, err, order


def tokens_of_words(words: str) -> int:
    """Return how many tokens words in a mark have at most: they have two bytes or more each."""
    return -(-len(words.encode()) // 2)


def filtered(sink: Sink, filters: Sequence[StreamFilter]) -> Sink:
    """Return a sink that passes what is written through the filters, in their order."""
    for one in reversed(filters):
        sink = Filtered(one, sink)
    return sink


def until_full(sink: Sink, request: Request, tokenizer: Tokenizer, source: Source) -> Sink:
    """With `--kill-on-limit`: stop the command when there is more than the window can show."""
    shows_beginning = (
        KEEPS[request.keep].may_stop_early and MODES[request.mode].shows_payload and not request.token_count
    )
    if not request.kill_on_limit or request.token_limit is None or not shows_beginning:
        return sink
    from tokcap.steps.live import UntilFull

    return UntilFull(sink, tokenizer, request.token_offset + request.token_limit, source.limit_reached)
