"""Decide whether the session was shown an output before, and what it notes about this one.

Loaded only with `--repeat mark` or `diff`. The ledger has what was shown, as handles under keys. A key is a
digest: a command may contain secrets. If in doubt, the output is shown as it would be without `--repeat`.
"""

from __future__ import annotations

import os

from tokcap.lean.digest import blake2b
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import FALLBACK, MODES, is_plain_text, sniff
from tokcap.steps.repeat_answers import LINE_TOKENS, Repeat, difference, unchanged

if TYPE_CHECKING:
    from tokcap.budget.reports import Shown
    from tokcap.core.request import Request
    from tokcap.environment import Environment
    from tokcap.steps.answer import Answer
    from tokcap.steps.delivery import Bill
    from tokcap.steps.inputs import RunInput
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
        charge.note_shown(shown.but(handles={keys.call: NO_HANDLE}))
    if ticket is None:
        return answer
    price = bill.price(answer, call.request)
    repeat = Repeat(answer, call, given, bill, charge, ticket)
    if is_known(shown, keys, last, handle):
        line = unchanged(repeat, is_last=last == handle)
        if line.fits() and line.price() < price:
            known = (key for key in shown.handles if key != keys.call)
            return noted(line.answer, shown, handle, *known, keys.call)
    elif call.request.repeat == "diff" and last and last != handle and may_differ_by_lines(repeat, last):
        lines = difference(repeat, last)
        if lines and lines.fits() and DIFFERENCE_SHARE * lines.price() <= price:
            return noted(lines.answer, shown, handle, keys.difference, keys.call)
    if price <= LINE_TOKENS:
        # A line in its place would not be shorter.
        return noted(answer, shown, handle, keys.call)
    whole = () if answer.withheld else (keys.whole,)
    return noted(answer, shown, handle, *whole, keys.view, keys.window, keys.call).but(is_kept=True)


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
    return answer.but(showing=shown.but(handles=dict.fromkeys(keys, handle)))


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
