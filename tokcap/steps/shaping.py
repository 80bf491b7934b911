"""What stdout is, and what of it is shown: its shape, the fields that were asked for, a terser mode.

Most output fits as it is, so nothing here is loaded before something has to be counted.
"""

from __future__ import annotations

from tokcap.core.spool import in_memory
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import text as text_shape

if TYPE_CHECKING:
    from tokcap.core.cut import CutShape
    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape, View
    from tokcap.steps.answer import Streams, Ways
    from tokcap.tokens import Index


class Shaped(Record):
    """The payload as it is shown: with its shape, and with the fields that were asked for."""

    payload: Payload
    shape: Shape = "text"
    cut: CutShape = text_shape.cut
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # Whether it is the output itself, and not a selection from it.
    original: bool = True


def shaped(view: View, streams: Streams) -> Shaped:
    """Find out what stdout is, and select from it."""
    if view.token_count and not view.fields:
        return Shaped(streams.out, original=not streams.derived)
    if view.shape in ("auto", "text") and streams.shape == "auto" and not view.fields:
        # Most output is plainly text. The other shapes are not even loaded for it.
        from tokcap.shapes.beginning import BEGINNING_BYTES, certainly_text

        size = min(streams.out.size, BEGINNING_BYTES)
        if view.shape == "text" or certainly_text(streams.out.read(0, size)):
            return Shaped(streams.out, original=not streams.derived)
    from tokcap.shapes.sniff import Sniffed, sniff

    # What was made from a stored output is what it is; a shape that is asked for is that of the output.
    if streams.derived or (view.shape == "auto" and streams.shape != "auto"):
        found = Sniffed(streams.shape, streams.total_count)
    else:
        found = sniff(streams.out, view.shape)
    if not view.fields:
        cut = cut_of(found.shape)
        return Shaped(
            streams.out, found.shape, cut, found.total_count, found.notices, original=not streams.derived
        )
    from tokcap.shapes.fields import select

    selected = select(streams.out.read(0, streams.out.size), found.shape, view.fields)
    payload = in_memory(selected.data)
    notices = found.notices + selected.notices
    # Of what is left there may be nothing, or another number of records.
    found = sniff(payload, found.shape) if selected.data else found.but(shape="text")
    return Shaped(payload, found.shape, cut_of(found.shape), found.total_count, notices, original=False)


def cut_of(shape: Shape) -> CutShape:
    """How a shape is cut. Only the one that is needed is loaded."""
    if shape in ("json", "jsonl"):
        from tokcap.shapes import values

        return values.cut_document if shape == "json" else values.cut_lines
    if shape in ("csv", "tsv"):
        from tokcap.shapes import table

        return table.cut_csv if shape == "csv" else table.cut_tsv
    return text_shape.cut


def in_mode(view: View, streams: Streams, shape: Shaped, index: Index, ways: Ways) -> Shaped:
    """The payload as a terser mode shows it."""
    from tokcap.shapes.modes import Facts, as_table, handle_only, summary

    if view.mode == "table":
        changed = as_table(shape.payload, shape.shape)
        data, found, notices = changed.data, changed.shape, changed.notices
    else:
        ending = streams.captured.ending if streams.captured else streams.stored_ending
        total = index.total
        facts = Facts(
            handle=ways.handle,
            exit_status=ending.status if ending else None,
            signal=ending.signal if ending else None,
            out_bytes=streams.out.size + streams.out.lost,
            err_bytes=streams.err_kept.size if streams.err_kept else 0,
            out_tokens=total.tokens,
            out_tokens_exact=total.exact,
            err=streams.err_kept,
            total_count=shape.total_count,
            lost_bytes=streams.out.lost,
        )
        data = (
            summary(shape.payload, shape.shape, facts)
            if view.mode == "summary"
            else handle_only(facts, shape.shape)
        )
        found, notices = "text", ()
    cut = cut_of(found)
    return Shaped(in_memory(data), found, cut, shape.total_count, shape.notices + notices, original=False)
