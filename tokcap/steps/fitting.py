"""Fit an answer into its limit: one rule for every form, with or without a session, frame or terminal.

Make an answer for a limit of its payload, recount the final bytes as their reader gets them, and repeat with
a smaller limit until they fit. An envelope says less next to a payload that would get too little room.
"""

from __future__ import annotations

from tokcap.core.response import Failure, Meta, Response, last_lines
from tokcap.core.tokenizer import BYTES
from tokcap.errors import TokenizerFailed, UsageError
from tokcap.outputs import FORMS
from tokcap.shapes import MODES
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import Proof, make_answer
from tokcap.steps.capture import NOTHING_PASSED
from tokcap.tokens import count_bytes, safe_count

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcap.core.request import View
    from tokcap.core.response import Notice
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Input, Passed
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.examination import Examined

# `budget_remaining` is part of what the envelope costs. It rarely changes that cost twice.
REMAINING_ATTEMPTS = 5
# How much of the end of stderr, and how many findings, stay in an envelope that is too large.
SHORT_DETAIL_CHARACTERS, FEW_FINDINGS = 200, 4
# How much of a message stays in the smallest envelope.
SHORT_MESSAGE_CHARACTERS = 60
# What `meta` must have: how much is missing, where the rest is, and how the command ended.
NEEDED_META = (
    *("duration_ms", "tokenizer", "tokenizer_exact", "schema_version", "truncated", "token_count"),
    *("total_tokens", "total_tokens_estimate", "next_offset", "continue_", "handle", "spill_truncated"),
    *("mode", "session", "budget_remaining", "repeat", "exit_code", "exit_from", "signal"),
)
# The smallest envelope, with values as long as they get.
LONGEST_MS, LARGE_NUMBER = 9_999_999, 9_999_999_999
SMALLEST = Response(
    status=1,
    body=None,
    failure=Failure("COMMAND_KILLED", "the command was killed by signal 15 (SIGTERM)"),
    notices=(),
    meta=Meta(
        duration_ms=LONGEST_MS,
        truncated=True,
        total_tokens_estimate=LARGE_NUMBER,
        next_offset=LARGE_NUMBER,
        handle="sums203371687",
        exit_code=255,
        exit_from="command",
        signal=15,
    ),
)


class Bill(Record):
    """What an answer costs its reader, and the session that pays for it."""

    # None if no session pays.
    charge: Charge | None
    tokenizer: Tokenizer
    stopwatch: Stopwatch
    env: Environment
    # Tokens that were written before the answer, and are paid for with it.
    already_written_tokens: int = 0
    # The beginning of the answer that was written before.
    passed: Passed = NOTHING_PASSED

    def price(self, answer: Answer, view: View, tokenizer: Tokenizer | None = None) -> int:
        """Return what an answer costs: a recount of all bytes, on both streams, in every order."""
        proof = Proof(tokenizer or self.tokenizer, self.passed, count=safe_count)
        written = FORMS[view.output].write(answer.response)
        return proof.cost(written, answer.all_stderr) + self.already_written_tokens

    def fits(self, answer: Answer, view: View) -> bool:
        """Return whether the final bytes are within the limit."""
        return view.token_limit is None or self.excess(answer, view, view.token_limit, self.tokenizer) <= 0

    def excess(self, answer: Answer, view: View, limit: int, tokenizer: Tokenizer) -> int:
        """Return how many tokens an answer costs beyond the limit, as its reader gets it.

        `tokenizer` counts bytes if that of the call has failed.
        """
        form, frame = FORMS[view.output], self.env.frame
        if tokenizer.name == BYTES and form.has_envelope:
            # An envelope has far fewer tokens than bytes. Counted as bytes, it would leave no room for data.
            payload = answer.response.payload or b""
            return len(payload) + len(answer.all_stderr) + form.least_tokens - limit
        price = self.price(answer, view, tokenizer)
        if form.has_envelope:
            # The same output gets the same window, however long the command takes.
            price = max(price, self.price(answer.with_meta(duration_ms=LONGEST_MS), view, tokenizer))
        if frame:
            # An agent may write it as a JSON string.
            written = form.write(answer.response) + answer.all_stderr
            price = max(price, safe_count(frame.around(written), tokenizer))
            crowding = frame.crowding(written, failed=bool(answer.response.status))
            if crowding > 1:
                return max(price - limit, limit - int(price / crowding), 1)
        return price - limit

    def complete(self, answer: Answer, view: View, said: Callable[[Answer], Answer] | None = None) -> Answer:
        """Add what is known about every call, and what the session has left when it has paid for the answer.

        `said` leaves out what there is no room for.
        """
        answer = answer.with_meta(
            duration_ms=self.stopwatch.milliseconds,
            tokenizer=self.tokenizer.name,
            tokenizer_digest=self.tokenizer.digest or None,
        )
        if self.charge and FORMS[view.output].has_envelope:
            answer = answer.with_meta(session=self.charge.session)
        answer = said(answer) if said else answer
        if self.charge is None or answer.response.meta.session is None:
            return answer
        for _ in range(REMAINING_ATTEMPTS):
            left = self.charge.remaining_after(self.price(answer, view))
            if left == answer.response.meta.budget_remaining:
                return answer
            answer = answer.with_meta(budget_remaining=left)
        # Each value changes the price, which changes the value. Leave it out.
        return answer.with_meta(budget_remaining=None)

    def settle(self, answer: Answer, view: View) -> tuple[Notice, ...]:
        """Charge an answer to its session. Return a warning if that fails."""
        return self.charge.settle(self.price(answer, view)) if self.charge else ()

    def amended(self, answer: Answer, view: View) -> Answer:
        """Let a session that is charged later pay for the warning about that too; return the answer."""
        if self.charge:
            self.charge.amend(self.price(answer, view))
        return answer


