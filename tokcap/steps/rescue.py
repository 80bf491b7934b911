"""Decide what to try next when an answer cannot be made. Output and status of a command must come out.

Each failure gives up more: first the shape, then the tokenizer, then everything but the first bytes.
"""

from __future__ import annotations

from tokcap.core.cut import Kept
from tokcap.core.notice import Notice
from tokcap.core.request import STDERR_SHARE
from tokcap.core.response import Failure, Meta
from tokcap.environment import line_of
from tokcap.errors import TokcapError, TokenizerFailed, TokenizerUnavailable
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK
from tokcap.steps.answer import Answer, respond, with_words
from tokcap.system.shortage import shortage_of
from tokcap.tokens.byte_tokenizer import ByteTokenizer

if TYPE_CHECKING:
    from tokcap.core.request import View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.inputs import Input


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
    if view.token_count:
        return failed_count(attempt, error)
    if isinstance(attempt.tokenizer, ByteTokenizer):
        if not given.has_run:
            raise error
        return first_bytes(attempt, Notice("CUT_FAILED", f"cutting failed: {cause}"))
    if not isinstance(error, TokenizerFailed) and view.shape != FALLBACK:
        # The shape may be the only problem. As text, the output has the same tokens.
        notice = Notice("CUT_FAILED", f"cutting failed: {cause}; treated as text")
        return attempt.but(view=view.but(shape=FALLBACK), given=given.but(notices=(*given.notices, notice)))
    reason = str(error) if isinstance(error, TokenizerFailed) else f"counting failed: {cause}"
    notice = Notice("TOKENIZER_FAILED", f"{reason}; counted every byte as a token instead")
    # Warnings of earlier attempts no longer apply.
    kept = tuple(known for known in given.notices if known.code != notice.code and known.code != "CUT_FAILED")
    return Attempt(view.but(shape=FALLBACK), given.but(notices=(*kept, notice)), ByteTokenizer())


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
    return Answer(response.but(status=status, failure=failure), words=words, withheld=True)


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
