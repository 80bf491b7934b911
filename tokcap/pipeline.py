"""The whole flow of one call, top to bottom. Every step is a module; they meet here and only here.

Request -> tokenizer, source -> capture -> index -> window, cut -> response -> stdout, stderr
"""

from __future__ import annotations

from tokcap import exits
from tokcap.capture import TAIL_BYTES, UNLIMITED, Passing, Spool, capture
from tokcap.cut import text as text_shape
from tokcap.envelope import Failure, Meta, Response, failure_of, rendered
from tokcap.errors import ReaderGone, StreamError, TokenizerFailed, TokenizerUnavailable
from tokcap.record import TYPE_CHECKING, Record
from tokcap.render import compose
from tokcap.tokens import ByteTokenizer, Index, count_bytes, open_tokenizer
from tokcap.types import Ask, Notice
from tokcap.window import stderr_limit

if TYPE_CHECKING:
    from tokcap.capture import Captured
    from tokcap.environment import Environment
    from tokcap.types import CutShape, Part, Payload, Request, Shape, Source, Tokenizer


def run(request: Request, env: Environment) -> int:
    """Answer one call and return its exit status. Refusals are raised before anything has run."""
    started = env.clock()
    tokenizer = open_tokenizer(request.tokenizer)
    source = open_source(request, env)
    out, err = open_sinks(request, env)
    try:
        captured = capture(source, {"out": out, "err": err})
        failure, status = captured.failure, status_of(captured)
        if isinstance(out, Spool):
            answered = answer(request, Streams(out, err, captured), tokenizer)
            failure = deliver(answered, round((env.clock() - started) * 1000), request, env)
            status = answered.response.status
        for error in (captured.broken, failure):
            if isinstance(error, StreamError):
                env.tell(str(error))
        return exit_status(status, failure)
    finally:
        source.close()
        out.close()
        err.close()


class Streams(Record):
    """What was captured of both streams, and how it ended."""

    out: Spool
    # A spool if stderr is part of the answer; else it was passed on as it came.
    err: Spool | Passing
    captured: Captured

    @property
    def err_size(self) -> int:
        return self.err.size if isinstance(self.err, Spool) else 0

    @property
    def err_tail(self) -> bytes:
        """The end of stderr, whatever became of it."""
        if isinstance(self.err, Spool):
            return self.err.read(max(self.err.size - TAIL_BYTES, 0), self.err.size)
        return self.err.tail

    def whole(self) -> tuple[bytes, bytes]:
        """Everything. For short streams only."""
        err = self.err.read(0, self.err.size) if isinstance(self.err, Spool) else b""
        return self.out.read(0, self.out.size), err


class Answer(Record):
    """A response, and the part of stderr that goes with it."""

    response: Response
    stderr: bytes = b""
    # What tokcap has to say on stderr in every form.
    told: str = ""


def open_source(request: Request, env: Environment) -> Source:
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
            reader=env.stdout if passes_everything(request) else None,
        )
    from tokcap.source.stdin import StandardInput

    return StandardInput(env)


def open_sinks(request: Request, env: Environment) -> tuple[Spool | Passing, Spool | Passing]:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    out = Passing(env.write_stdout) if passes_everything(request) else Spool()
    capped = request.token_limit is not None and not request.token_count
    return out, Spool() if capped else Passing(env.write_stderr)


def passes_everything(request: Request) -> bool:
    everything = not (request.token_limit or request.token_offset or request.token_count or request.fields)
    return everything and request.output == "text"


def answer(request: Request, streams: Streams, tokenizer: Tokenizer) -> Answer:
    """Count or cut what was captured. A failure costs exactness, never the output or the status."""
    meta = Meta(tokenizer=tokenizer.name)
    try:
        if request.token_count:
            return count(request, streams, tokenizer, meta)
        return cut(request, streams, tokenizer, meta)
    except Exception as error:
        # The command has run: whatever goes wrong from here on, its output has to come out.
        reason = str(error) if isinstance(error, TokenizerFailed) else f"counting failed: {error!r}"
    if request.token_count:
        failed = respond(streams, None, meta, ())
        failure = failed.failure or Failure(TokenizerUnavailable.code, f"{reason}; nothing was counted")
        status = failed.status or TokenizerUnavailable.exit_status
        return Answer(failed.but(status=status, failure=failure), told=failure.message)
    notice = Notice("TOKENIZER_FAILED", f"{reason}; every byte was taken for a token instead")
    return cut(request.but(shape="text"), streams, ByteTokenizer(), meta, notice)


