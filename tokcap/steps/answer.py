"""Make the answer to one call from what was examined: a count, or the window that was asked for.

Nothing here reads or writes files or streams. An output that certainly fits is not counted, and the modules
that cut are not loaded for it.
"""

from __future__ import annotations

from tokcap.core.cut import Ask, Cut
from tokcap.core.payload import LONG_BYTES
from tokcap.core.request import AUTO
from tokcap.core.response import Meta, Notice, Response
from tokcap.core.tokenizer import BYTES, most_tokens
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK, MODES
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens import count_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.budget.base import Shown
    from tokcap.core.cut import Finding, Gap
    from tokcap.core.payload import LongText
    from tokcap.core.request import Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Frame
    from tokcap.outputs.base import Form
    from tokcap.steps.capture import Input, Passed
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined
    from tokcap.tokens.base import PayloadIndex


# Larger limits are not tried when a limit is too small to show anything.
MOST_SUGGESTED_TOKENS = 4096
# Most places that `meta.focus` names.
MOST_FINDINGS = 20


class Answer(Record):
    """A response, the part of stderr that goes with it, and what was found out while making it."""

    response: Response
    stderr: bytes = b""
    # tokcap's own words, for stderr too: warnings in text form, and the way to the rest of a structured cut.
    words: bytes = b""
    # Whether there is more than is shown.
    withheld: bool = False
    shape: str = AUTO
    total_count: int | None = None
    indexes: Mapping[Stream, PayloadIndex] = {}
    # The gaps of each stream, if the answer has many.
    gaps: Mapping[Stream, tuple[Gap, ...]] = {}
    # What its session notes once it is delivered (see `steps.repeats`).
    showing: Shown | None = None
    # Whether the output is stored even if nothing is withheld.
    is_kept: bool = False

    @property
    def may_change_screen(self) -> bool:
        """Whether it has escape sequences. JSON has none."""
        response = self.response
        return not response.is_long and b"\x1b" in (response.payload or b"") + self.stderr

    def with_meta(self, *notices: Notice, **changes: object) -> Answer:
        response = self.response
        meta = response.meta.replace(**changes)
        return self.replace(response=response.replace(meta=meta, notices=(*response.notices, *notices)))

    @property
    def all_stderr(self) -> bytes:
        """All bytes for stderr, in the order in which they are written."""
        return self.stderr + self.words


class Proof:
    """Counts answers of one call: the bytes that a reader gets, in every order in which they may be read.

    Counts do not add up: joined texts can cost more tokens than both. So each stream is counted alone, and
    both together: one after the other, and in the order in which they are written to one pipe (`2>&1`).
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        passed: Passed,
        *,
        joined: bool = True,
        count: Callable[[bytes, Tokenizer], int] = count_bytes,
    ) -> None:
        """`passed` is what was written before the answer; every answer starts with it.

        `joined` is False if the payload is only a part of what is written to stdout.
        """
        self._joined = joined
        self._tokenizer = tokenizer
        self._passed = passed
        self._count = count
        self._stderr = b""
        self._stderr_tokens = 0

    def cost(self, payload: bytes, stderr: bytes) -> int:
        """Return the most tokens that a reader can count if this is written to stdout and stderr."""
        if stderr != self._stderr:
            self._stderr, self._stderr_tokens = stderr, self._count(stderr, self._tokenizer)
        if self._passed.words:
            payload = self._passed.with_words(payload)
        apart = self._count(payload, self._tokenizer) + self._stderr_tokens
        if not stderr or not self._joined:
            return apart
        orders = {payload + stderr, stderr + payload, self._passed.followed_by(payload, stderr)}
        return max(apart, *(self._count(order, self._tokenizer) for order in orders))


class ShownStderr(Record):
    """What is shown of stderr."""

    shown: bytes = b""
    notices: tuple[Notice, ...] = ()
    withheld: bool = False
    indexes: Mapping[Stream, PayloadIndex] = {}
    # The most tokens that it was allowed to use.
    tokens: int = 0
    # Whether its mark names the command that shows the rest.
    is_named: bool = False
    # What a survey found in it, and what was left out.
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()


class Worded(Record):
    """A window, its payload as it is written, and tokcap's own words about it."""

    window: Cut
    payload: bytes | LongText
    words: bytes = b""
    # Whether the words say how to get the rest.
    has_note: bool = False


