"""The whole flow of one call, top to bottom. Every step is a module; they meet here and only here.

run:   Request -> tokenizer, source -> capture -> answer -> store -> deliver -> exit status
show:  ShowRequest -> stored output -> part of it -> answer -> deliver
"""

from __future__ import annotations

from tokcap import exits
from tokcap.answer import Streams, Ways, answer, status_of
from tokcap.capture import TAIL_BYTES, Filtered, Passing, PassingAndKeeping, Spool, capture
from tokcap.envelope import rendered
from tokcap.errors import ReaderGone, StoreError, StreamError
from tokcap.keeping import Keeping
from tokcap.options import BY_KEY
from tokcap.record import TYPE_CHECKING
from tokcap.tokens import open_tokenizer
from tokcap.types import Notice, ShowRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from tokcap.answer import Answer
    from tokcap.capture import Captured
    from tokcap.environment import Environment
    from tokcap.redact import Redactor
    from tokcap.store import EntryRecord
    from tokcap.types import Request, Sink, Source, Stream, Tokenizer, View

    # Where a stream goes: kept, passed on, or both.
    Place: TypeAlias = Spool | Passing | PassingAndKeeping


def run(request: Request, env: Environment) -> int:
    """Answer one call and return its exit status. Refusals are raised before anything has run."""
    started = env.clock()
    tokenizer = open_tokenizer(request.tokenizer)
    source = open_source(request, env)
    keeping = None if request.spill == "never" else Keeping(request, env)
    out, err = open_places(request, env, keeping)
    masks = open_masks(request)
    try:
        captured = capture(source, {"out": masked(out, "out", masks), "err": masked(err, "err", masks)})
        failure, status = captured.failure, status_of(captured)
        notices = notices_of(masks)
        if isinstance(out, Spool):
            shown_err = err if isinstance(err, Spool) else None
            streams = Streams(out, shown_err, tail_of(err), captured, notices=notices)
            answered = answer_and_store(request, streams, tokenizer, keeping, env.clock() - started)
            failure = deliver(answered, env.clock() - started, request, env)
            status = answered.response.status
        else:
            if keeping and request.spill == "always":
                notices += store_what_was_passed(request, captured, keeping, env.clock() - started)
            for message in warnings_of(notices):
                env.tell(message)
        for error in (captured.broken, failure):
            if isinstance(error, StreamError):
                env.tell(str(error))
        return exit_status(status, failure)
    finally:
        source.close()
        out.close()
        err.close()
        if keeping:
            keeping.close()


def show(request: ShowRequest, env: Environment) -> int:
    """Answer from a stored output. The command does not run again, and nothing is stored."""
    started = env.clock()
    tokenizer = open_tokenizer(request.tokenizer)
    from tokcap.parts import open_part, save_what_was_learnt
    from tokcap.store import Shelf

    entry = Shelf(env).open(request.handle)
    try:
        # The command that a mark prints has no limit in it: it goes on as the run began.
        request = request.but(token_limit=request.token_limit or entry.record.token_limit)
        part = open_part(entry, request, tokenizer)
        lost = entry.record.lost_bytes.get(request.stream, 0)
        ways = Ways(way_to(entry.handle, request), remark=remark_on(part.size) if lost else "")
        answered = answer(request, part, tokenizer, lambda: ways)
        answered = answered.with_meta(
            *(Notice("STORE_DAMAGED", message) for message in entry.damage),
            *capped_notice(entry.record.stored_bytes.get(request.stream, 0), lost, answered),
            handle=entry.handle,
            spill_path=entry.path(request.stream),
            spill_truncated=True if lost else None,
        )
        failure = deliver(answered, env.clock() - started, request, env)
        if isinstance(failure, StreamError):
            env.tell(str(failure))
        save_what_was_learnt(entry, request.stream, answered)
        return exit_status(answered.response.status, failure)
    finally:
        entry.close()


def open_source(request: Request, env: Environment) -> Source:
    """The command if there is one, else standard input."""
    if request.command:
        from tokcap.source.command import Command

        return Command(request.command, request.stderr, env)
    from tokcap.source.stdin import StandardInput

    return StandardInput(env)


def open_places(request: Request, env: Environment, keeping: Keeping | None) -> tuple[Place, Place]:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    everything = not (request.token_limit or request.token_offset or request.token_count or request.fields)
    if everything and request.output == "text":
        passing = Passing(env.write_stdout)
        kept = keeping.spool("out", whole=False) if keeping and request.spill == "always" else None
        return PassingAndKeeping(passing, kept) if kept else passing, Passing(env.write_stderr)
    capped = request.token_limit is not None and not request.token_count
    # A window at the beginning of a text needs no more of it than the store keeps.
    beginning = capped and request.keep == "head" and not request.fields and request.shape in ("auto", "text")
    out = keeping.spool("out", whole=not beginning) if keeping else Spool()
    if not capped:
        return out, Passing(env.write_stderr)
    return out, keeping.spool("err", whole=True) if keeping else Spool()


def open_masks(request: Request) -> Mapping[Stream, Redactor]:
    """For each stream what masks its secrets, if they are to be masked."""
    if not request.redact:
        return {}
    from tokcap.redact import Redactor

    return {"out": Redactor(), "err": Redactor()}


def masked(place: Place, stream: Stream, masks: Mapping[Stream, Redactor]) -> Sink:
    return Filtered(masks[stream], place) if stream in masks else place


