"""The short answers to an output that the reader has, or nearly has: one line, or the lines that differ.

They cost what they cost: the caller compares that with the usual answer. The ledger is not touched here.
"""

from __future__ import annotations

from tokcap.core.cut import Kept, Mark
from tokcap.core.mark import words_of
from tokcap.core.tokenizer import Total
from tokcap.errors import TokcapError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.steps.proof import Proof
from tokcap.store import open_store
from tokcap.tokens import count_bytes, open_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.core.cut import Part
    from tokcap.core.payload import Payload
    from tokcap.core.request import Stream
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.delivery import Bill
    from tokcap.steps.inputs import RunInput
    from tokcap.steps.line_diff import Comparison
    from tokcap.steps.opening import Call
    from tokcap.store.base import Ticket

# The first words of these answers.
UNCHANGED, DIFFERENT = "[UNCHANGED]", "[DIFF]"
# The line that stands for an output has at most this many tokens. Of the two vocabularies that come with
# tokcap, one counts up to two more than the other.
LINE_TOKENS, VOCABULARY_DIFFERENCE_TOKENS = 25, 2
# Larger streams are not compared line by line.
MOST_COMPARED_BYTES, MOST_COMPARED_LINES = 4 << 20, 50_000


class Repeat(Record):
    """An output that may have been shown before, and the usual answer to it."""

    answer: Answer
    call: Call
    given: RunInput
    bill: Bill
    charge: Charge
    ticket: Ticket


class ShortAnswer(Record):
    """An answer that can replace the usual one if it is cheaper."""

    answer: Answer
    repeat: Repeat

    def price(self) -> int:
        return self.repeat.bill.price(self.answer, self.repeat.call.request)

    def fits(self) -> bool:
        """Return whether a recount of it is within the limit."""
        view, answer = self.repeat.call.request, self.answer
        return (
            view.token_limit is None
            or proof_of(self.repeat).cost(answer.response.payload or b"", answer.all_stderr)
            <= view.token_limit
        )


def proof_of(repeat: Repeat) -> Proof:
    call = repeat.call
    return Proof(call.tokenizer, repeat.given.passed, joined=not FORMS[call.request.output].has_envelope)


def unchanged(repeat: Repeat, *, is_last: bool) -> ShortAnswer:
    """Return the line for an output that the reader has; `is_last`: it is the last one of the same call."""
    way = way_to(repeat, "out" if repeat.given.out.size or not repeat.given.err else "err")
    notes: tuple[str, ...]
    if is_last:
        tokens = words_of(total_of(repeat, "out", "err"))
        notes = (f"{tokens} tokens as before: {way}", f"{tokens} tokens: {way}", f"as before: {way}", way)
    else:
        notes = (f"same as another output: {way}", f"as another output: {way}", way)
    most = LINE_TOKENS - VOCABULARY_DIFFERENCE_TOKENS
    note = next((note for note in notes if line_tokens(repeat, note) <= most), way)
    return composed(repeat, (Mark(UNCHANGED, note),), b"", "unchanged", repeat.ticket.handle, note)


def line_tokens(repeat: Repeat, note: str) -> int:
    return count_bytes(FORMS["text"].compose((Mark(UNCHANGED, note),)), repeat.call.tokenizer)


def difference(repeat: Repeat, last: str) -> ShortAnswer | None:
    """Return the lines that differ from another output; None if they cannot be found or shown."""
    compared = compared_with(repeat, last)
    if compared is None:
        return None
    out, err = compared
    hint = f"{counts(out)} since {last}"
    if err.new and not err.changes:
        hint += "; stderr the same"
    hint += f"; all: {way_to(repeat, 'out')}"
    text = with_header(hint, out)
    stderr = with_header(f"stderr: {counts(err)}; all: {way_to(repeat, 'err')}", err) if err.changes else b""
    env = repeat.call.env
    if b"\x1b" in text + stderr and (env.is_terminal(env.stdout) or env.is_terminal(env.stderr)):
        # Single lines could leave a terminal in any state.
        return None
    return composed(repeat, (Kept(text),), stderr, "diff", last, hint)


