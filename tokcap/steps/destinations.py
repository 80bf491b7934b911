"""Decide where each stream of a run goes: kept, passed on, or both; and through which filters."""

from __future__ import annotations

import os

from tokcap.core.cut import STDERR_SHARE
from tokcap.core.request import AUTO
from tokcap.core.spool import Spool
from tokcap.errors import TokenizerFailed
from tokcap.filters import chain, notices_of
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES
from tokcap.steps.capture import Filtered, Passing
from tokcap.steps.inputs import RunInput
from tokcap.tokens import Index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol, TypeAlias

    from tokcap.core.notice import Notice
    from tokcap.core.payload import Sink, Source
    from tokcap.core.request import Request, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.filters.base import StreamFilter
    from tokcap.steps.capture import Captured
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

    # Writes to both streams: the environment, or the progress line, which erases itself first.
    Writer: TypeAlias = TerminalProgress | Environment

# The most tokens of a mark, without the sentinel text and without options in its command.
MARK_TOKENS = 64


class Destinations(Record):
    """Both streams of a run."""

    out: Destination
    err: Destination
    # What the source writes to: the filters of each stream, which write to its destination.
    sinks: Mapping[Stream, Sink]
    filters: Mapping[Stream, Sequence[StreamFilter]]
    # None if there is no terminal to draw on.
    progress: TerminalProgress | None

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
            out_passed=self.out.passed,
            err_passed=self.err.passed,
            captured=captured,
            err_tail=self.err.tail,
        )

    def tokens_passed(self, call: Call) -> int:
        """Return what a session pays for output that was passed on and kept to be counted."""
        if call.paying is None:
            return 0
        kept = [place.spool for place in (self.out, self.err) if place.is_out and place.spool]
        try:
            return sum(Index(spool, call.tokenizer).total_tokens for spool in kept)
        except TokenizerFailed:
            # There are never fewer bytes than tokens.
            return sum(spool.size for spool in kept)


def open_destinations(call: Call, source: Source, closing: Closing) -> Destinations:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    request = call.request
    progress = open_progress(call.env, closing)
    writer = progress or call.env
    out, err = closing.add(open_stdout(call)), closing.add(open_stderr(call, writer))
    if call.recorder:
        closing.add(call.recorder)
    kept = None if out.is_out else out.spool
    if may_pass_live(call):
        out, err = passed_live(call, writer, out, err)
    filters: Mapping[Stream, Sequence[StreamFilter]] = {"out": chain(request), "err": chain(request)}
    sinks: Mapping[Stream, Sink] = {
        "out": filtered(until_full(out, request, call.tokenizer, source), filters["out"]),
        "err": filtered(err, filters["err"]),
    }
    if progress and kept and request.stderr != "pass":
        progress.start(lambda: kept.size)
    return Destinations(out, err, sinks, filters, progress)


def open_progress(env: Environment, closing: Closing) -> TerminalProgress | None:
    """Return a progress line if stderr is a terminal. Most calls have none, and do not load it."""
    if env.stderr in env.closed or not env.is_program or not os.isatty(env.stderr):
        return None
    from tokcap.steps.progress import TerminalProgress

    return closing.add(TerminalProgress(env))


def open_stdout(call: Call) -> Destination:
    request, recorder, env = call.request, call.recorder, call.env
    tracked = call.paying is not None
    if not passes_everything(request):
        # A window at the start of a text needs no more of it than the store keeps.
        return recorder.spool("out", whole=not shows_beginning_of_text(call)) if recorder else Spool()
    if recorder and request.spill == "always":
        return Passing(env.write_stdout, recorder.spool("out", whole=tracked))
    return Passing(env.write_stdout, Spool() if tracked else None)


def open_stderr(call: Call, writer: Writer) -> Destination:
    request, recorder = call.request, call.recorder
    tracked = call.paying is not None
    if is_capped(call):
        return recorder.spool("err", whole=True) if recorder else Spool()
    # Not part of the answer: passed on, and kept if it is stored or paid for.
    if request.stderr == "separate":
        if recorder and (request.spill == "always" or not passes_everything(request)):
            return Passing(writer.write_stderr, recorder.spool("err", whole=tracked))
        if tracked:
            return Passing(writer.write_stderr, Spool())
    return Passing(writer.write_stderr)


def passes_everything(request: Request) -> bool:
    """Return whether nothing of an output is left out or changed: then it is passed on at once."""
    changed = request.token_limit or request.token_offset or request.token_count or request.fields
    return not changed and MODES[request.mode].shows_payload and not FORMS[request.output].has_envelope


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
    )


def passed_live(
    call: Call, writer: Writer, out: Destination, err: Destination
) -> tuple[Destination, Destination]:
    """Pass on what is certain to be inside the window while it arrives."""
    from tokcap.shapes.beginning import certainly_text
    from tokcap.steps.live import Live

    request = call.request
    assert request.token_limit is not None
    assert out.spool is not None
    assert err.spool is not None
    mark = MARK_TOKENS + len(request.sentinel.encode()) + len(request.tokenizer) // 2
    has_stderr = bool(request.command) and request.stderr == "separate"
    share = -(-request.token_limit // STDERR_SHARE) if has_stderr else 0
    is_text = (lambda _: True) if request.shape == FALLBACK else certainly_text
    room = request.token_limit - share - mark
    return (
        Live(out.spool, writer.write_stdout, call.tokenizer, room, is_text),
        # stderr that is too long keeps both ends. What is passed on has to be part of the first one.
        Live(err.spool, writer.write_stderr, call.tokenizer, share // 2 - mark, lambda _: True),
    )


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