def count(request: Request, streams: Streams, tokenizer: Tokenizer, meta: Meta) -> Answer:
    """The answer to `--token-count`: a number, and nothing of the payload."""
    payload = shaped(request, streams)
    total = Index(payload.payload, tokenizer).total_tokens
    number = b"%d\n" % total if request.output == "text" else None
    return Answer(respond(streams, number, meta.but(token_count=total), payload.notices))


def cut(request: Request, streams: Streams, tokenizer: Tokenizer, meta: Meta, *notices: Notice) -> Answer:
    """The window that was asked for, proven by a count of the very bytes that are written."""
    if certainly_fits(request, streams):
        whole, err = streams.whole()
        return Answer(respond(streams, whole, meta, notices), err)

    limit = request.token_limit
    shape = shaped(request, streams)
    index = Index(shape.payload, tokenizer)
    err_shown, err_notices = cut_stderr(request, streams, index, tokenizer, shape)
    notices += shape.notices + err_notices
    err_tokens = count_bytes(err_shown, tokenizer)

    def cost(parts: tuple[Part, ...]) -> int:
        composed = compose(parts, request.output)
        apart = count_bytes(composed, tokenizer) + err_tokens
        if not err_shown or request.output != "text":
            return apart
        # Both may end up in one stream; joined, they can cost a token more.
        joined = (composed + err_shown, err_shown + composed)
        return max(apart, *(count_bytes(text, tokenizer) for text in joined))

    exact = not isinstance(tokenizer, ByteTokenizer)
    ask = Ask(limit, request.token_offset, request.keep, request.align, request.sentinel, exact=exact)
    shown = shape.cut(shape.payload, index, ask, cost)
    payload = compose(shown.parts, request.output)
    notices += shown.notices
    if shown.gap and shown.empty:
        too_small = f"a limit of {limit} tokens admits nothing of the payload here; ask for more"
        notices += (Notice("LIMIT_TOO_SMALL", too_small, of_the_cut=True),)
    total = index.total
    meta = meta.but(
        truncated=shown.gap is not None or bool(shown.notices),
        token_limit=limit,
        token_offset=shown.first_token if shown.gap or shown.first_token else None,
        returned_tokens=count_bytes(payload, tokenizer) if exact and request.output != "text" else None,
        total_tokens=total.tokens if exact and total.exact else None,
        total_tokens_estimate=None if exact and total.exact else total.tokens,
        next_offset=shown.gap.first if shown.gap else None,
        truncation_hint=shown.hint or None,
        first_pointer=shown.first_pointer if shown.gap or shown.first_token else None,
        next_pointer=shown.next_pointer,
        returned_count=shown.returned_count if shape.total_count is not None else None,
        total_count=shape.total_count,
        shape=shape.shape,
        binary=True if not index.valid_utf8 else None,
    )
    return Answer(respond(streams, payload, meta, notices), err_shown)


class Shaped(Record):
    """The payload as it is shown: with its shape, and with the fields that were asked for."""

    payload: Payload
    shape: Shape = "text"
    cut: CutShape = text_shape.cut
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()


def shaped(request: Request, streams: Streams) -> Shaped:
    """Find out what stdout is, and select from it."""
    if request.token_count and not request.fields:
        return Shaped(streams.out)
    # Not loaded for output that is short enough to be passed on unseen.
    from tokcap.cut import table, values
    from tokcap.cut.sniff import sniff
    from tokcap.fields import select

    cuts: dict[Shape, CutShape] = {
        "text": text_shape.cut,
        "json": values.cut_document,
        "jsonl": values.cut_lines,
        "csv": table.cut_csv,
        "tsv": table.cut_tsv,
    }
    found = sniff(streams.out, request.shape)
    payload, notices = streams.out, found.notices
    if request.fields:
        selected = select(streams.out.read(0, streams.out.size), found.shape, request.fields)
        # It is in memory anyway, so it need not go to disk.
        payload = Spool(UNLIMITED)
        payload.write(selected.data)
        # Of what is left there may be nothing, or another number of records.
        found = sniff(payload, found.shape) if selected.data else found.but(shape="text")
        notices = notices + selected.notices
    return Shaped(payload, found.shape, cuts[found.shape], found.total_count, notices)


