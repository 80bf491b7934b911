"""Answer an output that the session was shown before by one line, or by the lines that differ.

Loaded only with `--repeat mark` or `diff`. The ledger has what was shown, as handles under keys. A key is a
digest: a command may contain secrets. If in doubt, the output is shown as it would be without `--repeat`.
"""

from __future__ import annotations

import os

from tokcap.core.cut import Kept, Mark
from tokcap.core.digest import blake2b
from tokcap.core.mark import words_of
from tokcap.core.tokenizer import Total
from tokcap.errors import TokcapError
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK, MODES, is_plain_text, sniff
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.answer import Proof
from tokcap.store import open_store
from tokcap.tokens import count_bytes, open_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.budget.base import Shown
    from tokcap.core.cut import Part
    from tokcap.core.payload import Payload
    from tokcap.core.request import Request, Stream
    from tokcap.environment import Environment
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import RunInput
    from tokcap.steps.charging import Charge
    from tokcap.steps.fitting import Bill
    from tokcap.steps.line_diff import Comparison
    from tokcap.steps.opening import Call
    from tokcap.store.base import Ticket


# A difference has to cost at most one part in this many of the answer that it replaces.
DIFFERENCE_SHARE = 2
# These do not change what a call shows.
NOT_OF_THE_CALL = ("command", "session", "turn", "repeat")
# After these warnings it is not certain what an answer shows.
FAILURES = ("TOKENIZER_FAILED", "CUT_FAILED")
KEY_BYTES = 16
# Noted for a call while its output is on its way: its last output is not known then.
NO_HANDLE = ""


class Keys(Record):
    """The keys under which the ledger notes one output."""

    # Has the last output of the same call: the same arguments, directory and options.
    call: str
    # Noted if all of the output was shown; if these very bytes were; if the window that these options ask for
    # was; if the difference to an output was that the reader has.
    whole: str
    view: str
    window: str
    difference: str


def answer_repeat(answer: Answer, call: Call, given: RunInput, bill: Bill) -> Answer:
    """Return a shorter answer if the session knows the output, else `answer`; with what is to be noted."""
    charge = call.paying
    ticket = ticket_of(answer, call, given)
    handle = ticket.handle if ticket else NO_HANDLE
    keys = keys_of(answer, call, handle)
    shown = charge.shown((keys.call, keys.whole, keys.view, keys.difference)) if charge else None
    if charge is None or shown is None:
        return answer
    last = shown.handles.get(keys.call)
    if last:
        # If this process is killed, nobody knows what its reader got.
        charge.note_shown(shown.replace(handles={keys.call: NO_HANDLE}))
    if ticket is None:
        return answer
    view = call.request
    price = bill.price(answer, view)
    repeat = Repeat(answer, call, given, bill, charge, ticket)
    if is_known(shown, keys, last, handle):
        line = unchanged(repeat, is_last=last == handle)
        if bill.fits(line, view) and bill.price(line, view) < price:
            known = (key for key in shown.handles if key != keys.call)
            return noted(line, shown, handle, *known, keys.call)
    elif view.repeat == "diff" and last and last != handle and may_differ_by_lines(repeat, last):
        lines = difference(repeat, last)
        if lines and bill.fits(lines, view) and DIFFERENCE_SHARE * bill.price(lines, view) <= price:
            return noted(lines, shown, handle, keys.difference, keys.call)
    if price <= LINE_TOKENS:
        # A line in its place would not be shorter.
        return noted(answer, shown, handle, keys.call)
    whole = () if answer.withheld else (keys.whole,)
    return noted(answer, shown, handle, *whole, keys.view, keys.window, keys.call).replace(is_kept=True)


def is_known(shown: Shown, keys: Keys, last: str | None, handle: str) -> bool:
    """Return whether the reader has the output, and can tell which one it is.

    If the same call has shown another output since, `unchanged` would be taken for that one.
    """
    if last == handle and keys.difference in shown.handles:
        return True
    return last in (None, handle) and (keys.whole in shown.handles or keys.view in shown.handles)


def may_differ_by_lines(repeat: Repeat, last: str) -> bool:
    """Return whether lines of this output can be shown, and the reader has the last one.

    A part of the lines of a document or a table is neither.
    """
    call, view, out = repeat.call, repeat.call.request, repeat.given.out
    if not MODES[call.asked.mode].shows_payload or view.fields or view.token_offset:
        return False
    if not is_plain_text(view.shape, out) and sniff(out, view.shape).shape != FALLBACK:
        return False
    shown = repeat.charge.shown(
        (key_of(call, "whole", last), window_key(call, last), key_of(call, "difference", last))
    )
    return bool(shown and shown.handles)


