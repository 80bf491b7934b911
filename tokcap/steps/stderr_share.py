"""stderr next to the answer: one limit covers both streams, and stderr gets a share of it."""

from __future__ import annotations

from tokcap.core.cut import Ask, Mark
from tokcap.core.request import NAMING_LIMIT, STDERR_SHARE
from tokcap.core.response import Notice
from tokcap.keep.ends import ENDS_PREFERRING_LAST
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK, MODES, SHAPES
from tokcap.startup.record import TYPE_CHECKING
from tokcap.steps.answer import ShownStderr
from tokcap.tokens import count_bytes, open_index

if TYPE_CHECKING:
    from tokcap.core.cut import Part
    from tokcap.core.payload import Payload
    from tokcap.core.request import Stream, View
    from tokcap.steps.answer import Cutting, Proof, Worded
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined
    from tokcap.tokens.base import PayloadIndex


# About what a mark with its command costs.
MARK_TOKENS = 26
# Structured output up to this size is compared with stderr.
COMPARED_BYTES = 2 << 20


def stderr_limit(limit: int, out_tokens: int, err_tokens: int) -> int:
    """Return how many of `limit` tokens stderr may use: what stdout leaves, but at least a quarter.

    The quarter is rounded up, so that a small limit does not hide the error; one token stays for stdout.
    """
    quarter = min(-(-limit // STDERR_SHARE), limit - 1)
    return min(err_tokens, max(quarter, limit - out_tokens, 0))


def stdout_tokens(view: View, limit: int, shown: Examined) -> int:
    """Return how many tokens stdout could use; counted no further than the limit requires."""
    form = FORMS[view.output]
    tokens = max(shown.index.reach(view.token_offset + limit + 1) - view.token_offset, 0)
    if tokens <= limit and form.has_envelope:
        # In JSON, escapes and brackets cost extra tokens, even if the payload is empty.
        everything = Ask(None, view.token_offset, shown.keep, view.align, view.sentinel)
        rest = shown.shape.cut(shown.payload, shown.index, everything, lambda _parts: 0).parts
        tokens = count_bytes(form.compose(rest), shown.tokenizer)
    return tokens


def cut_both(cutting: Cutting, ask: Ask, err: Payload) -> tuple[Worded, ShownStderr]:
    """Cut stderr to its share, and stdout to what that leaves. Both are proven together."""
    view, shown, examined, limit = cutting.view, cutting.shown, cutting.examined, ask.limit
    assert limit is not None
    out_tokens = stdout_tokens(view, limit, shown)
    wanted = None
    if examined.keep.survey and not MODES[view.mode].describes:
        wanted = surveyed_share(view, limit, shown, err, out_tokens)
    least, most = 0, limit
    while True:
        stderr = cut_stderr(err, view, limit, out_tokens, examined, cutting.continuation, most, least, wanted)
        worded = cutting.stdout(ask, stderr.shown)
        if stderr.withheld and not (stderr.is_named or worded.window.gap or least):
            least = min(NAMING_LIMIT, limit // 2)
            if least > stderr.tokens:
                # Nothing else is withheld, so the mark in stderr has to name the command.
                continue
        excess = cutting.proof.cost(bytes(worded.payload), stderr.shown + worded.words) - limit
        if excess <= 0 or stderr.tokens <= 0 or most <= 0:
            return worded, stderr
        # The order in which both were written costs more than the streams alone.
        most = min(most, stderr.tokens) - excess


def surveyed_share(view: View, limit: int, shown: Examined, err: Payload, out_tokens: int) -> int | None:
    """Return how many tokens stderr should get by what both streams say; None if that is not comparable."""
    policy = shown.keep.survey
    index = open_index(err, shown.tokenizer)
    is_short = out_tokens + index.reach(limit + 1) <= limit
    # Structured output is compared as lines of text, unless that takes long.
    is_comparable = shown.shape is SHAPES[FALLBACK] or shown.payload.size <= COMPARED_BYTES
    if policy is None or is_short or not is_comparable:
        return None
    from tokcap.focus.window import SurveyedLines
    from tokcap.shapes.text import start_of_window

    start, start_byte = start_of_window(shown.index, view.token_offset)
    texts = (
        SurveyedLines(shown.payload, shown.index, start, start_byte, limit, policy),
        SurveyedLines(err, index, 0, 0, limit, policy),
    )
    # Each stream that is cut has a mark.
    marks = (MARK_TOKENS if out_tokens else 0) + MARK_TOKENS
    out_share, err_share = policy.divide(max(limit - marks, 1), texts)
    if out_share >= out_tokens:
        # All of stdout fits, so its mark is not needed.
        return limit - out_tokens
    return min(err_share + MARK_TOKENS, limit - MARK_TOKENS)


def cut_next_to(
    payload: bytes,
    err: Payload,
    view: View,
    limit: int,
    examined: Examined,
    continuation: Continuation,
    proof: Proof,
) -> ShownStderr:
    """Cut stderr to what a payload leaves that cannot be cut itself."""
    left = limit - proof.cost(payload, b"")
    while True:
        stderr = cut_stderr(err, view, left, 0, examined, continuation)
        excess = proof.cost(payload, stderr.shown) - limit
        if excess <= 0 or not stderr.shown:
            return stderr
        left -= excess


def cut_stderr(
    err: Payload,
    view: View,
    limit: int,
    out_tokens: int,
    examined: Examined,
    continuation: Continuation,
    most: int | None = None,
    least: int = 0,
    wanted: int | None = None,
) -> ShownStderr:
    """Show all of stderr if possible, else what matters within its share, from `least` to `most` tokens.

    `wanted` replaces the usual share.
    """
    if MODES[view.mode].describes:
        # The summary covers stderr too.
        return ShownStderr(withheld=True)
    tokenizer = examined.tokenizer
    index = open_index(err, tokenizer)
    passed = examined.given.passed.err
    share = stderr_limit(limit, out_tokens, index.total_tokens) if limit > 0 else 0
    if wanted is not None:
        share = min(wanted, index.total_tokens)
    share = max(share, min(least, index.total_tokens))
    share = max(share if most is None else min(share, most), 1 if passed else 0)
    indexes: dict[Stream, PayloadIndex] = {"err": index}
    if not share:
        command = continuation.err.replace("{}", "0", 1)
        message = f"stderr ({index.total_tokens} tokens) does not fit into a limit of {limit}; see {command}"
        notice = Notice("STDERR_HIDDEN", message, of_the_cut=True)
        return ShownStderr(b"", (notice,), withheld=True, indexes=indexes)
    text = FORMS["text"]
    # The last lines of stderr usually give the reason.
    ask = Ask(
        share,
        0,
        examined.keep if examined.keep.survey else ENDS_PREFERRING_LAST,
        "record",
        view.sentinel,
        continuation.err,
        label="stderr ",
        remark=continuation.remark("err"),
        gaps_option=continuation.gaps_option,
        passed=passed,
    )

    def cost(parts: tuple[Part, ...]) -> int:
        return count_bytes(text.compose(parts), tokenizer)

    shown = SHAPES[FALLBACK].cut(err, index, ask, cost)
    notices = (Notice("STDERR_TRUNCATED", shown.hint, of_the_cut=True),) if shown.gap else ()
    return ShownStderr(
        text.compose(shown.parts),
        notices,
        withheld=shown.gap is not None,
        indexes=indexes,
        tokens=share,
        findings=tuple(finding.replace(stream="err") for finding in shown.findings),
        gaps=shown.gaps,
        is_named=any(isinstance(part, Mark) and part.note for part in shown.parts),
    )
