"""What was captured in, the answer out: a count, or the window that was asked for, with what there is to say.

Streams -> shape, index -> window, cut -> response. Nothing here reads from or writes to the world.
"""

from __future__ import annotations

from tokcap.cut import text as text_shape
from tokcap.envelope import Failure, Meta, Response, failure_of
from tokcap.errors import TokcapError, TokenizerFailed, TokenizerUnavailable
from tokcap.exits import OK
from tokcap.record import TYPE_CHECKING, Record
from tokcap.render import compose
from tokcap.tokens import ByteTokenizer, Index, count_bytes
from tokcap.types import Ask, Notice
from tokcap.window import stderr_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.capture import Captured
    from tokcap.exits import Ending
    from tokcap.tokens import Checkpoints
    from tokcap.types import CutShape, Part, Payload, Shape, Stream, Tokenizer, View


class Streams(Record):
    """What there is to answer from: both streams, how the command ended, what is known already."""

    out: Payload
    # None if stderr is no part of the answer: it was passed on as it came, or there is none.
    err: Payload | None = None
    # Bytes of each that are out already.
    out_passed: int = 0
    err_passed: int = 0
    err_tail: bytes = b""
    # stderr as a summary tells of it, be it part of the answer or not.
    err_kept: Payload | None = None
    captured: Captured | None = None
    # Of a stored output: where its tokens lie, as far as somebody has counted; its shape, records and
    # notices, if somebody has looked.
    checkpoints: Mapping[Stream, Checkpoints] = {}
    shape: Shape = "auto"
    total_count: int | None = None
    # How the command ended whose stored output it is.
    stored_ending: Ending | None = None
    notices: tuple[Notice, ...] = ()
    # Whether `out` is no stream itself, but made from one; and what was counted to make it.
    derived: bool = False
    counted: Mapping[Stream, Index] = {}

    @property
    def size(self) -> int:
        return self.out.size + (self.err.size if self.err else 0)

    def whole(self) -> tuple[bytes, bytes]:
        """Everything. For short streams only."""
        err = self.err.read(0, self.err.size) if self.err else b""
        return self.out.read(0, self.out.size), err

    @property
    def status(self) -> int:
        return status_of(self.captured) if self.captured else OK


class Ways(Record):
    """How the rest of each stream is fetched, with `{}` for the token to go on from."""

    out: str = "--token-offset {}"
    err: str = "--stderr pass"
    # What the mark has to say of the store.
    remark: str = ""
    err_remark: str = ""
    handle: str = ""


class Answer(Record):
    """A response, the part of stderr that goes with it, and what was found out on the way."""

    response: Response
    stderr: bytes = b""
    # What tokcap has to say on stderr in every form.
    told: str = ""
    # Whether there is more than is shown.
    withheld: bool = False
    shape: Shape = "auto"
    total_count: int | None = None
    indexes: Mapping[Stream, Index] = {}
    # What text form costs on both streams, where that was counted to prove it.
    proven_tokens: int | None = None

    def with_meta(self, *notices: Notice, **changes: object) -> Answer:
        response = self.response
        meta = response.meta.but(**changes)
        return self.but(response=response.but(meta=meta, notices=(*response.notices, *notices)))


def answer(view: View, streams: Streams, tokenizer: Tokenizer, find_ways: Callable[[], Ways]) -> Answer:
    """Count or cut what was captured. A failure costs exactness, never the output or the status."""
    meta = Meta(tokenizer=tokenizer.name)
    try:
        if view.token_count:
            return count(view, streams, tokenizer, find_ways, meta)
        return cut(view, streams, tokenizer, find_ways, meta)
    except Exception as error:
        if streams.captured is None and isinstance(error, TokcapError):
            # Nothing has run, and what is wrong is said.
            raise
        # The command has run: whatever goes wrong from here on, its output has to come out.
        reason = str(error) if isinstance(error, TokenizerFailed) else f"counting failed: {error!r}"
    if view.token_count:
        failed = respond(streams, None, meta, ())
        failure = failed.failure or Failure(TokenizerUnavailable.code, f"{reason}; nothing was counted")
        status = failed.status or TokenizerUnavailable.exit_status
        return Answer(failed.but(status=status, failure=failure), told=failure.message, withheld=True)
    notice = Notice("TOKENIZER_FAILED", f"{reason}; every byte was taken for a token instead")
    return cut(view.but(shape="text"), streams, ByteTokenizer(), find_ways, meta, notice)


