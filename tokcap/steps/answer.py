"""What was captured in, the answer out: a count, or the window that was asked for, with what there is to say.

Streams -> shape, index -> window, cut -> response. Nothing here reads from or writes to the world. What fits
without a count does without the modules that cut.
"""

from __future__ import annotations

from tokcap.core.cut import Ask, Kept
from tokcap.core.fit import STDERR_SHARE
from tokcap.core.notice import Notice
from tokcap.errors import TokcapError, TokenizerFailed, TokenizerUnavailable
from tokcap.exits import OK
from tokcap.forms.envelope import Failure, Meta, Response, failure_of
from tokcap.forms.render import compose
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import MODES
from tokcap.tokens import ByteTokenizer, Index, count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.cut import Part
    from tokcap.core.payload import Payload
    from tokcap.core.request import Output, Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.exits import Ending
    from tokcap.steps.capture import Captured
    from tokcap.steps.shaping import Shaped
    from tokcap.tokens import Checkpoints


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
    shape: str = "auto"
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
    shape: str = "auto"
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
        failed_by = error
        reason = str(error) if isinstance(error, TokenizerFailed) else f"cutting failed: {error!r}"
    if view.token_count:
        failed = respond(streams, None, meta, ())
        failure = failed.failure or Failure(TokenizerUnavailable.code, f"{reason}; nothing was counted")
        status = failed.status or TokenizerUnavailable.exit_status
        return Answer(failed.but(status=status, failure=failure), told=failure.message, withheld=True)
    if not isinstance(failed_by, TokenizerFailed) and view.shape != "text":
        # It may be the shape alone: as text it has the same tokens.
        notice = Notice("CUT_FAILED", f"{reason}; taken as text")
        try:
            return cut(view.but(shape="text"), streams, tokenizer, find_ways, meta, notice)
        except Exception as error:
            reason = f"counting failed: {error!r}"
    notice = Notice("TOKENIZER_FAILED", f"{reason}; every byte was taken for a token instead")
    try:
        return cut(view.but(shape="text"), streams, ByteTokenizer(), find_ways, meta, notice)
    except Exception as error:
        if streams.captured is None:
            raise
        return first_bytes(view, streams, meta, Notice("CUT_FAILED", f"cutting failed: {error!r}"))


