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
from tokcap.tokens import Index, count_bytes, open_tokenizer
from tokcap.types import Notice, ShowRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, Self, TypeAlias, TypeVar

    from tokcap.answer import Answer
    from tokcap.capture import Captured
    from tokcap.environment import Environment
    from tokcap.filters.redact import Redactor
    from tokcap.spending import Spending
    from tokcap.store import EntryRecord
    from tokcap.types import Request, Sink, Source, Stream, Tokenizer, View

    # Where a stream goes: kept, passed on, or both.
    Place: TypeAlias = Spool | Passing | PassingAndKeeping
    AnyView = TypeVar("AnyView", bound=View)

    class HasClose(Protocol):
        def close(self) -> None: ...

    Closes = TypeVar("Closes", bound=HasClose)

# A number in an envelope is part of what it costs, and seldom changes that twice.
ACCOUNT_ATTEMPTS = 5


def run(asked: Request, env: Environment) -> int:
    """Answer one call and return its exit status. Refusals are raised before anything has run."""
    started = env.clock()
    tokenizer = open_tokenizer(asked.tokenizer)
    spending = open_spending(asked, env)
    request = spending.adjusted(asked) if spending else asked
    keeping = None if request.spill == "never" else Keeping(request, env)
    with Closing() as closing:
        if spending:
            closing.add(spending.release)
        source = closing.add_what_closes(open_source(request, env))
        out, err = open_places(request, env, keeping, tracked=bool(spending and spending.is_tracked))
        for place in (out, err, *([keeping] if keeping else [])):
            closing.add_what_closes(place)
        masks = open_masks(request)
        sinks: dict[Stream, Sink] = {
            "out": filtered(out, "out", request, masks),
            "err": filtered(err, "err", request, masks),
        }
        captured = capture(source, sinks)
        failure, status = captured.failure, status_of(captured)
        notices = notices_of(masks) + (spending.notices if spending else ())
        if isinstance(out, Spool):
            shown_err = err if isinstance(err, Spool) else None
            streams = Streams(out, shown_err, tail_of(err), captured, notices=notices)

            def answered(view: Request) -> Answer:
                return answer_and_store(view, asked, streams, tokenizer, keeping, env.clock() - started)

            answer = within_budget(request, answered, spending, tokenizer, started, env)
            failure = deliver(answer, request, spending, tokenizer, "run", env)
            status = answer.response.status
        else:
            if spending:
                notices += spending.settle(tokens_passed(tokenizer, out, err), "run")
            if keeping and request.spill == "always":
                notices += store_what_was_passed(asked, captured, keeping, env.clock() - started)
            for message in warnings_of(notices):
                env.tell(message)
        for error in (captured.broken, failure):
            if isinstance(error, StreamError):
                env.tell(str(error))
        return exit_status(status, failure)


def show(asked: ShowRequest, env: Environment) -> int:
    """Answer from a stored output. The command does not run again, and nothing is stored."""
    started = env.clock()
    tokenizer = open_tokenizer(asked.tokenizer)
    from tokcap.parts import open_part, save_what_was_learnt
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
                *capped_notice(entry.record.stored_bytes.get(request.stream, 0), lost, found),
                handle=entry.handle,
                spill_path=readable(entry.path(request.stream)),
                spill_truncated=True if lost else None,
            )

        shown = within_budget(request, answered, spending, tokenizer, started, env)
        failure = deliver(shown, request, spending, tokenizer, "show", env)
        if isinstance(failure, StreamError):
            env.tell(str(failure))
        save_what_was_learnt(entry, request, shown)
        return exit_status(shown.response.status, failure)


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
        while self._calls:
            self._calls.pop()()


def open_spending(view: View, env: Environment) -> Spending | None:
    """The budget that bounds the answer, if there is one."""
    if not (view.session or view.turn or view.context_window):
        return None
    from tokcap.spending import open_spending

    return open_spending(view, env)


def open_source(request: Request, env: Environment) -> Source:
    """The command if there is one, else standard input."""
    if request.command:
        from tokcap.source.command import Command

        return Command(request.command, request.stderr, env)
    from tokcap.source.stdin import StandardInput

    return StandardInput(env)


