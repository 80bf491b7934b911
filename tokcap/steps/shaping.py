"""What stdout is, and what of it is shown: its shape, the fields that were asked for, a terser mode.

Most output fits unchanged, so nothing here is loaded before something must be counted.
"""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import AUTO, FALLBACK, MODES, SHAPES, is_plain_text, sniff
from tokcap.steps.capture import in_memory

if TYPE_CHECKING:
    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import View
    from tokcap.shapes.base import Shape
    from tokcap.steps.answer import Streams, Ways
    from tokcap.tokens import Index


class Shaped(Record):
    """The payload as it is shown: with its shape, and with the fields that were asked for."""

    payload: Payload
    shape: Shape
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # Whether it is the output itself, and not a selection from it.
    original: bool = True


def shaped(view: View, streams: Streams) -> Shaped:
    """Find out what stdout is, and select from it."""
    as_text = Shaped(streams.out, SHAPES[FALLBACK], original=not streams.derived)
    if not view.fields:
        if view.token_count:
            return as_text
        # Most output is plainly text. The other shapes are not even loaded for it.
        if streams.shape == AUTO and is_plain_text(view.shape, streams.out):
            return as_text
    from tokcap.shapes.base import Sniffed

    # A part of a stored output keeps the shape that it was given; a declared shape is that of the whole
    # output.
    if streams.derived or (view.shape == AUTO and streams.shape != AUTO):
        found = Sniffed(streams.shape, streams.total_count)
    else:
        found = sniff(streams.out, view.shape)
    if not view.fields:
        return Shaped(
            streams.out,
            SHAPES[found.shape],
            found.total_count,
            found.notices,
            original=not streams.derived,
        )
    from tokcap.shapes.fields import select

    selected = select(streams.out.read(0, streams.out.size), found.shape, view.fields)
    payload = in_memory(selected.data)
    notices = found.notices + selected.notices
    # The selection may be empty, or have another number of records.
    found = sniff(payload, found.shape) if selected.data else found.but(shape=FALLBACK)
    return Shaped(payload, SHAPES[found.shape], found.total_count, notices, original=False)


def in_mode(view: View, streams: Streams, shaped: Shaped, index: Index, ways: Ways) -> Shaped:
    """Return the payload as a terser mode shows it."""
    from tokcap.shapes.base import RunFacts

    ending = streams.captured.ending if streams.captured else streams.stored_ending
    mode = MODES[view.mode]
    facts = RunFacts(
        handle=ways.handle,
        exit_status=ending.status if ending else None,
        signal=ending.signal if ending else None,
        out_bytes=streams.out.size + streams.out.lost,
        err_bytes=streams.err_kept.size if streams.err_kept else 0,
        # Only a description has the total, which may cost a count of everything.
        out_tokens=index.total.tokens if mode.describes else None,
        out_tokens_exact=index.total.exact if mode.describes else True,
        err=streams.err_kept,
        total_count=shaped.total_count,
        lost_bytes=streams.out.lost,
    )
    changed = mode.changed(shaped.payload, shaped.shape, facts)
    return Shaped(
        in_memory(changed.data),
        SHAPES[changed.shape],
        shaped.total_count,
        shaped.notices + changed.notices,
        original=False,
    )
