"""Decide where each stream of a run goes: kept, passed on, or both; and through which filters.

A call has one plan: everything passes through, or stdout is held, or both streams are held, or both are held
while what is certain to be shown passes. The plan makes the destinations, and nobody asks again.
"""

from __future__ import annotations

from tokcap.core.payload import Spool
from tokcap.core.request import AUTO, STDERR_SHARE, Request
from tokcap.environment import PROGRAM
from tokcap.filters import chain, notices_of
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK, MODES
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.capture import Filtered, Passed, Passing, RunInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from tokcap.core.payload import Sink, Source
    from tokcap.core.request import Stream
    from tokcap.core.response import Notice
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.filters import StreamFilter
    from tokcap.steps.capture import Captured
    from tokcap.steps.live import Meter, Write, WriteOrder
    from tokcap.steps.opening import Call, Closing
    from tokcap.steps.progress import TerminalProgress

    class Destination(Sink, Protocol):
        """Where one stream goes."""

        # Whether everything is passed on as it comes, and nothing is left for the answer.
        is_out: bool
        # Bytes that are already written: all of them, or the beginning.
        passed: int
        # tokcap's own line after them.
        words: bytes

        @property
        def spool(self) -> Spool | None:
            """Where all bytes are kept; None if they are not."""
            ...

        @property
        def tail(self) -> bytes:
            """The last bytes, even if the others were not kept."""
            ...

        def close(self) -> None: ...

    # A destination, and what writes to its descriptor.
    Pipe = tuple[Destination, Write]
    Live = tuple[Destination, Destination, WriteOrder | None]


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
# From this limit on, a line may name the way to what is written while the command runs.
ROOMY_LIMIT = 160
# The most tokens of that line.
WAY_TOKENS = 24
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
    def notices(self) -> tuple[Notice, ...]:
        """Return what the filters found."""
        return notices_of(*self.filters.values())

    def as_input(self, captured: Captured, notices: tuple[Notice, ...]) -> RunInput:
        """Return what was kept, for the answer."""
        assert self.out.spool is not None, "stdout is kept unless everything is out"
        together = bytes(self.order.together) if self.order else b""
        return RunInput(
            self.out.spool,
            None if self.err.is_out else self.err.spool,
            err_to_summarize=self.err.spool,
            ending=captured.ending,
            notices=notices,
            passed=Passed(self.out.passed, self.err.passed, together, self.out.words),
            captured=captured,
            err_tail=self.err.tail,
        )

    def tokens_passed(self) -> int:
        """Return what a session pays for streams that are out and are not part of the answer."""
        return self.meter.tokens_written() if self.meter and self.err.is_out else 0


class Through:
    """Everything is passed on as it comes: nothing limits or changes it. The base of all plans."""

    # Whether something may be written before the answer.
    writes_early = True

    def stdout(self, call: Call, write: Write) -> Destination:
        recorder = call.recorder
        is_stored = recorder and call.request.spill == "always"
        return Passing(write, recorder.spool("out", whole=False) if recorder and is_stored else None)

    def stderr(self, call: Call, write: Write) -> Destination:
        return passing_stderr(call, write, is_stored=call.request.spill == "always")

    def live(self, call: Call, out: Pipe, err: Pipe, *, resets: bool) -> Live:
        return out[0], err[0], None


class HeldStdout(Through):
    """stdout is kept for the answer. No limit covers stderr, which is passed on as it comes."""

    def stdout(self, call: Call, write: Write) -> Destination:
        # A window at the start of a text needs no more of it than the store keeps.
        whole = not shows_beginning_of_text(call.request)
        return call.recorder.spool("out", whole=whole) if call.recorder else Spool()

    def stderr(self, call: Call, write: Write) -> Destination:
        return passing_stderr(call, write, is_stored=True)


class Held(HeldStdout):
    """Both streams are kept for the answer."""

    writes_early = False

    def stderr(self, call: Call, write: Write) -> Destination:
        return call.recorder.spool("err", whole=True) if call.recorder else Spool()


