"""Make the answer to one call from what was examined: a count, or the window that was asked for.

Nothing here reads or writes files or streams. An output that certainly fits is not counted, and the modules
that cut are not loaded for it.
"""

from __future__ import annotations

from tokcap.core.cut import Ask
from tokcap.core.notice import Notice
from tokcap.core.request import AUTO
from tokcap.core.response import Meta, Response
from tokcap.core.tokenizer import BYTES
from tokcap.forms import FORMS
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES
from tokcap.tokens import Index, count_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.cut import Part
    from tokcap.core.request import Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.forms.base import Form
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined
    from tokcap.steps.inputs import Input


class Answer(Record):
    """A response, the part of stderr that goes with it, and what was found out while making it."""

    response: Response
    stderr: bytes = b""
    # A message that is written to stderr in every form.
    message: str = ""
    # Whether there is more than is shown.
    withheld: bool = False
    shape: str = AUTO
    total_count: int | None = None
    indexes: Mapping[Stream, Index] = {}
    # What the text form costs on both streams, if that was counted.
    proven_tokens: int | None = None

    def with_meta(self, *notices: Notice, **changes: object) -> Answer:
        response = self.response
        meta = response.meta.but(**changes)
        return self.but(response=response.but(meta=meta, notices=(*response.notices, *notices)))


class ShownStderr(Record):
    """What is shown of stderr."""

    shown: bytes = b""
    notices: tuple[Notice, ...] = ()
    withheld: bool = False
    indexes: Mapping[Stream, Index] = {}


def respond(given: Input, payload: bytes | None, meta: Meta, notices: tuple[Notice, ...]) -> Response:
    """Return the response, including how the command ended."""
    return Response(given.status, payload, given.failure, notices, given.with_ending(meta))


def is_changed(view: View) -> bool:
    """Return whether the answer differs from the bytes of the output."""
    return FORMS[view.output].has_envelope or bool(view.fields) or not MODES[view.mode].shows_payload


def certainly_fits(view: View, given: Input) -> bool:
    """Return whether the output is so short that it needs no count: a token has at least one byte."""
    limit = view.token_limit
    if is_changed(view) or view.shape not in (AUTO, FALLBACK):
        return False
    if limit is None or view.token_offset or view.token_count or given.size > limit or given.out.lost:
        return False
    return len(b"".join(given.whole()).decode("utf-8", "replace").encode()) <= limit


def answer_with_everything(given: Input) -> Answer:
    """Answer with both streams, which are certain to fit."""
    out, err = given.whole()
    return Answer(respond(given, out, Meta(), given.notices), err)


def may_withhold(view: View, examined: Examined) -> bool:
    """Return whether the answer may leave something out; False only if it is certainly all of stdout."""
    given = examined.given
    if is_changed(view) or view.token_count or view.token_offset:
        return True
    if given.out.lost or (given.err is not None and given.err.size):
        return True
    return view.token_limit is not None and examined.index.reach(view.token_limit + 1) > view.token_limit


def make_answer(view: View, examined: Examined, continuation: Continuation) -> Answer:
    """Count or cut, and name the stored output."""
    answer = count(view, examined, continuation) if view.token_count else cut(view, examined, continuation)
    return name_handle(answer, continuation)


def name_handle(answer: Answer, continuation: Continuation) -> Answer:
    """Name the stored output in `meta` if there is more of it than is shown, or if it is always named."""
    if continuation.handle and (answer.withheld or continuation.is_always_named):
        return answer.with_meta(*continuation.notices(answer.response.meta), **continuation.as_meta())
    return answer


def count(view: View, examined: Examined, continuation: Continuation) -> Answer:
    """Answer `--token-count`: a number, and nothing of the payload."""
    given, tokenizer = examined.given, examined.tokenizer
    total = examined.index.total_tokens
    number = FORMS[view.output].compose_count(total)
    # stderr gets the tokens that the number leaves.
    left = None if view.token_limit is None else view.token_limit - count_bytes(number or b"", tokenizer)
    stderr = ShownStderr()
    if left is not None and given.err and given.err.size:
        from tokcap.steps.stderr_share import cut_stderr

        stderr = cut_stderr(given.err, view.but(token_limit=left), left, 0, examined, continuation)
    notices = given.notices + examined.notices + stderr.notices
    return Answer(
        respond(given, number, Meta(token_count=total), notices),
        stderr.shown,
        withheld=True,
        indexes={**examined.indexes, **stderr.indexes},
    )


