"""What is answered when something fails.

After a command has run, its output and status must come out. Each failure to make the answer gives up more:
first the shape, then the tokenizer, then everything but the first bytes. A call that is refused gets one line
on stderr, and an envelope if its form has one. It is not charged.
"""

from __future__ import annotations

from tokcap.core.cut import Kept
from tokcap.core.request import DEFAULTS, STDERR_SHARE
from tokcap.core.response import Failure, Meta, Notice
from tokcap.environment import line_of
from tokcap.errors import (
    BudgetExhausted,
    LedgerError,
    NotFound,
    PatternTooSlow,
    ReaderGone,
    SessionNotStarted,
    TokcapError,
    TokenizerFailed,
    TokenizerUnavailable,
    UsageError,
)
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import Answer, Proof, respond, with_words
from tokcap.steps.capture import NOTHING_PASSED, RunInput
from tokcap.system.shortage import shortage_of
from tokcap.tokens import open_tokenizer, safe_count
from tokcap.tokens.approx import ByteTokenizer

if TYPE_CHECKING:
    from tokcap.core.request import View
    from tokcap.core.response import Response
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.capture import Input


# No session can pay for these, or nobody reads them.
UNCHARGED = (BudgetExhausted, SessionNotStarted, LedgerError, ReaderGone)
ELLIPSIS = "…"
# A message may quote a word of the caller, of any length. This much is enough to recognize it.
MOST_CHARACTERS = 1000


class Attempt(Record):
    """One way to make the answer: with this view, from this input, with this tokenizer."""

    view: View
    given: Input
    tokenizer: Tokenizer


def rescue(attempt: Attempt, error: Exception) -> Attempt | Answer:
    """Return what to try after an error, or an answer if nothing is left. Raise what a caller must see."""
    view, given = attempt.view, attempt.given
    cause = shortage_of(error) or repr(error)
    if not given.has_run:
        if isinstance(error, TokcapError):
            # Nothing has run, and the error says what is wrong.
            raise error
        # Damaged bytes may be the reason. This raises an error that says so.
        given.out.check(0, given.out.size)
    if isinstance(error, PatternTooSlow):
        notice = Notice("PATTERN_TOO_SLOW", str(error))
        return attempt.replace(
            view=view.replace(focus=""), given=given.replace(notices=(*given.notices, notice))
        )
    if isinstance(error, NotFound):
        given = given.replace(
            notices=(*given.notices, Notice("FIELD_UNKNOWN", f"{error}; everything is shown"))
        )
        if isinstance(given, RunInput) and given.ending is None:
            # Then the exit status is not that of a command.
            given = given.replace(captured=given.captured.replace(broken=UsageError(str(error))))
        return attempt.replace(view=view.replace(fields=""), given=given)
    if view.token_count:
        return failed_count(attempt, error)
    if isinstance(attempt.tokenizer, ByteTokenizer):
        if not given.has_run:
            raise error
        return first_bytes(attempt, Notice("CUT_FAILED", f"cutting failed: {cause}"))
    if not isinstance(error, TokenizerFailed) and view.shape != FALLBACK:
        # The shape may be the only problem. As text, the output has the same tokens.
        notice = Notice("CUT_FAILED", f"cutting failed: {cause}; treated as text")
        return attempt.replace(
            view=view.replace(shape=FALLBACK), given=given.replace(notices=(*given.notices, notice))
        )
    reason = str(error) if isinstance(error, TokenizerFailed) else f"counting failed: {cause}"
    notice = Notice("TOKENIZER_FAILED", f"{reason}; counted every byte as a token instead")
    # Warnings of earlier attempts no longer apply.
    kept = tuple(known for known in given.notices if known.code != notice.code and known.code != "CUT_FAILED")
    return Attempt(view.replace(shape=FALLBACK), given.replace(notices=(*kept, notice)), ByteTokenizer())


def repeat_failed(error: Exception) -> Notice:
    """Return the warning that an output could not be compared with what its session was shown."""
    return Notice("REPEAT_FAILED", f"the output could not be compared with earlier ones: {error!r}")