def count(
    view: View, streams: Streams, tokenizer: Tokenizer, find_ways: Callable[[], Ways], meta: Meta
) -> Answer:
    """The answer to `--token-count`: a number, and nothing of the payload."""
    shape = shaped(view, streams)
    index = Index(shape.payload, tokenizer, streams.checkpoints.get("out") if shape.original else None)
    total = index.total_tokens
    number = b"%d\n" % total if view.output == "text" else None
    # stderr has what the number leaves.
    left = None if view.token_limit is None else view.token_limit - count_bytes(number or b"", tokenizer)
    stderr = cut_stderr(view.but(token_limit=left), streams, 0, tokenizer, find_ways)
    known: Mapping[Stream, Index] = {"out": index} if shape.original else streams.counted
    notices = streams.notices + shape.notices + stderr.notices
    return Answer(
        respond(streams, number, meta.but(token_count=total), notices),
        stderr.shown,
        withheld=True,
        indexes={**known, **stderr.indexes},
    )


def cut(
    view: View,
    streams: Streams,
    tokenizer: Tokenizer,
    find_ways: Callable[[], Ways],
    meta: Meta,
    *notices: Notice,
) -> Answer:
    """The window that was asked for, proven by a count of the very bytes that are written."""
    notices = streams.notices + notices
    if certainly_fits(view, streams):
        whole, err = streams.whole()
        return Answer(respond(streams, whole, meta, notices), err)

    limit = view.token_limit
    shape = shaped(view, streams)
    index = Index(shape.payload, tokenizer, streams.checkpoints.get("out") if shape.original else None)
    if view.exact_total:
        index.count_all()
    ways = Ways() if is_all_shown(view, streams, index) else find_ways()
    source = index
    known: Mapping[Stream, Index] = {"out": source} if shape.original else streams.counted
    if view.mode != "raw":
        shape = in_mode(view, streams, shape, index, ways)
        index = Index(shape.payload, tokenizer)
    stderr = cut_stderr(view, streams, out_tokens(view, index, tokenizer, shape), tokenizer, find_ways)
    notices += shape.notices + stderr.notices
    err_tokens = count_bytes(stderr.shown, tokenizer)

    proofs: dict[bytes, int] = {}

    def cost(parts: tuple[Part, ...]) -> int:
        composed = compose(parts, view.output)
        apart = proofs[composed] = count_bytes(composed, tokenizer) + err_tokens
        if not stderr.shown or view.output != "text":
            return apart
        # Both may end up in one stream; joined, they can cost a token more.
        joined = (composed + stderr.shown, stderr.shown + composed)
        return max(apart, *(count_bytes(text, tokenizer) for text in joined))

    exact = not isinstance(tokenizer, ByteTokenizer)
    ask = Ask(
        limit,
        view.token_offset,
        view.keep,
        view.align,
        view.sentinel,
        ways.out,
        remark=ways.remark,
        exact=exact,
        passed=streams.out_passed,
    )
    shown = shape.cut(shape.payload, index, ask, cost)
    payload = compose(shown.parts, view.output)
    notices += shown.notices
    if shown.gap and shown.empty and not shown.gap.lost:
        too_small = f"a limit of {limit} tokens admits nothing of the payload here; ask for more"
        notices += (Notice("LIMIT_TOO_SMALL", too_small, of_the_cut=True),)
    # Of an output that is only told about, everything is withheld.
    told_about = view.mode in ("summary", "handle_only")
    total = source.total if told_about else index.total
    meta = meta.but(
        truncated=shown.gap is not None or bool(shown.notices) or told_about,
        token_limit=limit,
        token_offset=shown.first_token if shown.gap or shown.first_token else None,
        returned_tokens=count_bytes(payload, tokenizer) if exact and view.output != "text" else None,
        total_tokens=total.tokens if exact and total.exact else None,
        total_tokens_estimate=None if exact and total.exact else total.tokens,
        next_offset=shown.gap.first if shown.gap and not shown.gap.lost else None,
        truncation_hint=shown.hint or None,
        first_pointer=shown.first_pointer if shown.gap or shown.first_token else None,
        next_pointer=shown.next_pointer,
        returned_count=shown.returned_count if shape.total_count is not None else None,
        total_count=shape.total_count,
        shape=shape.shape,
        mode=view.mode if view.mode != "raw" else None,
        binary=True if not index.valid_utf8 else None,
    )
    return Answer(
        respond(streams, payload, meta, notices),
        stderr.shown,
        withheld=bool(
            meta.truncated or shown.first_token or view.fields or stderr.withheld or view.mode != "raw"
        ),
        shape=shape.shape if shape.original else "auto",
        total_count=shape.total_count if shape.original else None,
        indexes={**known, **stderr.indexes},
        proven_tokens=proofs.get(payload) if exact and view.output == "text" else None,
    )