def certainly_fits(request: Request, streams: Streams) -> bool:
    """Whether all of it is so short that it needs no count: a token has at least one byte."""
    limit = request.token_limit
    if request.output != "text" or request.shape not in ("auto", "text") or request.fields:
        return False
    if limit is None or request.token_offset or streams.out.size + streams.err_size > limit:
        return False
    return len(b"".join(streams.whole()).decode("utf-8", "replace").encode()) <= limit


def cut_stderr(
    request: Request, streams: Streams, out: Index, tokenizer: Tokenizer, shape: Shaped
) -> tuple[bytes, tuple[Notice, ...]]:
    """What is shown of stderr: all of it if possible, else both ends within its share."""
    limit = request.token_limit
    if limit is None or not isinstance(streams.err, Spool) or not streams.err.size:
        return b"", ()
    index = Index(streams.err, tokenizer)
    out_tokens = max(out.reach(request.token_offset + limit + 1) - request.token_offset, 0)
    if out_tokens <= limit and request.output != "text":
        # In JSON it costs more than its tokens, even if there is nothing of it.
        everything = Ask(None, request.token_offset, request.keep, request.align, request.sentinel)
        rest = shape.cut(shape.payload, out, everything, lambda _parts: 0).parts
        out_tokens = count_bytes(compose(rest, request.output), tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens)
    if not share:
        message = f"stderr ({index.total_tokens} tokens) has no room in a limit of {limit}; see --stderr pass"
        return b"", (Notice("STDERR_HIDDEN", message, of_the_cut=True),)
    # The last words of stderr are mostly the reason.
    way = "--stderr pass"
    ask = Ask(share, 0, "ends", "record", request.sentinel, way, label="stderr ", rather="tail")

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(compose(parts, "text"), tokenizer)

    shown = text_shape.cut(streams.err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return compose(shown.parts, "text"), notices


def respond(streams: Streams, payload: bytes | None, meta: Meta, notices: tuple[Notice, ...]) -> Response:
    """The answer with the command's own ending in it."""
    ending = streams.captured.ending
    broken = streams.captured.broken
    failure = failure_of(ending, streams.err_tail)
    if ending is not None:
        meta = meta.but(exit_code=ending.status, exit_from="command", signal=ending.signal)
    if broken is not None:
        meta = meta.but(exit_code=broken.exit_status, exit_from="tokcap")
        failure = Failure(broken.code, str(broken))
    return Response(
        status=status_of(streams.captured),
        payload=payload,
        failure=failure,
        notices=notices,
        meta=meta,
    )


def deliver(
    answered: Answer, duration_ms: int, request: Request, env: Environment
) -> StreamError | ReaderGone | None:
    """Write the answer; the one to stdout may fail. In text form, warnings can stand on stderr only."""
    response = answered.response
    response = response.but(meta=response.meta.but(duration_ms=duration_ms))
    failure = None
    try:
        env.write_stdout(rendered(response, request.output))
    except (StreamError, ReaderGone) as error:
        failure = error
    env.write_stderr(answered.stderr)
    said = [answered.told] if answered.told else []
    if request.output == "text":
        # The mark speaks of the cut, as far as the limit admits one; more words would break the cap.
        said += [f"warning: {notice.message}" for notice in response.notices if not notice.of_the_cut]
    if said and answered.stderr[-1:] not in (b"", b"\n"):
        env.write_stderr(b"\n")
    for message in said:
        env.tell(message)
    return failure


def exit_status(status: int, failure: StreamError | ReaderGone | None) -> int:
    """The answer's own status, unless it is only tokcap's failure to write it that is left to tell."""
    if failure and status in (exits.OK, exits.READER_GONE):
        return failure.exit_status
    return status


def status_of(captured: Captured) -> int:
    """The status that the source alone would give."""
    if captured.broken:
        return captured.broken.exit_status
    return captured.ending.status if captured.ending else exits.OK