def check_limit(view: View, tokenizer: Tokenizer) -> None:
    """Refuse a limit that is lower than the smallest envelope, or than a count."""
    form, limit = FORMS[view.output], view.token_limit
    if limit is None:
        return
    if form.has_envelope:
        from tokcap.steps.continuation import option_words

        way = ("show", f"{SMALLEST.meta.handle}@{LARGE_NUMBER}", *option_words(view, None))
        meta = SMALLEST.meta.replace(tokenizer=tokenizer.name, continue_=way)
        if view.session:
            meta = meta.replace(session=view.session, budget_remaining=LARGE_NUMBER)
        asked, sample = f"--output {view.output}", form.write(SMALLEST.replace(meta=meta))
    elif view.token_count:
        asked, sample = "--token-count", form.compose_count(LARGE_NUMBER) or b""
    else:
        return
    # A token has at least one byte, so most limits need no count.
    if limit >= len(sample):
        return
    try:
        least = count_bytes(sample, tokenizer)
    except TokenizerFailed:
        # The answer reports it.
        return
    if limit < least:
        raise UsageError(
            f"--token-limit {limit} is too small for {asked}: the limit covers the whole"
            f" answer, and the smallest one needs {least}; use --token-limit {least} or more"
        )


def fit_answer(view: View, examined: Examined, continuation: Continuation, bill: Bill) -> Answer:
    """Return the answer. Where a session chose the mode, it is all of the output if that costs no more."""
    if not view.mode_of_session or MODES[view.mode].shows_payload:
        return fit_largest(view, examined, continuation, bill)
    answer = fit_largest(view, examined, continuation, bill)
    price = bill.price(answer, view)
    if examined.index.reach(price + 1) <= price:
        raw = view.replace(mode="raw", token_limit=price, limit_if_cut=None)
        whole = fitted(raw, examined, continuation, bill)
        if not whole.withheld:
            return whole.with_meta(token_limit=view.token_limit)
    return answer


def fit_largest(view: View, examined: Examined, continuation: Continuation, bill: Bill) -> Answer:
    """Return the largest answer whose final bytes cost at most the limit, or the lower one if it is cut."""
    limit, if_cut = view.token_limit, view.limit_if_cut
    if limit is None or if_cut is None or if_cut >= limit:
        return fitted(view, examined, continuation, bill)
    if examined.index.reach(limit + 1) <= limit:
        answer = fitted(view, examined, continuation, bill)
        if not answer.withheld:
            return answer
    return fitted(view.replace(token_limit=if_cut), examined, continuation, bill)