def cut(view: View, examined: Examined, continuation: Continuation) -> Answer:
    """Answer with the window that was asked for, proven by a count of the bytes that will be written."""
    given, tokenizer, source = examined.given, examined.tokenizer, examined.index
    form, limit = FORMS[view.output], view.token_limit
    if view.exact_total:
        source.count_all()
    mode, shown = MODES[view.mode], examined
    if not mode.shows_payload:
        from tokcap.steps.examination import in_mode

        shown = in_mode(view, examined, continuation)
    stderr = ShownStderr()
    if limit is not None and given.err and given.err.size:
        from tokcap.steps.stderr_share import cut_stderr, stdout_tokens

        out_tokens = stdout_tokens(view, limit, shown)
        stderr = cut_stderr(given.err, view, limit, out_tokens, examined, continuation)
    proofs = Proofs(form, stderr.shown, tokenizer)
    exact = tokenizer.name != BYTES
    ask = Ask(
        limit,
        view.token_offset,
        KEEPS[view.keep],
        view.align,
        view.sentinel,
        continuation.out,
        remark=continuation.remark("out"),
        exact=exact,
        passed=given.out_passed,
    )
    window = shown.shape.cut(shown.payload, shown.index, ask, proofs.cost)
    payload = form.compose(window.parts)
    notices = given.notices + shown.notices + stderr.notices + window.notices
    if window.gap and window.empty and not window.gap.lost:
        too_small = f"limit {limit} is too small to show anything at this offset"
        notices += (Notice("LIMIT_TOO_SMALL", too_small, of_the_cut=True),)
    # A description of the output withholds all of it.
    total = source.total if mode.describes else shown.index.total
    is_total_exact = exact and total.exact
    is_partial = window.gap is not None or window.first_token > 0
    meta = Meta(
        truncated=window.gap is not None or bool(window.notices) or mode.describes,
        token_limit=limit,
        token_offset=window.first_token if is_partial else None,
        returned_tokens=count_bytes(payload, tokenizer) if exact and form.has_envelope else None,
        total_tokens=total.tokens if is_total_exact else None,
        total_tokens_estimate=None if is_total_exact else total.tokens,
        next_offset=window.gap.first if window.gap and not window.gap.lost else None,
        truncation_hint=window.hint or None,
        first_pointer=window.first_pointer if is_partial else None,
        next_pointer=window.next_pointer,
        returned_count=window.returned_count if shown.total_count is not None else None,
        total_count=shown.total_count,
        shape=shown.shape.name,
        mode=None if mode.shows_payload else view.mode,
        binary=True if not shown.index.valid_utf8 else None,
    )
    return Answer(
        respond(given, payload, meta, notices),
        stderr.shown,
        withheld=bool(
            meta.truncated or window.first_token or view.fields or stderr.withheld or not mode.shows_payload
        ),
        shape=shown.shape.name if shown.is_whole_stream else AUTO,
        total_count=shown.total_count if shown.is_whole_stream else None,
        indexes={**examined.indexes, **stderr.indexes},
        proven_tokens=proofs.tokens_of(payload) if exact and not form.has_envelope else None,
    )


class Proofs:
    """Count composed answers together with stderr, exactly as they would be written."""

    def __init__(self, form: Form, stderr: bytes, tokenizer: Tokenizer) -> None:
        self._form = form
        self._stderr = stderr
        self._stderr_tokens = count_bytes(stderr, tokenizer)
        self._tokenizer = tokenizer
        self._known: dict[bytes, int] = {}

    def cost(self, parts: tuple[Part, ...]) -> int:
        composed = self._form.compose(parts)
        separate = self._known[composed] = count_bytes(composed, self._tokenizer) + self._stderr_tokens
        if not self._stderr or self._form.has_envelope:
            return separate
        # Both may end up in one stream; joined, they can cost a token more.
        joined = (composed + self._stderr, self._stderr + composed)
        return max(separate, *(count_bytes(text, self._tokenizer) for text in joined))

    def tokens_of(self, payload: bytes) -> int | None:
        """Return what an answer costs, if it was counted before."""
        return self._known.get(payload)