class HeldAndLive(Held):
    """Both streams are kept. What is certain to be shown is passed on while it arrives.

    If that cannot be certain before the end, only prompts and the beginning of a long run are passed on.
    """

    writes_early = True

    def live(self, call: Call, out: Pipe, err: Pipe, *, resets: bool) -> Live:
        """Return both destinations. `resets`: a terminal shows them, where modes may have to be undone."""
        from tokcap.shapes.beginning import certainly_text
        from tokcap.steps.live import LiveSink, Room, WriteOrder

        request, keep = call.request, KEEPS[call.request.keep]
        has_envelope = FORMS[request.output].has_envelope
        rooms = rooms_of(call, resets=resets)
        is_window = shows_beginning_of_text(request) and keep.reads_only_head
        is_window = is_window and not (request.token_offset or has_envelope)
        out_room, err_room = rooms.out, rooms.err
        out_prompt = rooms.out_prompt
        if is_window:
            out_prompt = max(out_prompt, out_room)
        elif request.as_shell and keep.needs_head:
            # Who calls a shell may poll it, or kill it before it ends. The rest of the limit is for what
            # matters in the whole output.
            out_room = min(out_room, rooms.limit // LATE_SHARE - WAY_TOKENS)
        else:
            out_room = err_room = 0
        order, recorder = WriteOrder(call.tokenizer), call.recorder

        def way_on(byte: int) -> str:
            name = recorder.name if recorder else ""
            return f"{call.env.reader.name} wait {name} --since {byte}" if name else ""

        is_text = always if request.shape == FALLBACK else certainly_text
        kept_out, write_out = out
        kept_err, write_err = err
        assert kept_out.spool is not None
        assert kept_err.spool is not None
        is_whole = not (request.fields or request.token_offset or has_envelope)
        # If something of stdout is passed on, the answer shows stdout as text.
        if keep.shows_prompts and is_whole and is_text_wanted(request):
            kept_out = LiveSink(
                kept_out.spool,
                write_out,
                call.tokenizer,
                is_text,
                order,
                room=Room(out_room, out_room),
                prompt_room=Room(out_prompt, out_prompt, certainly=False),
                is_late=not is_window,
                way_on=way_on if request.as_shell and rooms.limit >= ROOMY_LIMIT else None,
            )
        else:
            out_prompt = 0
        live_err = LiveSink(
            kept_err.spool,
            write_err,
            call.tokenizer,
            always,
            order,
            room=Room(err_room, out_room + err_room),
            prompt_room=Room(
                rooms.err_prompt, min(out_prompt + rooms.err_prompt, rooms.prompts), certainly=False
            ),
            is_late=not is_window,
        )
        return kept_out, live_err, order


def plan_of(call: Call) -> Through:
    """Return what becomes of the streams of this call."""
    request = call.request
    if passes_through(request):
        return Through()
    if may_repeat(request):
        # The answer depends on what was shown before: nothing is passed on until it is known.
        return Held()
    if request.token_limit is None:
        return HeldStdout()
    if request.token_count:
        return Held()
    return HeldAndLive() if MODES[request.mode].shows_payload else Held()


def passes_through(request: Request) -> bool:
    """Return whether nothing of an output is left out or changed: then it is passed on as it comes."""
    changed = request.token_limit or request.token_offset or request.token_count or request.fields
    return (
        not changed
        and not may_repeat(request)
        and MODES[request.mode].shows_payload
        and not FORMS[request.output].has_envelope
    )


def open_destinations(call: Call, source: Source, closing: Closing) -> Destinations:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    request, plan = call.request, plan_of(call)
    # Who calls a shell reads what it writes, even from a terminal.
    progress = None if request.as_shell else open_progress(call.env, closing)
    # The progress line erases itself before anything is written.
    writer = progress or call.env
    write_out: Write = writer.write_stdout
    write_err: Write = writer.write_stderr
    write_words: Write = call.env.write_words
    meter = None
    if call.paying and plan.writes_early:
        from tokcap.steps.live import Meter

        meter = closing.add(Meter(call.paying, call.tokenizer, announces=call.env.is_program))
        (write_out,) = meter.counting(write_out)
        write_counted_err, write_words = meter.counting(write_err, write_words)
        # With `pass`, the command's stderr is neither limited nor counted.
        write_err = write_err if request.stderr == "pass" else write_counted_err
    kept_out, kept_err = closing.add(plan.stdout(call, write_out)), closing.add(plan.stderr(call, write_err))
    if call.recorder:
        closing.add(call.recorder)
    resets = progress is not None
    out, err, order = plan.live(call, (kept_out, write_out), (kept_err, write_err), resets=resets)
    stdout = until_full(out, request, call.tokenizer, source)
    if progress and out.spool and not out.is_out and request.stderr != "pass":
        progress.start(out.spool)
    given = call.env.variables if call.env.command_variables is None else call.env.command_variables
    streams: tuple[Stream, ...] = ("out", "err")
    filters = {stream: chain(request, given) for stream in streams}
    sinks: Mapping[Stream, Sink] = {
        "out": filtered(stdout, filters["out"]),
        "err": filtered(err, filters["err"]),
    }
    return Destinations(out, err, sinks, filters, progress, write_words, meter, order)


def open_progress(env: Environment, closing: Closing) -> TerminalProgress | None:
    """Return a progress line if stderr is a terminal. Most calls have none, and do not load it."""
    if not env.is_terminal(env.stderr):
        return None
    from tokcap.steps.progress import TerminalProgress

    return closing.add(TerminalProgress(env))


def passing_stderr(call: Call, write: Write, *, is_stored: bool) -> Passing:
    """Return what passes stderr on, and keeps it if it is stored."""
    if call.recorder and is_stored and call.request.stderr == "separate":
        return Passing(write, call.recorder.spool("err", whole=False))
    return Passing(write)


def may_repeat(request: Request) -> bool:
    """Return whether the answer depends on what was shown before."""
    return request.repeat != Request.repeat


def is_text_wanted(request: Request) -> bool:
    return request.shape in (AUTO, FALLBACK)


def shows_beginning_of_text(request: Request) -> bool:
    """Return whether the answer is a window of text that the end of the output does not change."""
    return (
        request.token_limit is not None
        and KEEPS[request.keep].reads_only_head
        and MODES[request.mode].shows_payload
        and not (request.fields or request.token_count or request.exact_total)
        and is_text_wanted(request)
    )


class Rooms(Record):
    """How many tokens of a limit each stream may pass on: at any time, and as a prompt."""

    limit: int
    out: int
    err: int
    out_prompt: int
    err_prompt: int
    # Prompts on both streams.
    prompts: int


def rooms_of(call: Call, *, resets: bool) -> Rooms:
    """Return what a limit leaves for each stream beside its mark and the other stream."""
    request, limit = call.request, call.request.token_limit
    assert limit is not None
    limit = min(limit, request.limit_if_cut or limit)
    if call.env.frame and call.env.frame.as_json:
        # What is passed on costs more in its frame: often twice as much, rarely more.
        limit //= 2
    mark = MARK_TOKENS + tokens_of_words(request.sentinel)
    if call.env.reader.name != PROGRAM:
        mark += tokens_of_words(call.env.reader.name)
    if request.tokenizer != request.defaults()["tokenizer"]:
        mark += tokens_of_words(request.tokenizer)
    has_stderr = bool(request.command) and request.stderr == "separate"
    share = -(-limit // STDERR_SHARE) if has_stderr else 0
    # stderr that is too long keeps both ends. What is passed on has to be part of the first one.
    out, err = limit - share - mark, share // 2 - mark
    if resets:
        out -= min(RESET_TOKENS, max(out, 0) // 2)
    # A program that waits has written little else: a banner may take most of one half.
    err_prompt = max(err, share // 2, min(limit // PROMPT_SHARE, PROMPT_TOKENS), (limit - mark) // 2)
    form = FORMS[request.output]
    if form.has_envelope:
        # The smallest envelope has to fit beside it.
        err_prompt = min(err_prompt, limit - form.least_tokens)
    out_prompt = max(min(limit // 2, limit - mark), limit // PROMPT_SHARE)
    return Rooms(limit, out, err, out_prompt, err_prompt, max(limit - mark, limit // 2))


def tokens_of_words(words: str) -> int:
    """Return how many tokens words in a mark have at most: they have two bytes or more each."""
    return -(-len(words.encode()) // 2)


def always(_beginning: bytes) -> bool:
    return True


def filtered(sink: Sink, filters: Sequence[StreamFilter]) -> Sink:
    """Return a sink that passes what is written through the filters, in their order."""
    for one in reversed(filters):
        sink = Filtered(one, sink)
    return sink


def until_full(sink: Sink, request: Request, tokenizer: Tokenizer, source: Source) -> Sink:
    """With `--kill-on-limit`: stop the command when there is more than the window can show."""
    if not request.kill_on_limit or request.token_limit is None or request.token_count:
        return sink
    if not (KEEPS[request.keep].reads_only_head and MODES[request.mode].shows_payload):
        return sink
    from tokcap.steps.live import UntilFull

    return UntilFull(sink, tokenizer, request.token_offset + request.token_limit, source.limit_reached)