class Shaped(Record):
    """The payload as it is shown: with its shape, and with the fields that were asked for."""

    payload: Payload
    shape: Shape = "text"
    cut: CutShape = text_shape.cut
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # Whether it is the output itself, and not a selection from it.
    original: bool = True


def shaped(view: View, streams: Streams) -> Shaped:
    """Find out what stdout is, and select from it."""
    if view.token_count and not view.fields:
        return Shaped(streams.out, original=not streams.derived)
    if view.shape in ("auto", "text") and streams.shape == "auto" and not view.fields:
        # Most output is plainly text. The other shapes are not even loaded for it.
        from tokcap.cut.beginning import BEGINNING_BYTES, certainly_text

        size = min(streams.out.size, BEGINNING_BYTES)
        if view.shape == "text" or certainly_text(streams.out.read(0, size)):
            return Shaped(streams.out, original=not streams.derived)
    from tokcap.cut.sniff import Sniffed, sniff

    # What was made from a stored output is what it is; a shape that is asked for is that of the output.
    if streams.derived or (view.shape == "auto" and streams.shape != "auto"):
        found = Sniffed(streams.shape, streams.total_count)
    else:
        found = sniff(streams.out, view.shape)
    if not view.fields:
        cut = cut_of(found.shape)
        return Shaped(
            streams.out, found.shape, cut, found.total_count, found.notices, original=not streams.derived
        )
    from tokcap.capture import in_memory
    from tokcap.fields import select

    selected = select(streams.out.read(0, streams.out.size), found.shape, view.fields)
    payload = in_memory(selected.data)
    notices = found.notices + selected.notices
    # Of what is left there may be nothing, or another number of records.
    found = sniff(payload, found.shape) if selected.data else found.but(shape="text")
    return Shaped(payload, found.shape, cut_of(found.shape), found.total_count, notices, original=False)


def cut_of(shape: Shape) -> CutShape:
    """How a shape is cut. Only the one that is needed is loaded."""
    if shape in ("json", "jsonl"):
        from tokcap.cut import values

        return values.cut_document if shape == "json" else values.cut_lines
    if shape in ("csv", "tsv"):
        from tokcap.cut import table

        return table.cut_csv if shape == "csv" else table.cut_tsv
    return text_shape.cut


def certainly_fits(view: View, streams: Streams) -> bool:
    """Whether all of it is so short that it needs no count: a token has at least one byte."""
    limit = view.token_limit
    if view.output != "text" or view.shape not in ("auto", "text") or view.fields or view.mode != "raw":
        return False
    if limit is None or view.token_offset or streams.size > limit or streams.out.lost:
        return False
    return len(b"".join(streams.whole()).decode("utf-8", "replace").encode()) <= limit


def is_all_shown(view: View, streams: Streams, index: Index) -> bool:
    """Whether the answer is stdout and all of it: then nobody asks for a way to more, or for a handle."""
    if view.output != "text" or view.mode != "raw" or view.fields or view.token_offset or streams.out.lost:
        return False
    if streams.err is not None and streams.err.size:
        return False
    return view.token_limit is None or index.reach(view.token_limit + 1) <= view.token_limit


