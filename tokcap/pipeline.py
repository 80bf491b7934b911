"""The whole flow of one call, top to bottom. Every step is a module; they meet here and only here.

Request -> tokenizer, source -> capture -> index -> window, cut -> response -> stdout, stderr
"""

from __future__ import annotations

from tokcap import exits
from tokcap.capture import Passing, Spool, capture
from tokcap.cut import text as text_shape
from tokcap.envelope import Failure, Meta, Response, failure_of, rendered
from tokcap.errors import ReaderGone, StreamError, TokenizerFailed, TokenizerUnavailable
from tokcap.record import TYPE_CHECKING, Record
from tokcap.render import compose
from tokcap.tokens import ByteTokenizer, count_bytes, index_payload, open_tokenizer
from tokcap.types import Ask, Kept, Notice
from tokcap.window import stderr_limit

if TYPE_CHECKING:
    from tokcap.capture import Captured
    from tokcap.environment import Environment
    from tokcap.tokens import Index
    from tokcap.types import Part, Request, Source, Tokenizer


def run(request: Request, env: Environment) -> int:
    """Answer one call and return its exit status. Refusals are raised before anything has run."""
    started = env.clock()
    tokenizer = open_tokenizer(request.tokenizer)
    source = open_source(request, env)
    out, err = open_sinks(request, env)
    captured = capture(source, {"out": out, "err": err})
    failure = captured.failure
    try:
        if isinstance(out, Spool):
            streams = Streams(out, err, captured)
            deliver(answer(request, streams, tokenizer, started, env), request, env)
    except (StreamError, ReaderGone) as error:
        failure = error
    finally:
        out.close()
        err.close()
        source.close()
    return settle(captured, failure, env)


class Streams(Record):
    """What was captured of both streams, and how it ended."""

    out: Spool
    # A spool if stderr is part of the answer; else it was passed on as it came.
    err: Spool | Passing
    captured: Captured

    @property
    def err_data(self) -> bytes:
        return self.err.read(0, self.err.size) if isinstance(self.err, Spool) else b""

    @property
    def err_tail(self) -> bytes:
        return self.err_data if isinstance(self.err, Spool) else self.err.tail


class Answer(Record):
    """A response, and the part of stderr that goes with it."""

    response: Response
    stderr: bytes = b""


def open_source(request: Request, env: Environment) -> Source:
    """The command if there is one, else standard input."""
    if request.command:
        from tokcap.source.command import Command

        return Command(request.command, request.stderr, env)
    from tokcap.source.stdin import StandardInput

    return StandardInput(env)


def open_sinks(request: Request, env: Environment) -> tuple[Spool | Passing, Spool | Passing]:
    """Keep what may have to be cut or counted; pass on at once what certainly will not be."""
    everything = request.token_limit is None and request.token_offset == 0 and not request.token_count
    out = Passing(env.write_stdout) if everything and request.output == "text" else Spool()
    capped = request.token_limit is not None and not request.token_count
    return out, Spool() if capped else Passing(env.write_stderr)


def answer(
    request: Request, streams: Streams, tokenizer: Tokenizer, started: float, env: Environment
) -> Answer:
    """Count or cut what was captured. A tokenizer that fails here costs exactness, not output."""
    meta = Meta(duration_ms=0, tokenizer=tokenizer.name)
    try:
        answered = count(request, streams, tokenizer, meta) or cut(request, streams, tokenizer, meta)
    except TokenizerFailed as error:
        if request.token_count:
            raise TokenizerUnavailable(f"{error}; nothing was counted") from error
        notice = Notice("TOKENIZER_FAILED", f"{error}; every byte was taken for a token instead")
        answered = cut(request, streams, ByteTokenizer(), meta, notice)
    elapsed = round((env.clock() - started) * 1000)
    response = answered.response
    return answered.but(response=response.but(meta=response.meta.but(duration_ms=elapsed)))


def count(request: Request, streams: Streams, tokenizer: Tokenizer, meta: Meta) -> Answer | None:
    """The answer to `--token-count`: a number, and nothing of the payload."""
    if not request.token_count:
        return None
    total = index_payload(streams.out, tokenizer).total_tokens
    number = b"%d\n" % total if request.output == "text" else None
    return Answer(respond(streams, number, meta.but(token_count=total), ()))