def fitted(view: View, examined: Examined, continuation: Continuation, bill: Bill) -> Answer:
    """Return the largest answer whose final bytes cost at most the limit."""
    limit = view.token_limit
    for change, least_share in LEVELS[FORMS[view.output].has_envelope]:
        payload_limit, attempts = limit, 0
        while True:
            answer = make_answer(view, payload_limit, examined, continuation)
            if change is not without_resets:
                answer = with_resets(answer, view, examined.given, bill.env)
            answer = bill.complete(answer, view, change)
            if limit is None or payload_limit is None:
                return answer
            excess = bill.excess(answer, view, limit, examined.tokenizer)
            if excess <= 0:
                return answer
            attempts += 1
            payload_limit = lowered(payload_limit, excess, limit, attempts)
            if payload_limit < max(limit * least_share, 1):
                break
    answer = bill.complete(answer, view, without_payload)
    # What is already written is a part of every answer.
    given = examined.given
    return answer.replace(stderr=given.err.read(0, given.passed.err) if given.err else b"")


def lowered(payload_limit: int, excess: int, limit: int, attempts: int) -> int:
    """Return the limit of the next payload.

    What stands beside a payload costs the same beside a smaller one. What is put between its characters costs
    about the same share of it. Each further attempt gives up more, so that a few are enough.
    """
    if 2 * excess > payload_limit:
        return payload_limit * limit // (limit + excess)
    return payload_limit - max(excess, attempts)


def with_all(answer: Answer) -> Answer:
    return answer


def without_resets(answer: Answer) -> Answer:
    return answer


def brief(answer: Answer) -> Answer:
    """Return the answer with less beside its payload: of stderr, of the findings, of what is said twice."""
    response = answer.response
    failure, focus = response.failure, response.meta.focus
    if failure:
        failure = failure.replace(detail=last_lines(failure.detail, SHORT_DETAIL_CHARACTERS))
    # The arguments of the next call say the same as the hint.
    meta = response.meta.replace(truncation_hint=None, spill_path=None, focus=focus and focus[:FEW_FINDINGS])
    return answer.replace(response=response.replace(failure=failure, meta=meta))


def least(answer: Answer) -> Answer:
    """Return the answer with only what it must have beside its payload."""
    response = answer.response
    failure, found = response.failure, response.meta.__dict__
    notices = tuple(
        notice.replace(message=notice.message.partition(": ")[0])
        for notice in response.notices
        if not notice.of_the_cut or notice.code == "LIMIT_TOO_SMALL"
    )
    response = response.replace(
        failure=failure and Failure(failure.code, failure.message[:SHORT_MESSAGE_CHARACTERS]),
        notices=notices,
        meta=Meta(**{name: found[name] for name in NEEDED_META}),
    )
    return answer.replace(response=response)


def without_payload(answer: Answer) -> Answer:
    """Return the smallest answer: it says that nothing could be shown, and where all of it is."""
    answer = least(answer).with_meta(truncated=True, next_offset=None, continue_=None, session=None)
    return answer.replace(response=answer.response.replace(body=None, notices=()), words=b"")


# How an answer is changed if it does not fit, in this order; and which part of the limit its payload must be
# able to use until then. By whether the form has an envelope.
LEVELS: Mapping[bool, Sequence[tuple[Callable[[Answer], Answer], float]]] = {
    False: ((with_all, 0), (without_resets, 0)),
    True: ((with_all, 0.5), (brief, 0.25), (least, 0)),
}


def with_resets(answer: Answer, view: View, given: Input, env: Environment) -> Answer:
    """Undo what a partial answer leaves switched on in the terminal that shows it, such as a colour.

    The command would have switched it off in the part that is not shown. Other readers get nothing added.
    """
    is_partial = answer.withheld or (given.ending is not None and given.ending.signal is not None)
    if not is_partial or not answer.may_change_screen:
        return answer
    from tokcap.filters.terminal_modes import resets_after

    payload, stderr = answer.response.payload or b"", answer.stderr
    if env.is_terminal(env.stderr):
        stderr += b"".join(resets_after(stderr))
    if env.is_terminal(env.stdout) and (resets := b"".join(resets_after(payload))):
        # Before the mark, which is not to appear on a screen that is left with them.
        last_line = payload.rfind(b"\n", 0, max(len(payload) - 1, 0)) + 1
        sentinel = view.sentinel.encode("utf-8", "surrogateescape")
        place = last_line if sentinel and payload.startswith(sentinel, last_line) else len(payload)
        payload = payload[:place] + resets + payload[place:]
        answer = answer.replace(response=answer.response.replace(body=payload))
    return answer.replace(stderr=stderr)