def in_mode(view: View, streams: Streams, shape: Shaped, index: Index, ways: Ways) -> Shaped:
    """The payload as a terser mode shows it."""
    from tokcap.capture import in_memory
    from tokcap.modes import Facts, as_table, handle_only, summary

    if view.mode == "table":
        changed = as_table(shape.payload, shape.shape)
        data, found, notices = changed.data, changed.shape, changed.notices
    else:
        ending = streams.captured.ending if streams.captured else streams.stored_ending
        total = index.total
        facts = Facts(
            handle=ways.handle,
            exit_status=ending.status if ending else None,
            signal=ending.signal if ending else None,
            out_bytes=streams.out.size + streams.out.lost,
            err_bytes=streams.err_kept.size if streams.err_kept else 0,
            out_tokens=total.tokens,
            out_tokens_exact=total.exact,
            err=streams.err_kept,
            total_count=shape.total_count,
            lost_bytes=streams.out.lost,
        )
        data = (
            summary(shape.payload, shape.shape, facts)
            if view.mode == "summary"
            else handle_only(facts, shape.shape)
        )
        found, notices = "text", ()
    cut = cut_of(found)
    return Shaped(in_memory(data), found, cut, shape.total_count, shape.notices + notices, original=False)


class Stderr(Record):
    """What is shown of stderr."""

    shown: bytes = b""
    notices: tuple[Notice, ...] = ()
    withheld: bool = False
    indexes: Mapping[Stream, Index] = {}


def out_tokens(view: View, out: Index, tokenizer: Tokenizer, shape: Shaped) -> int:
    """How many tokens stdout could use, as far as it matters beside the limit."""
    limit = view.token_limit
    if limit is None:
        return 0
    tokens = max(out.reach(view.token_offset + limit + 1) - view.token_offset, 0)
    if tokens <= limit and view.output != "text":
        # In JSON it costs more than its tokens, even if there is nothing of it.
        everything = Ask(None, view.token_offset, view.keep, view.align, view.sentinel)
        rest = shape.cut(shape.payload, out, everything, lambda _parts: 0).parts
        tokens = count_bytes(compose(rest, view.output), tokenizer)
    return tokens


def cut_stderr(
    view: View, streams: Streams, out_tokens: int, tokenizer: Tokenizer, find_ways: Callable[[], Ways]
) -> Stderr:
    """All of stderr if possible, else both ends within its share."""
    limit = view.token_limit
    if limit is None or streams.err is None or not streams.err.size:
        return Stderr()
    if view.mode in ("summary", "handle_only"):
        # What there is to say of it is part of the answer.
        return Stderr(withheld=True)
    ways = find_ways()
    index = Index(streams.err, tokenizer)
    share = stderr_limit(limit, out_tokens, index.total_tokens) if limit > 0 else 0
    known: dict[Stream, Index] = {"err": index}
    if not share:
        way = ways.err.replace("{}", "0", 1)
        message = f"stderr ({index.total_tokens} tokens) has no room in a limit of {limit}; see {way}"
        return Stderr(b"", (Notice("STDERR_HIDDEN", message, of_the_cut=True),), withheld=True, indexes=known)
    # The last words of stderr are mostly the reason.
    ask = Ask(
        share,
        0,
        "ends",
        "record",
        view.sentinel,
        ways.err,
        label="stderr ",
        remark=ways.err_remark,
        passed=streams.err_passed,
        rather="tail",
    )

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(compose(parts, "text"), tokenizer)

    shown = text_shape.cut(streams.err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return Stderr(compose(shown.parts, "text"), notices, withheld=shown.gap is not None, indexes=known)


def respond(streams: Streams, payload: bytes | None, meta: Meta, notices: tuple[Notice, ...]) -> Response:
    """The answer with the command's own ending in it."""
    failure = None
    if streams.captured:
        ending, broken = streams.captured.ending, streams.captured.broken
        failure = failure_of(ending, streams.err_tail)
        if ending is not None:
            meta = meta.but(exit_code=ending.status, exit_from="command", signal=ending.signal)
        if broken is not None:
            meta = meta.but(exit_code=broken.exit_status, exit_from="tokcap")
            failure = Failure(broken.code, str(broken))
    return Response(streams.status, payload, failure, notices, meta)


def status_of(captured: Captured) -> int:
    """The status that the source alone would give."""
    if captured.broken:
        return captured.broken.exit_status
    return captured.ending.status if captured.ending else OK
