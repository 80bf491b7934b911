"""Examine stdout before it is answered: find its shape, select fields, open the index of its tokens.

Most output fits as it is, so none of this is loaded before something has to be counted.
"""

from __future__ import annotations

from tokcap.core.spool import in_memory
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.shapes import text as text_shape
from tokcap.tokens import Index

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.cut import CutShape
    from tokcap.core.notice import Notice
    from tokcap.core.payload import Payload
    from tokcap.core.request import Shape, Stream, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.inputs import Input


class Examined(Record):
    """stdout as it will be shown, with its shape and where its tokens are."""

    given: Input
    tokenizer: Tokenizer
    payload: Payload
    index: Index
    shape: Shape = "text"
    cut: CutShape = text_shape.cut
    total_count: int | None = None
    notices: tuple[Notice, ...] = ()
    # Whether `payload` is the stream itself, not a selection from it.
    is_whole_stream: bool = True

    @property
    def indexes(self) -> Mapping[Stream, Index]:
        """Return the indexes of whole streams, which are worth storing."""
        return {"out": self.index} if self.is_whole_stream else self.given.counted


def examine(view: View, given: Input, tokenizer: Tokenizer) -> Examined:
    """Find out what stdout is, and select from it what was asked for."""
    whole = not given.is_derived
    index = Index(given.out, tokenizer, given.known.checkpoints if whole else None)
    plain = Examined(given, tokenizer, given.out, index, is_whole_stream=whole)
    if view.token_count and not view.fields:
        return plain
    if view.shape in ("auto", "text") and given.known.shape == "auto" and not view.fields:
        # Most output is plainly text. The other shapes are not even loaded for it.
        from tokcap.shapes.beginning import BEGINNING_BYTES, certainly_text

        size = min(given.out.size, BEGINNING_BYTES)
        if view.shape == "text" or certainly_text(given.out.read(0, size)):
            return plain
    from tokcap.shapes.sniff import Sniffed, sniff

    # The shape of a derived output is known; a shape that the caller names is that of the whole output.
    if given.is_derived or (view.shape == "auto" and given.known.shape != "auto"):
        found = Sniffed(given.known.shape, given.known.total_count)
    else:
        found = sniff(given.out, view.shape)
    if not view.fields:
        return plain.but(
            shape=found.shape, cut=cut_of(found.shape), total_count=found.total_count, notices=found.notices
        )
    from tokcap.shapes.fields import select

    selected = select(given.out.read(0, given.out.size), found.shape, view.fields)
    payload = in_memory(selected.data)
    notices = found.notices + selected.notices
    # The selection may be empty, or have another number of records.
    found = sniff(payload, found.shape) if selected.data else found.but(shape="text")
    return Examined(
        given,
        tokenizer,
        payload,
        Index(payload, tokenizer),
        found.shape,
        cut_of(found.shape),
        found.total_count,
        notices,
        is_whole_stream=False,
    )


def cut_of(shape: Shape) -> CutShape:
    """How a shape is cut. Only the one that is needed is loaded."""
    if shape in ("json", "jsonl"):
        from tokcap.shapes import values

        return values.cut_document if shape == "json" else values.cut_lines
    if shape in ("csv", "tsv"):
        from tokcap.shapes import table

        return table.cut_csv if shape == "csv" else table.cut_tsv
    return text_shape.cut


def in_mode(view: View, examined: Examined, continuation: Continuation) -> Examined:
    """Return the payload as a terser mode shows it."""
    from tokcap.shapes.modes import Facts, as_table, handle_only, summary

    given = examined.given
    if view.mode == "table":
        changed = as_table(examined.payload, examined.shape)
        data, found, notices = changed.data, changed.shape, changed.notices
    else:
        ending, total = given.ending, examined.index.total
        facts = Facts(
            handle=continuation.handle,
            exit_status=ending.status if ending else None,
            signal=ending.signal if ending else None,
            out_bytes=given.out.size + given.out.lost,
            err_bytes=given.err_to_summarize.size if given.err_to_summarize else 0,
            out_tokens=total.tokens,
            out_tokens_exact=total.exact,
            err=given.err_to_summarize,
            total_count=examined.total_count,
            lost_bytes=given.out.lost,
        )
        data = (
            summary(examined.payload, examined.shape, facts)
            if view.mode == "summary"
            else handle_only(facts, examined.shape)
        )
        found, notices = "text", ()
    payload = in_memory(data)
    return examined.but(
        payload=payload,
        index=Index(payload, examined.tokenizer),
        shape=found,
        cut=cut_of(found),
        notices=examined.notices + notices,
        is_whole_stream=False,
    )