def open_places(
    request: Request, env: Environment, keeping: Keeping | None, *, tracked: bool
) -> tuple[Place, Place]:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    everything = (
        not (request.token_limit or request.token_offset or request.token_count or request.fields)
        and request.mode == "raw"
    )
    if everything and request.output == "text":
        out: Place = Passing(env.write_stdout)
        err: Place = Passing(env.write_stderr)
        if keeping and request.spill == "always":
            out = PassingAndKeeping(env.write_stdout, keeping.spool("out", whole=tracked))
        elif tracked:
            out = PassingAndKeeping(env.write_stdout, Spool())
        if tracked and request.stderr != "pass":
            err = PassingAndKeeping(env.write_stderr, Spool())
        return out, err
    # Within a budget even a count has a limit: what comes beside it on stderr must not break it.
    capped = request.token_limit is not None and (tracked or not request.token_count)
    # A window at the beginning of a text needs no more of it than the store keeps.
    beginning = (
        capped
        and request.keep == "head"
        and request.mode == "raw"
        and not (request.fields or request.token_count)
        and request.shape in ("auto", "text")
    )
    kept = keeping.spool("out", whole=not beginning) if keeping else Spool()
    if not capped:
        return kept, Passing(env.write_stderr)
    return kept, keeping.spool("err", whole=True) if keeping else Spool()


def tokens_passed(tokenizer: Tokenizer, *places: Place) -> int:
    """What was passed on costs, as far as it was kept to be counted."""
    kept = [place.spool for place in places if isinstance(place, PassingAndKeeping)]
    return sum(Index(spool, tokenizer).total_tokens for spool in kept)


def open_masks(request: Request) -> Mapping[Stream, Redactor]:
    """For each stream what masks its secrets, if they are to be masked."""
    if not request.redact:
        return {}
    from tokcap.filters.redact import Redactor

    return {"out": Redactor(), "err": Redactor()}


def filtered(place: Place, stream: Stream, request: Request, masks: Mapping[Stream, Redactor]) -> Sink:
    """The way to a place: cleaned first, so that no escape divides a secret."""
    sink: Sink = Filtered(masks[stream], place) if stream in masks else place
    if not request.clean:
        return sink
    from tokcap.filters.clean import Cleaner

    return Filtered(Cleaner(), sink)