def notices_of(masks: Mapping[Stream, Redactor]) -> tuple[Notice, ...]:
    """What was masked, as a warning."""
    if not masks:
        return ()
    from tokcap.redact import told

    counts: dict[str, int] = {}
    for mask in masks.values():
        for kind, number in mask.masked.items():
            counts[kind] = counts.get(kind, 0) + number
    return (Notice("SECRETS_MASKED", told(counts)),) if counts else ()


def tail_of(place: Place) -> bytes:
    """The end of a stream, whatever became of it."""
    if isinstance(place, Spool):
        return place.read(max(place.size - TAIL_BYTES, 0), place.size)
    return place.tail


def answer_and_store(
    request: Request, streams: Streams, tokenizer: Tokenizer, keeping: Keeping | None, seconds: float
) -> Answer:
    """The answer, with a handle to all that it withholds: stored before anybody is told of it."""
    if keeping is None:
        return answer(request, streams, tokenizer, Ways)

    def ways() -> Ways:
        handle = keeping.handle()
        if not handle:
            return Ways()
        remark = remark_on(keeping.stored_bytes()["out"]) if keeping.lost_bytes()["out"] else ""
        return Ways(way_to(handle, request), way_to(handle, request, "err"), remark)

    answered = answer(request, streams, tokenizer, ways)
    if request.spill == "auto" and not answered.withheld:
        return answered
    try:
        path = keeping.keep(record_of(request, streams.captured, answered, seconds), answered.indexes)
    except StoreError as error:
        # Nobody may be sent to an entry that is not there.
        without = answer(request, streams, tokenizer, Ways)
        return without.with_meta(Notice("NOT_STORED", f"the output was not stored: {error}"))
    stored, lost = keeping.stored_bytes()["out"], keeping.lost_bytes()["out"]
    return answered.with_meta(
        *capped_notice(stored, lost, answered),
        handle=keeping.handle(),
        spill_path=path,
        spill_truncated=True if keeping.truncated else None,
    )


def store_what_was_passed(
    request: Request, captured: Captured, keeping: Keeping, seconds: float
) -> tuple[Notice, ...]:
    """Store an output that is out already, because it was asked for."""
    try:
        keeping.keep(record_of(request, captured, None, seconds), {})
    except StoreError as error:
        return (Notice("NOT_STORED", f"the output was not stored: {error}"),)
    return capped_notice(keeping.stored_bytes()["out"], keeping.lost_bytes()["out"], None)


def record_of(
    request: Request, captured: Captured | None, answered: Answer | None, seconds: float
) -> EntryRecord:
    """What the store writes down of a run."""
    from tokcap.store import EntryRecord

    ending = captured.ending if captured else None
    command = request.command if request.record_arguments and request.command else None
    if command and request.redact:
        from tokcap.redact import redacted_words

        command = redacted_words(command)
    indexes = answered.indexes if answered else {}
    totals = {stream: index.total_tokens for stream, index in indexes.items() if index.checkpoints.complete}
    return EntryRecord(
        shape=answered.shape if answered else "auto",
        total_count=answered.total_count if answered else None,
        tokens={request.tokenizer: totals} if totals else {},
        token_limit=request.token_limit,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        duration_ms=round(seconds * 1000),
        command=command,
    )


def way_to(handle: str, view: View, stream: Stream = "out") -> str:
    """The command that shows the rest of a stored output, with all that its token positions depend on."""
    way = f"tokcap show {handle} --token-offset {{}}"
    wanted = view.but(stream=stream) if isinstance(view, ShowRequest) and stream == "err" else view
    values = {**wanted.__dict__, "stream": wanted.stream if isinstance(wanted, ShowRequest) else stream}
    for key in ("stream", "tokenizer", "shape", "fields", "pointer", "grep", "context"):
        option = BY_KEY[key]
        value = values.get(key, option.default)
        if value != option.default:
            import shlex

            way += f" {option.flag} {shlex.quote(str(value))}"
    return way


def remark_on(stored_bytes: int) -> str:
    return f"only the first {stored_bytes} bytes are stored"


def capped_notice(stored: int, lost: int, answered: Answer | None) -> tuple[Notice, ...]:
    """That the store has not all of it. Where there is a mark in the text, it says so too."""
    if not lost:
        return ()
    marked = (
        answered is not None
        and answered.response.meta.shape == "text"
        and bool(answered.response.meta.truncated)
    )
    message = f"only the first {stored} of {stored + lost} bytes were stored (--max-bytes)"
    return (Notice("SPILL_TRUNCATED", message, of_the_cut=marked),)


def deliver(
    answered: Answer, seconds: float, view: View, env: Environment
) -> StreamError | ReaderGone | None:
    """Write the answer; the one to stdout may fail. In text form, warnings can stand on stderr only."""
    response = answered.response
    response = response.but(meta=response.meta.but(duration_ms=round(seconds * 1000)))
    failure = None
    try:
        env.write_stdout(rendered(response, view.output))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(answered.stderr)
    said = [answered.told] if answered.told else []
    if view.output == "text":
        said += warnings_of(response.notices)
    if said and answered.stderr[-1:] not in (b"", b"\n"):
        env.write_stderr(b"\n")
    for message in said:
        env.tell(message)
    return failure


def warnings_of(notices: Sequence[Notice]) -> Sequence[str]:
    """The mark speaks of the cut, as far as the limit admits one; more words would break the cap."""
    return [f"warning: {notice.message}" for notice in notices if not notice.of_the_cut]


def exit_status(status: int, failure: StreamError | ReaderGone | None) -> int:
    """The answer's own status, unless it is only tokcap's failure to write it that is left to tell."""
    if failure and status in (exits.OK, exits.READER_GONE):
        return failure.exit_status
    return status