def noted(answer: Answer, shown: Shown, handle: str, *keys: str) -> Answer:
    """Return the answer with what the ledger notes after it was delivered."""
    return answer.replace(showing=shown.replace(handles=dict.fromkeys(keys, handle)))


def ticket_of(answer: Answer, call: Call, given: RunInput) -> Ticket | None:
    """Return the handle of the output; None if the output cannot be compared."""
    is_uncertain = any(notice.code in FAILURES for notice in answer.response.notices)
    if call.recorder is None or is_uncertain or given.errors:
        return None
    ticket = call.recorder.reserve()
    # Bytes that are not stored do not change the handle.
    return None if ticket is None or ticket.truncated else ticket


def keys_of(answer: Answer, call: Call, handle: str) -> Keys:
    command = call.asked.command
    return Keys(
        call=key_of(call, "call", directory_of(call.env), *options_of(call.asked), "--", *command),
        whole=key_of(call, "whole", handle),
        view=key_of(call, "view", handle, answer.response.payload or b"", answer.stderr),
        window=window_key(call, handle),
        difference=key_of(call, "difference", handle),
    )


def window_key(call: Call, handle: str) -> str:
    """Return the key for the window that the options ask for, as the budget has adjusted them."""
    return key_of(call, "window", handle, *options_of(call.request))


def options_of(request: Request) -> list[str]:
    return [f"{key}={value!r}" for key, value in request.__dict__.items() if key not in NOT_OF_THE_CALL]


def key_of(call: Call, *parts: str | bytes) -> str:
    """Return the digest of the parts, which is another one in each session."""
    digest = blake2b(digest_size=KEY_BYTES)
    for part in (call.request.session, *parts):
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def directory_of(env: Environment) -> str:
    """Return the directory in which the command runs."""
    try:
        return os.path.abspath(env.directory or os.curdir)
    except OSError:
        # The current directory was removed.
        return ""


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


def unchanged(repeat: Repeat, *, is_last: bool) -> Answer:
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


def difference(repeat: Repeat, last: str) -> Answer | None:
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
    for data in (old_out, old_err, new_out, new_err):
        if len(data) > MOST_COMPARED_BYTES or data.count(b"\n") > MOST_COMPARED_LINES:
            return None
    return compare(old_out, new_out), compare(old_err, new_err)


def beginning(stream: Payload | None) -> bytes:
    """Return all bytes of a stream, or enough to see that there are too many."""
    return b"" if stream is None else stream.read(0, min(stream.size, MOST_COMPARED_BYTES + 1))


def counts(compared: Comparison) -> str:
    return f"+{compared.added} -{compared.removed} of {len(compared.new)} lines"


def with_header(hint: str, compared: Comparison) -> bytes:
    """Return the changes after a line that says what they are."""
    return f"{DIFFERENT} {hint}\n".encode() + (compared.written() if compared.changes else b"")


def way_to(repeat: Repeat, stream: Stream) -> str:
    """Return the call that shows a stream of the output."""
    options = [] if stream == "out" else [("stream", "err")]
    return repeat.call.env.reader.call(repeat.ticket.handle, options)


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
) -> Answer:
    """Return the answer that has these parts as payload. The output itself is stored with it."""
    call, before = repeat.call, repeat.answer.response
    view, form = call.request, FORMS[call.request.output]
    payload = form.compose(parts)
    continuation = call.continuation(needs_handle=True)
    total = total_of(repeat, "out")
    meta = before.meta.replace(
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
    failure = before.failure.replace(detail="") if before.failure and not stderr else before.failure
    response = before.replace(body=payload, failure=failure, notices=notices, meta=meta)
    answer = repeat.answer.replace(response=response, stderr=stderr, words=b"", withheld=True)
    given = repeat.given
    if not form.has_envelope and given.has_words(notices):
        from tokcap.steps.own_words import words_next_to

        proof = Proof(call.tokenizer, given.passed)
        words = words_next_to(payload, stderr, view.token_limit, notices, given, proof)
        answer = answer.replace(words=words)
    return repeat.bill.complete(answer, view)