def respond(
    given: Input, payload: bytes | LongText | None, meta: Meta, notices: tuple[Notice, ...]
) -> Response:
    """Return the response, including how the command ended."""
    return Response(given.status, payload, given.failure, notices, given.with_ending(meta))


def is_changed(view: View) -> bool:
    """Return whether the answer differs from the bytes of the output."""
    return FORMS[view.output].has_envelope or bool(view.fields) or not MODES[view.mode].shows_payload


def certainly_fits(view: View, given: Input, tokenizer: Tokenizer, frame: Frame | None) -> bool:
    """Return whether the output is so short that it needs no count: most tokens have at least one byte."""
    limit = view.token_limit
    if is_changed(view) or view.shape not in (AUTO, FALLBACK):
        return False
    if limit is None or view.token_offset or view.token_count or given.size > limit or given.out.lost:
        return False
    if given.has_words(given.notices) or given.passed.words:
        # What is said about it has to fit too.
        return False
    out, err = given.whole()
    together = out + err
    if given.ending and given.ending.signal is not None and b"\x1b" in together:
        # A terminal may have to be reset after it.
        return False
    # A character whose bytes are apart becomes several replacement characters.
    orders = [together] if together.isascii() else [together, err + out, given.passed.followed_by(out, err)]
    if frame:
        if frame.crowding(together, failed=bool(given.status)) > 1:
            return False
        orders.append(frame.around(together))
    return all(most_tokens(text, tokenizer) <= limit for text in orders)


def answer_with_everything(view: View, given: Input, continuation: Continuation | None) -> Answer:
    """Answer with both streams, which are certain to fit. A continuation is named as far as it fits too."""
    out, err = given.whole()
    answer = Answer(respond(given, out, Meta(), given.notices), err)
    return with_words(name_handle(answer, continuation), given, view) if continuation else answer


def with_words(answer: Answer, given: Input, view: View) -> Answer:
    """Add words to an answer that was not counted, as far as they are certain to fit."""
    notices, out = answer.response.notices, answer.response.payload or b""
    if not given.has_words(notices):
        return answer
    from tokcap.steps.own_words import words_within

    # A byte that is not UTF-8 is replaced by a character of three bytes.
    left = None if view.token_limit is None else view.token_limit - 3 * (len(out) + len(answer.stderr))
    return answer.replace(words=words_within(notices, given.errors, answer.stderr or out, left))


def may_withhold(view: View, examined: Examined, frame: Frame | None) -> bool:
    """Return whether the answer may leave something out; False only if it is certainly all of stdout."""
    given = examined.given
    if is_changed(view) or view.token_count or view.token_offset:
        return True
    if given.out.lost or (given.err is not None and given.err.size):
        return True
    if view.token_limit is None:
        return False
    if examined.index.reach(view.token_limit + 1) > view.token_limit:
        return True
    return bool(frame and frame.crowding(given.out.read(0, given.out.size), failed=bool(given.status)) > 1)


def make_answer(
    view: View, payload_limit: int | None, examined: Examined, continuation: Continuation
) -> Answer:
    """Count or cut, and name the stored output. `payload_limit` is the part of the limit for the payload."""
    make = count if view.token_count else cut
    answer = make(view, payload_limit, examined, continuation)
    tokenizer = examined.tokenizer
    if view.model or tokenizer.units_per_token > 1:
        is_own = view.tokenizer_match == "own" and tokenizer.name != BYTES
        answer = answer.with_meta(tokenizer_exact=is_own and tokenizer.units_per_token == 1)
    return name_handle(answer, continuation)


def name_handle(answer: Answer, continuation: Continuation) -> Answer:
    """Name the stored output in `meta` if there is more of it than is shown, or if it is always named."""
    if continuation.handle and (answer.withheld or continuation.is_always_named):
        return answer.with_meta(*continuation.notices(answer.response.meta), **continuation.as_meta())
    return answer