def failed_count(attempt: Attempt, error: Exception) -> Answer:
    """Answer `--token-count` without a number."""
    reason = (
        str(error)
        if isinstance(error, TokenizerFailed)
        else f"cutting failed: {shortage_of(error) or repr(error)}"
    )
    response = respond(attempt.given, None, Meta(), ())
    failure = response.failure or Failure(TokenizerUnavailable.code, f"{reason}; nothing was counted")
    status = response.status or TokenizerUnavailable.exit_status
    # A failure of tokcap is always reported, as a refusal is.
    words = line_of(failure.message)
    return Answer(response.replace(status=status, failure=failure), words=words, withheld=True)


def first_bytes(attempt: Attempt, notice: Notice) -> Answer:
    """Answer with the first bytes, as many as certainly fit."""
    view, given = attempt.view, attempt.given
    # At most half of the limit is for saying what failed. A byte that is not UTF-8 is replaced by a character
    # of three bytes.
    reserved = 0 if FORMS[view.output].has_envelope else len(line_of(f"warning: {notice.message}")) + 1
    limit = view.token_limit
    room = given.size if limit is None else (limit - min(reserved, limit // 2)) // 3
    # What is already written has to be part of the answer.
    err_bytes = max(min(given.err.size, room // STDERR_SHARE), given.passed.err) if given.err else 0
    out_bytes = max(min(given.out.size, room - err_bytes), given.passed.out)
    payload = FORMS[view.output].compose((Kept(given.out.read(0, out_bytes)),))
    stderr = given.err.read(0, err_bytes) if given.err else b""
    meta = Meta(truncated=True, token_limit=limit)
    answer = Answer(respond(given, payload, meta, (*given.notices, notice)), stderr, withheld=True)
    return answer if FORMS[view.output].has_envelope else with_words(answer, given, view)


def countable(view: View) -> Tokenizer:
    """Return the tokenizer of the call; the default one if it is the reason of the refusal."""
    try:
        return open_tokenizer(view.tokenizer)
    except TokenizerUnavailable:
        return open_tokenizer(str(DEFAULTS["tokenizer"]))


def brief(error: TokcapError, answer: Response, view: View | None) -> Response:
    """Return a failure that no session pays for, cut to the limit of its call, or to a few lines without one.

    A limit is not lower than the least useful answer. `view` is None if the call could not be parsed.
    """
    assert answer.failure is not None, "this is a failure"
    message = answer.failure.message
    if len(message) > MOST_CHARACTERS:
        answer = answer.replace(failure=answer.failure.replace(message=message[:MOST_CHARACTERS] + ELLIPSIS))
    if view is None or view.token_limit is None or isinstance(error, UNCHARGED):
        return answer
    limit = max(view.token_limit, FORMS[view.output].least_tokens)
    if len(envelope_written(answer, view.output) + line_written(answer)) <= limit:
        # Counting takes time, and a token has at least one byte.
        return answer
    return fitted(answer, view, countable(view), limit)


def fitted(answer: Response, view: View, tokenizer: Tokenizer, limit_tokens: int) -> Response:
    """Return the answer with as much of its message as the limit allows. It may quote a long command."""
    while (price := price_of(answer, view, tokenizer)) > limit_tokens:
        assert answer.failure is not None, "this is a failure"
        message = answer.failure.message.removesuffix(ELLIPSIS)
        if not message:
            return answer
        # What is not the message costs something too, so the share alone may be too long again and again.
        kept = min(len(message) * limit_tokens // price, len(message) - len(message) // 8 - 1)
        answer = answer.replace(failure=answer.failure.replace(message=message[:kept] + ELLIPSIS))
    return answer


def price_of(answer: Response, view: View, tokenizer: Tokenizer) -> int:
    """Return what a failure costs its reader: both streams."""
    proof = Proof(tokenizer, NOTHING_PASSED, count=safe_count)
    return proof.cost(envelope_written(answer, view.output), line_written(answer))


def line_written(answer: Response) -> bytes:
    return line_of(answer.failure.message) if answer.failure else b""


def envelope_written(answer: Response, output: str) -> bytes:
    form = FORMS[output]
    return form.write(answer) if form.has_envelope else b""