def notices_of(masks: Mapping[Stream, Redactor]) -> tuple[Notice, ...]:
    """What was masked, as a warning."""
    if not masks:
        return ()
    from tokcap.filters.redact import told

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
    request: Request,
    asked: Request,
    streams: Streams,
    tokenizer: Tokenizer,
    keeping: Keeping | None,
    seconds: float,
) -> Answer:
    """The answer, with a handle to all that it withholds: stored before anybody is told of it."""
    if keeping is None:
        return answer(request, streams, tokenizer, Ways)

    def ways() -> Ways:
        handle = keeping.handle()
        if not handle:
            return Ways()
        remarks = {
            stream: remark_on(keeping.stored_bytes()[stream])
            for stream, lost in keeping.lost_bytes().items()
            if lost
        }
        return Ways(
            out=way_to(handle, request),
            err=way_to(handle, request, "err"),
            remark=remarks.get("out", ""),
            err_remark=remarks.get("err", ""),
            handle=handle,
        )

    answered = answer(request, streams, tokenizer, ways)
    if request.spill == "auto" and not answered.withheld:
        return answered
    try:
        path = keeping.keep(record_of(asked, streams.captured, answered, seconds), answered.indexes)
    except StoreError as error:
        # Nobody may be sent to an entry that is not there.
        without = answer(request, streams, tokenizer, Ways)
        return without.with_meta(Notice("NOT_STORED", f"the output was not stored: {error}"))
    stored, lost = keeping.stored_bytes(), keeping.lost_bytes()
    return answered.with_meta(
        *capped_notice(stored["out"], lost["out"], answered),
        *capped_notice(stored.get("err", 0), lost.get("err", 0), answered, "stderr: "),
        handle=keeping.handle(),
        spill_path=readable(path),
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
        from tokcap.filters.redact import redacted_words

        command = redacted_words(command)
    indexes = answered.indexes if answered else {}
    totals = {stream: index.total_tokens for stream, index in indexes.items() if index.checkpoints.complete}
    return EntryRecord(
        # A shape that somebody insisted on is not what the next one finds.
        shape=answered.shape if answered and request.shape == "auto" else "auto",
        total_count=answered.total_count if answered and request.shape == "auto" else None,
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
    for key in ("stream", "tokenizer", "shape", "fields", "mode", "pointer", "grep", "context"):
        option = BY_KEY[key]
        value = values.get(key, option.default)
        if value != option.default:
            import shlex

            way += f" {option.flag} {shlex.quote(str(value))}"
    return way


def remark_on(stored_bytes: int) -> str:
    return f"only the first {stored_bytes} bytes are stored"


def readable(path: str) -> str:
    """A path as JSON can hold it."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def capped_notice(stored: int, lost: int, answered: Answer | None, label: str = "") -> tuple[Notice, ...]:
    """That the store has not all of it. Where there is a mark in the text, it says so too."""
    if not lost:
        return ()
    marked = (
        answered is not None
        and answered.response.meta.shape == "text"
        and bool(answered.response.meta.truncated)
    )
    message = f"{label}only the first {stored} of {stored + lost} bytes were stored (--max-bytes)"
    return (Notice("SPILL_TRUNCATED", message, of_the_cut=marked),)


def within_budget(
    view: AnyView,
    answered: Callable[[AnyView], Answer],
    spending: Spending | None,
    tokenizer: Tokenizer,
    started: float,
    env: Environment,
) -> Answer:
    """The answer, complete, for no more than the session grants: it pays for the envelope as well."""

    def completed(answer: Answer) -> Answer:
        answer = answer.with_meta(duration_ms=round((env.clock() - started) * 1000))
        return with_account(answer, view, spending, tokenizer) if spending else answer

    answer = completed(answered(view))
    limit = spending.limit if spending and spending.is_tracked else None
    data_limit = view.token_limit
    if limit is None or data_limit is None or view.output == "text":
        return answer
    while (cost := price_of(answer, view, tokenizer)) > limit:
        data_limit -= cost - limit
        if data_limit < 1:
            # Of the payload there is nothing left to leave out.
            return completed(slimmed(answer))
        answer = completed(answered(view.but(token_limit=data_limit)))
    return answer


def with_account(answer: Answer, view: View, spending: Spending, tokenizer: Tokenizer) -> Answer:
    """The answer with the session in it, and what that has left once this very answer is paid for."""
    if not spending.is_tracked:
        return answer
    answer = answer.with_meta(session=spending.session)
    for _ in range(ACCOUNT_ATTEMPTS):
        left = spending.remaining_after(price_of(answer, view, tokenizer))
        if left == answer.response.meta.budget_remaining:
            return answer
        answer = answer.with_meta(budget_remaining=left)
    # The number changes its own price, for ever: it is not told.
    return answer.with_meta(budget_remaining=None)


def price_of(answer: Answer, view: View, tokenizer: Tokenizer) -> int:
    """What an answer costs its reader: all that is written, on both streams."""
    written = rendered(answer.response, view.output)
    return count_bytes(written, tokenizer) + count_bytes(answer.stderr, tokenizer)


def slimmed(answer: Answer) -> Answer:
    """The answer without payload, and without all that a reader can ask for again."""
    response = answer.response
    failure = response.failure
    return answer.but(
        stderr=b"",
        response=response.but(
            payload=None,
            failure=failure.but(detail="") if failure else None,
            notices=(),
            meta=response.meta.but(
                truncated=True,
                returned_tokens=None,
                next_offset=None,
                truncation_hint=None,
                first_pointer=None,
                next_pointer=None,
                returned_count=None,
                spill_path=None,
            ),
        ),
    )


def deliver(
    answer: Answer,
    view: View,
    spending: Spending | None,
    tokenizer: Tokenizer,
    kind: str,
    env: Environment,
) -> StreamError | ReaderGone | None:
    """Charge the answer and write it; to stdout that may fail. In text form, warnings stand on stderr."""
    said = [answer.told] if answer.told else []
    if spending and spending.is_tracked:
        # Before it is out: whoever dies in between has paid too much, and never too little.
        said += warnings_of(spending.settle(price_of(answer, view, tokenizer), kind))
    failure = None
    try:
        env.write_stdout(rendered(answer.response, view.output))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(answer.stderr)
    if view.output == "text":
        said += warnings_of(answer.response.notices)
    if said and answer.stderr[-1:] not in (b"", b"\n"):
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