def count(view: View, limit: int | None, examined: Examined, continuation: Continuation) -> Answer:
    """Answer `--token-count`: a number, and nothing of the payload."""
    given, tokenizer = examined.given, examined.tokenizer
    total = examined.index.total_tokens
    number = FORMS[view.output].compose_count(total)
    stderr = ShownStderr()
    if limit is not None and given.err and given.err.size:
        from tokcap.steps.stderr_share import cut_next_to

        # stderr gets the tokens that the number leaves.
        proof = Proof(tokenizer, given.passed, joined=number is not None)
        stderr = cut_next_to(number or b"", given.err, view, limit, examined, continuation, proof)
    notices = given.notices + examined.notices + stderr.notices
    words = b""
    if number is not None and given.has_words(spoken := notices + continuation.notices(None)):
        from tokcap.steps.own_words import words_next_to

        words = words_next_to(number, stderr.shown, limit, spoken, given, Proof(tokenizer, given.passed))
    return Answer(
        respond(given, number, Meta(token_count=total), notices),
        stderr.shown,
        words=words,
        withheld=True,
        indexes={**examined.indexes, **stderr.indexes},
    )


class Cutting(Record):
    """What is cut for one answer, and how."""

    view: View
    examined: Examined
    # stdout as its mode shows it.
    shown: Examined
    continuation: Continuation
    form: Form
    proof: Proof
    # What is said in words next to an answer in text form.
    spoken: tuple[Notice, ...]

    def streams(self, limit: int | None) -> tuple[Worded, ShownStderr]:
        """Return what both streams show within a limit."""
        view, shown, given, continuation = self.view, self.shown, self.examined.given, self.continuation
        ask = Ask(
            limit,
            view.token_offset,
            shown.keep,
            view.align,
            view.sentinel,
            continuation.out,
            remark=continuation.remark("out"),
            exact=self.examined.tokenizer.name != BYTES,
            gaps_option=continuation.gaps_option,
            passed=given.passed.out,
            pointer_command=continuation.pointer,
            text_command=continuation.text,
        )
        if limit is not None and given.err and given.err.size:
            from tokcap.steps.stderr_share import cut_both

            worded, stderr = cut_both(self, ask, given.err)
        else:
            # Without a limit, stderr is part of the answer only if it was held back.
            stderr = ShownStderr(given.err.read(0, given.err.size) if given.err else b"")
            worded = self.stdout(ask, stderr.shown)
        return worded, stderr

    def stdout(self, ask: Ask, stderr: bytes) -> Worded:
        """Cut stdout to what stderr leaves, together with tokcap's own words if there are any."""
        form, shown, proof = self.form, self.shown, self.proof
        has_note = bool(ask.sentinel) and not shown.shape.mark_has_note
        has_words = not form.has_envelope and (has_note or shown.given.has_words(self.spoken))
        if has_words and ask.limit is not None:
            from tokcap.steps.own_words import WordedCut

            return WordedCut(ask, ask.limit, shown, stderr, form, proof, self.spoken).best()
        is_long = ask.limit is None and not ask.offset and shown.payload.size >= LONG_BYTES
        whole = shown.shape.whole(shown.payload) if is_long and not self.view.exact_total else None
        payload: bytes | LongText
        if whole:
            window, payload = Cut((), 0, long=whole), form.compose_long(whole)
        else:
            window = shown.shape.cut(
                shown.payload, shown.index, ask, lambda parts: proof.cost(form.compose(parts), stderr)
            )
            payload = form.compose(window.parts)
        if not has_words:
            return Worded(window, payload)
        from tokcap.steps.own_words import words_next_to

        notices = (*self.spoken, *window.notices)
        return Worded(window, payload, words_next_to(payload, stderr, None, notices, shown.given, proof))

    def least_limit(self, limit: int) -> int | None:
        """Return the lowest limit that shows something, if this one shows nothing; None if it is large."""
        too_low, enough = limit, 2 * limit
        while self.streams(enough)[0].window.empty:
            if enough > max(MOST_SUGGESTED_TOKENS, limit):
                return None
            too_low, enough = enough, 2 * enough
        while too_low + 1 < enough:
            middle = (too_low + enough) // 2
            if self.streams(middle)[0].window.empty:
                too_low = middle
            else:
                enough = middle
        return enough