def cut(request: Request, streams: Streams, tokenizer: Tokenizer, meta: Meta, *notices: Notice) -> Answer:
    """The window that was asked for, proven by a count of the very bytes that are written."""
    if request.output == "text" and certainly_fits(request, streams, tokenizer):
        whole = streams.out.read(0, streams.out.size)
        return Answer(respond(streams, whole, meta, notices), streams.err_data)

    limit = request.token_limit
    index = index_payload(streams.out, tokenizer)
    err_shown, err_notices = cut_stderr(request, streams, index, tokenizer)
    notices += err_notices
    err_tokens = count_bytes(err_shown, tokenizer)

    def cost(parts: tuple[Part, ...]) -> int:
        composed = compose(parts, request.output)
        apart = count_bytes(composed, tokenizer) + err_tokens
        if not err_shown or request.output != "text":
            return apart
        # Both may end up in one stream; joined, they can cost a token more.
        return max(apart, count_bytes(composed + err_shown, tokenizer))

    ask = Ask(limit, request.token_offset, request.keep, request.align, request.sentinel)
    shown = text_shape.cut(streams.out, index, ask, cost)
    payload = compose(shown.parts, request.output)
    if shown.gap and not any(isinstance(part, Kept) for part in shown.parts):
        too_small = f"a limit of {limit} tokens admits nothing of the payload here; ask for more"
        notices += (Notice("LIMIT_TOO_SMALL", too_small),)
    exact = tokenizer.name == meta.tokenizer
    meta = meta.but(
        truncated=shown.gap is not None,
        token_limit=limit,
        token_offset=shown.first_token if shown.gap or shown.first_token else None,
        returned_tokens=count_bytes(payload, tokenizer) if request.output != "text" else None,
        total_tokens=index.total_tokens if exact else None,
        total_tokens_estimate=None if exact else index.total_tokens,
        next_offset=shown.gap.first if shown.gap else None,
        truncation_hint=shown.hint or None,
        shape="text",
        binary=True if not index.valid_utf8 else None,
    )
    return Answer(respond(streams, payload, meta, notices), err_shown)


def certainly_fits(request: Request, streams: Streams, tokenizer: Tokenizer) -> bool:
    """Whether all of it is so short that it needs no count: a token has at least one byte."""
    limit = request.token_limit
    if limit is None or request.token_offset or not tokenizer.one_byte_at_least:
        return False
    err = streams.err_data
    if streams.out.size + len(err) > limit:
        return False
    data = streams.out.read(0, streams.out.size) + err
    return len(data.decode("utf-8", "replace").encode()) <= limit


def cut_stderr(
    request: Request, streams: Streams, out: Index, tokenizer: Tokenizer
) -> tuple[bytes, tuple[Notice, ...]]:
    """What is shown of stderr: all of it if possible, else both ends within its share."""
    limit = request.token_limit
    if limit is None or not isinstance(streams.err, Spool) or not streams.err.size:
        return b"", ()
    index = index_payload(streams.err, tokenizer)
    out_tokens = max(out.total_tokens - request.token_offset, 0)
    if out_tokens <= limit and request.output != "text":
        # In JSON it costs more than its tokens, even if there is nothing of it.
        everything = Ask(None, request.token_offset, request.keep, request.align, request.sentinel)
        rest = text_shape.cut(streams.out, out, everything, lambda _parts: 0).parts
        out_tokens = count_bytes(compose(rest, request.output), tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens)
    if not share:
        message = f"stderr ({index.total_tokens} tokens) has no room in a limit of {limit}; see --stderr pass"
        return b"", (Notice("STDERR_HIDDEN", message),)
    ask = Ask(share, 0, "ends", "record", request.sentinel, way="--stderr pass", label="stderr ")

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(compose(parts, "text"), tokenizer)

    return compose(text_shape.cut(streams.err, index, ask, cost).parts, "text"), ()


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
        status=settled_status(streams.captured),
        payload=payload,
        failure=failure,
        notices=notices,
        meta=meta,
    )


def deliver(answered: Answer, request: Request, env: Environment) -> None:
    """Write the answer. In text form, warnings have no other place than stderr."""
    env.write_stdout(rendered(answered.response, request.output))
    env.write_stderr(answered.stderr)
    if request.output == "text":
        for notice in answered.response.notices:
            env.tell(f"warning: {notice.message}")


def settle(captured: Captured, failure: StreamError | ReaderGone | None, env: Environment) -> int:
    """The exit status: the command's own, unless only tokcap's own failure is left to tell."""
    status = settled_status(captured)
    for error in (captured.broken, failure):
        if isinstance(error, StreamError):
            env.tell(str(error))
    if failure and status in (exits.OK, exits.READER_GONE):
        return failure.exit_status
    return status


def settled_status(captured: Captured) -> int:
    """The status that the source alone would give."""
    if captured.broken:
        return captured.broken.exit_status
    return captured.ending.status if captured.ending else exits.OK