def compared_with(repeat: Repeat, last: str) -> tuple[Comparison, Comparison] | None:
    """Compare both streams with those of a stored output; None if that is gone, or if they are too large."""
    from tokcap.steps.line_diff import compare

    given = repeat.given
    try:
        stored = open_store(repeat.call.env, repeat.call.request.store).open(last)
    except TokcapError:
        return None
    try:
        if stored.handle != last:
            return None
        old_out, old_err = beginning(stored.streams.get("out")), beginning(stored.streams.get("err"))
    except TokcapError:
        # It is damaged.
        return None
    finally:
        stored.close()
    new_out, new_err = beginning(given.out), beginning(given.err)
    if any(map(is_too_large, (old_out, old_err, new_out, new_err))):
        return None
    return compare(old_out, new_out), compare(old_err, new_err)


def beginning(stream: Payload | None) -> bytes:
    """Return all bytes of a stream, or enough to see that there are too many."""
    return b"" if stream is None else stream.read(0, min(stream.size, MOST_COMPARED_BYTES + 1))


def is_too_large(data: bytes) -> bool:
    return len(data) > MOST_COMPARED_BYTES or data.count(b"\n") > MOST_COMPARED_LINES


def counts(compared: Comparison) -> str:
    return f"+{compared.added} -{compared.removed} of {len(compared.new)} lines"


def with_header(hint: str, compared: Comparison) -> bytes:
    """Return the changes after a line that says what they are."""
    return f"{DIFFERENT} {hint}\n".encode() + (compared.written() if compared.changes else b"")


def way_to(repeat: Repeat, stream: Stream) -> str:
    """Return the command that shows a stream of the output."""
    handle, env = repeat.ticket.handle, repeat.call.env
    if tools := env.tools:
        return f"{tools.show} handle={handle}" + ("" if stream == "out" else " stream=err")
    return f"{env.program} show {handle}" + ("" if stream == "out" else " --stream err")


def total_of(repeat: Repeat, *names: Stream) -> Total:
    """Return the tokens of these streams together."""
    streams: Mapping[Stream, Payload | None] = {"out": repeat.given.out, "err": repeat.given.err}
    totals = [
        (repeat.answer.indexes.get(name) or open_index(payload, repeat.call.tokenizer)).total
        for name in names
        if (payload := streams[name]) is not None and payload.size
    ]
    return Total(sum(total.tokens for total in totals), all(total.exact for total in totals))


def composed(
    repeat: Repeat, parts: Sequence[Part], stderr: bytes, kind: str, of_handle: str, hint: str
) -> ShortAnswer:
    """Return the answer that has these parts as payload. The output itself is stored with it."""
    call, before = repeat.call, repeat.answer.response
    view, form = call.request, FORMS[call.request.output]
    payload = form.compose(parts)
    continuation = call.continuation(needs_handle=True)
    total = total_of(repeat, "out")
    meta = before.meta.but(
        truncated=True,
        token_limit=view.token_limit,
        token_offset=None,
        returned_tokens=count_bytes(payload, call.tokenizer) if form.has_envelope else None,
        total_tokens=total.tokens if total.exact else None,
        total_tokens_estimate=None if total.exact else total.tokens,
        next_offset=0,
        continue_=continuation.arguments_at(0),
        truncation_hint=hint,
        first_pointer=None,
        next_pointer=None,
        returned_count=None,
        mode=None,
        repeat=kind,
        repeat_of=of_handle,
        **continuation.as_meta(),
    )
    notices = tuple(notice for notice in before.notices if not notice.of_the_cut)
    # Unless stderr differs, its end is part of what the reader has.
    failure = before.failure.but(detail="") if before.failure and not stderr else before.failure
    response = before.but(body=payload, failure=failure, notices=notices, meta=meta)
    answer = repeat.answer.but(response=response, stderr=stderr, words=b"", withheld=True, proven_tokens=None)
    if form.has_envelope:
        from tokcap.steps.fitting import complete

        return ShortAnswer(complete(answer, view, repeat.bill, repeat.charge), repeat)
    return ShortAnswer(answer.but(words=words_about(answer, repeat)), repeat)


def words_about(answer: Answer, repeat: Repeat) -> bytes:
    """Return the warnings that fit next to an answer in text form."""
    response, given, limit = answer.response, repeat.given, repeat.call.request.token_limit
    if not given.has_words(response.notices):
        return b""
    from tokcap.steps.own_words import Speech, after

    payload, proof = response.payload or b"", proof_of(repeat)
    before = answer.stderr or payload
    words = Speech(response.notices, given.errors).longest(
        lambda words: limit is None or proof.cost(payload, answer.stderr + after(before, words)) <= limit
    )
    return after(before, words)