def cut(view: View, payload_limit: int | None, examined: Examined, continuation: Continuation) -> Answer:
    """Answer with the window that was asked for, proven by a count of the bytes that will be written."""
    given, tokenizer, source = examined.given, examined.tokenizer, examined.index
    form, limit = FORMS[view.output], view.token_limit
    if view.exact_total:
        source.count_all()
    mode, shown = MODES[view.mode], examined
    if not mode.shows_payload:
        from tokcap.steps.examination import in_mode

        shown = in_mode(view, examined, continuation)
    proof = Proof(tokenizer, given.passed, joined=not form.has_envelope)
    about = given.notices + shown.notices
    lost = continuation.notices(Meta(shape=shown.shape.name, truncated=limit is not None))
    # An envelope says in `meta` that the offset is past the end.
    spoken = about + lost + past_end(view, shown)
    cutting = Cutting(view, examined, shown, continuation, form, proof, spoken)
    worded, stderr = cutting.streams(payload_limit)
    window, payload = worded.window, worded.payload
    notices = about + stderr.notices + window.notices
    next_offset = window.gap.first if window.gap and not window.gap.lost else None
    if next_offset is not None and window.empty and limit is not None and payload_limit is not None:
        # The next page would be this one again.
        next_offset = None
        too_small = f"limit {limit} is too small to show anything at this offset"
        if enough := cutting.least_limit(payload_limit):
            too_small += f"; use {limit - payload_limit + enough} or more"
        notices += (Notice("LIMIT_TOO_SMALL", too_small, of_the_cut=True),)
    # A description of the output withholds all of it.
    total = source.total if mode.describes else shown.index.total
    is_exact = tokenizer.name != BYTES
    is_total_exact = is_exact and total.exact
    is_partial = window.gap is not None or window.first_token > 0
    is_counted = is_exact and isinstance(payload, bytes)
    meta = Meta(
        truncated=window.gap is not None or bool(window.notices) or mode.describes,
        token_limit=limit,
        token_offset=window.first_token if is_partial else None,
        returned_tokens=count_bytes(bytes(payload), tokenizer) if form.has_envelope and is_counted else None,
        total_tokens=total.tokens if is_total_exact else None,
        total_tokens_estimate=None if is_total_exact else total.tokens,
        next_offset=next_offset,
        continue_=None if next_offset is None else continuation.arguments_at(next_offset),
        truncation_hint=window.hint or None,
        focus=(stderr.findings + window.findings)[:MOST_FINDINGS] or None,
        first_pointer=window.first_pointer if is_partial else None,
        next_pointer=window.next_pointer,
        # What is written block by block is everything.
        returned_count=window.returned_count if shown.total_count and not window.long else shown.total_count,
        total_count=shown.total_count,
        shape=shown.shape.name,
        mode=None if mode.shows_payload else view.mode,
        binary=True if not shown.index.valid_utf8 else None,
    )
    all_gaps: Mapping[Stream, tuple[Gap, ...]] = {"out": window.gaps, "err": stderr.gaps}
    return Answer(
        respond(given, payload, meta, notices),
        stderr.shown,
        words=worded.words,
        withheld=bool(
            meta.truncated or window.first_token or view.fields or stderr.withheld or not mode.shows_payload
        ),
        shape=shown.shape.name if shown.is_whole_stream else AUTO,
        total_count=shown.total_count if shown.is_whole_stream else None,
        indexes={**examined.indexes, **stderr.indexes},
        gaps={name: gaps for name, gaps in all_gaps.items() if gaps and gaps[0].line},
    )


def past_end(view: View, shown: Examined) -> tuple[Notice, ...]:
    """Warn about an offset at which there is nothing to show."""
    offset = view.token_offset
    if not offset or shown.index.reach(offset + 1) > offset:
        return ()
    total = shown.index.total_tokens
    return (Notice("OFFSET_PAST_END", f"nothing is at offset {offset}: the output has {total} tokens"),)
