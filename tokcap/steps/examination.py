"""Examine stdout before it is answered: find its shape, select fields, open the index of its tokens.

Most output fits as it is, so none of this is loaded before something has to be counted.
"""

from __future__ import annotations

from tokcap.core.cut import Circumstances
from tokcap.core.request import AUTO
from tokcap.core.response import Notice
from tokcap.errors import UsageError
from tokcap.exits import OK
from tokcap.keep import KEEPS
from tokcap.keep.head import HEAD
from tokcap.shapes import FALLBACK, MODES, SHAPES, is_plain_text, sniff
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens import open_index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.cut import KeepPolicy
    from tokcap.core.payload import Payload
    from tokcap.core.request import Mode, Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.shapes.base import Shape
    from tokcap.steps.capture import Input
    from tokcap.steps.continuation import Continuation
    from tokcap.tokens.base import PayloadIndex


class Examined(Record):
    """stdout as it will be shown, with its shape and where its tokens are."""

    given: Input
    tokenizer: Tokenizer
    payload: Payload
    index: PayloadIndex
    shape: Shape
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # Whether `payload` is the stream itself, not a selection from it.
    is_whole_stream: bool = True
    # The keep policy of this call. It may remember what it found in a payload.
    keep: KeepPolicy = HEAD

    @property
    def indexes(self) -> Mapping[Stream, PayloadIndex]:
        """Return the indexes of whole streams, which are worth storing."""
        return {"out": self.index} if self.is_whole_stream else self.given.counted


def examine(view: View, given: Input, tokenizer: Tokenizer) -> Examined:
    """Find out what stdout is, and select from it what was asked for."""
    whole, known = not given.is_derived, given.known
    index = open_index(given.out, tokenizer, known.checkpoints if whole else None)
    notices = notices_about_tokenizer(view, tokenizer)
    keep = KEEPS[view.keep].for_call(circumstances(view, given))
    plain = Examined(given, tokenizer, given.out, index, SHAPES[FALLBACK], None, notices, whole, keep)
    if not view.fields:
        # What was passed on live was passed on as text.
        if view.token_count or given.passed.out:
            return plain
        # Most output is plainly text. The other shapes are not even loaded for it.
        if known.shape == AUTO and is_plain_text(view.shape, given.out):
            return plain
    from tokcap.shapes.base import Sniffed

    # The shape of a derived output is known; a shape that the caller names is that of the whole output.
    if given.is_derived or (view.shape == AUTO and known.shape != AUTO):
        found = Sniffed(known.shape, known.total_count)
    else:
        found = sniff(given.out, view.shape)
    if not view.fields:
        notices += found.notices
        return plain.replace(shape=SHAPES[found.shape], total_count=found.total_count, notices=notices)
    from tokcap.core.payload import TextPayload
    from tokcap.shapes.paths import select

    given.out.check(0, given.out.size)
    selected = select(given.out, found.shape, view.fields)
    payload = TextPayload(selected.data)
    notices += found.notices + selected.notices
    # The selection may be empty, or have another number of records.
    found = sniff(payload, found.shape) if selected.data else found.replace(shape=FALLBACK)
    return plain.replace(
        payload=payload,
        index=open_index(payload, tokenizer),
        shape=SHAPES[found.shape],
        total_count=found.total_count,
        notices=notices,
        is_whole_stream=False,
    )


def circumstances(view: View, given: Input) -> Circumstances:
    """Return what a keep policy may know about this call."""
    ending = given.ending
    failed = None if ending is None else ending.signal is not None or ending.status != OK
    return Circumstances(view.token_offset, failed, view.focus, view.ask, is_begun=given.passed.out > 0)


def notices_about_tokenizer(view: View, tokenizer: Tokenizer) -> tuple[Notice, ...]:
    """Return a warning if the count is not that of the model that reads the output, or is an estimate."""
    if view.tokenizer_match == "substitute":
        return (substituted(view),)
    # In a window the mark and `meta` say it. A number alone does not.
    if tokenizer.units_per_token > 1 and view.token_count:
        show = f"tokcap tokenizer show {tokenizer.name}"
        message = f"{tokenizer.name} is a profile, so this count is an estimate: {show}"
        return (Notice("TOKENS_ESTIMATED", message),)
    return ()


def mode_for(view: View, examined: Examined) -> Mode:
    """Return the mode of the answer: a session makes no table of what programs parse."""
    is_table = view.mode_of_session and not MODES[view.mode].describes
    return "raw" if is_table and examined.shape.is_parsed else view.mode


def in_mode(view: View, examined: Examined, continuation: Continuation) -> Examined:
    """Return the payload as a terser mode shows it."""
    from tokcap.core.payload import TextPayload
    from tokcap.shapes.base import RunFacts

    mode, given, ending = MODES[view.mode], examined.given, examined.given.ending
    # Only a description has the total, which may cost a count of everything.
    total = examined.index.total if mode.describes else None
    facts = RunFacts(
        handle=continuation.handle,
        reader=continuation.reader,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        out_bytes=given.out.size + given.out.lost,
        err_bytes=given.err_to_summarize.size if given.err_to_summarize else 0,
        out_tokens=total.tokens if total else None,
        out_tokens_exact=total.exact if total else True,
        err=given.err_to_summarize,
        total_count=examined.total_count,
        lost_bytes=given.out.lost,
        limit_tokens=view.token_limit,
    )
    changed = mode.changed(examined.payload, examined.shape, facts)
    payload = TextPayload(changed.data)
    return examined.replace(
        payload=payload,
        index=open_index(payload, examined.tokenizer),
        shape=SHAPES[changed.shape],
        notices=examined.notices + changed.notices,
        is_whole_stream=False,
        # A description says what matters at its beginning.
        keep=HEAD if mode.describes and examined.keep.survey else examined.keep,
    )


def substituted(view: View) -> Notice:
    """Return a warning that says how the tokens of the model could be counted."""
    from tokcap.tokens.models import find_model

    try:
        needed = find_model(view.model, {}).tokenizer
    except UsageError:
        # A model of the user's own table.
        needed = None
    if needed:
        reason = f"the vocabulary of {view.model} was not added (tokcap tokenizer add {needed} FILE)"
    else:
        reason = f"the tokenizer of {view.model} is not published"
    return Notice("TOKENIZER_SUBSTITUTED", f"{reason}; counted with {view.tokenizer}")