def first_bytes(view: View, streams: Streams, meta: Meta, notice: Notice) -> Answer:
    """As much of the beginning as fits whatever it is, by nothing that would still have to be loaded."""
    # A byte that is no UTF-8 is replaced by a character of three.
    room = streams.size if view.token_limit is None else view.token_limit // 3
    # What is out already has to be in it.
    err_bytes = max(min(streams.err.size, room // STDERR_SHARE), streams.err_passed) if streams.err else 0
    out_bytes = max(min(streams.out.size, room - err_bytes), streams.out_passed)
    shown = compose((Kept(streams.out.read(0, out_bytes)),), view.output)
    stderr = streams.err.read(0, err_bytes) if streams.err else b""
    meta = meta.but(truncated=True, token_limit=view.token_limit)
    return Answer(respond(streams, shown, meta, (*streams.notices, notice)), stderr, withheld=True)


def count(
    view: View, streams: Streams, tokenizer: Tokenizer, find_ways: Callable[[], Ways], meta: Meta
) -> Answer:
    """The answer to `--token-count`: a number, and nothing of the payload."""
    from tokcap.steps.shaping import shaped
    from tokcap.steps.stderr_share import cut_stderr

    shape = shaped(view, streams)
    index, known = open_index(shape, streams, tokenizer)
    total = index.total_tokens
    number = b"%d\n" % total if view.output == "text" else None
    # stderr has what the number leaves.
    left = None if view.token_limit is None else view.token_limit - count_bytes(number or b"", tokenizer)
    stderr = cut_stderr(view.but(token_limit=left), streams, 0, tokenizer, find_ways)
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

    from tokcap.steps.shaping import in_mode, shaped
    from tokcap.steps.stderr_share import cut_stderr, out_tokens

    limit = view.token_limit
    shape = shaped(view, streams)
    index, known = open_index(shape, streams, tokenizer)
    if view.exact_total:
        index.count_all()
    ways = Ways() if is_all_shown(view, streams, index) else find_ways()
    source = index
    if view.mode != "raw":
        shape = in_mode(view, streams, shape, index, ways)
        index = Index(shape.payload, tokenizer)
    stderr = cut_stderr(view, streams, out_tokens(view, index, tokenizer, shape), tokenizer, find_ways)
    notices += shape.notices + stderr.notices
    proofs = Proofs(view.output, stderr.shown, tokenizer)
    exact = not isinstance(tokenizer, ByteTokenizer)
    ask = Ask(
        limit,
        view.token_offset,
        KEEPS[view.keep],
        view.align,
        view.sentinel,
        ways.out,
        remark=ways.remark,
        exact=exact,
        passed=streams.out_passed,
    )
    shown = shape.shape.cut(shape.payload, index, ask, proofs.cost)
    payload = compose(shown.parts, view.output)
    notices += shown.notices
    if shown.gap and shown.empty and not shown.gap.lost:
        too_small = f"a limit of {limit} tokens admits nothing of the payload here; ask for more"
        notices += (Notice("LIMIT_TOO_SMALL", too_small, of_the_cut=True),)
    # Of an output that is only told about, everything is withheld.
    told_about = MODES[view.mode].describes
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
        shape=shape.shape.name,
        mode=view.mode if view.mode != "raw" else None,
        binary=True if not index.valid_utf8 else None,
    )
    return Answer(
        respond(streams, payload, meta, notices),
        stderr.shown,
        withheld=bool(
            meta.truncated or shown.first_token or view.fields or stderr.withheld or view.mode != "raw"
        ),
        shape=shape.shape.name if shape.original else "auto",
        total_count=shape.total_count if shape.original else None,
        indexes={**known, **stderr.indexes},
        proven_tokens=proofs.tokens_of(payload) if exact and view.output == "text" else None,
    )


class Proofs:
    """What composed answers cost together with stderr, each counted as it would be written."""

    def __init__(self, output: Output, stderr: bytes, tokenizer: Tokenizer) -> None:
        self._output = output
        self._stderr = stderr
        self._stderr_tokens = count_bytes(stderr, tokenizer)
        self._tokenizer = tokenizer
        self._known: dict[bytes, int] = {}

    def cost(self, parts: tuple[Part, ...]) -> int:
        composed = compose(parts, self._output)
        apart = self._known[composed] = count_bytes(composed, self._tokenizer) + self._stderr_tokens
        if not self._stderr or self._output != "text":
            return apart
        # Both may end up in one stream; joined, they can cost a token more.
        joined = (composed + self._stderr, self._stderr + composed)
        return max(apart, *(count_bytes(text, self._tokenizer) for text in joined))

    def tokens_of(self, payload: bytes) -> int | None:
        """What an answer costs that was counted on the way to it."""
        return self._known.get(payload)


def open_index(shape: Shaped, streams: Streams, tokenizer: Tokenizer) -> tuple[Index, Mapping[Stream, Index]]:
    """The index of what is shown, and those of whole streams, which are worth keeping."""
    index = Index(shape.payload, tokenizer, streams.checkpoints.get("out") if shape.original else None)
    return index, {"out": index} if shape.original else streams.counted


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


def respond(streams: Streams, payload: bytes | None, meta: Meta, notices: tuple[Notice, ...]) -> Response:
    """The answer with the command's own ending in it."""
    failure = None
    if streams.captured:
        ending, broken = streams.captured.ending, streams.captured.broken
        failure = failure_of(ending, streams.err_tail)
        if ending is not None:
            # A status of 124 is ours: the command itself had none, or another.
            whose = "tokcap" if ending.stopped_for == "timeout" else "command"
            meta = meta.but(exit_code=ending.status, exit_from=whose, signal=ending.signal)
        if broken is not None:
            meta = meta.but(exit_code=broken.exit_status, exit_from="tokcap")
            failure = Failure(broken.code, str(broken))
    return Response(streams.status, payload, failure, notices, meta)


def status_of(captured: Captured) -> int:
    """The status that the source alone would give."""
    if captured.broken:
        return captured.broken.exit_status
    return captured.ending.status if captured.ending else OK
