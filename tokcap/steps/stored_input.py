"""What `show` asks for, from a stored output: one of its streams, a value in it, or the lines that match."""

from __future__ import annotations

from tokcap.core.request import AUTO
from tokcap.core.seek_points import SeekPoints
from tokcap.core.spool import Spool, in_memory
from tokcap.core.tokenizer import identity_of
from tokcap.exits import Ending
from tokcap.filters import chain
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.shapes import FALLBACK, SHAPES, sniff
from tokcap.steps.destinations import filtered
from tokcap.steps.inputs import Knowledge, StoredInput
from tokcap.store.base import SEEK_POINTS, index_name
from tokcap.tokens import open_index
from tokcap.tokens.checkpoints import Checkpoints
from tokcap.tokens.index import blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.core.request import ShowRequest, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.filters.base import StreamFilter
    from tokcap.steps.answer import Answer
    from tokcap.steps.opening import Closing
    from tokcap.store.base import StoredOutput


def open_part(
    entry: StoredOutput, request: ShowRequest, tokenizer: Tokenizer, closing: Closing, *, on_screen: bool
) -> StoredInput:
    """Return the part that was asked for, with what the store knows about it.

    On a screen, a value ends with a newline: else the prompt of the shell would follow it.
    """
    stored = entry.streams[request.stream]
    known = Knowledge(checkpoints_of(entry, request.stream, tokenizer))
    if request.stream == "out" and entry.is_whole("out"):
        shape = entry.record.shape if entry.record.shape in SHAPES else AUTO
        known = known.but(shape=shape, total_count=entry.record.total_count)
    ending = None
    if entry.record.exit_status is not None:
        ending = Ending(entry.record.exit_status, entry.record.signal)
    part = StoredInput(stored, err_to_summarize=entry.streams.get("err"), ending=ending, known=known)
    if filters := chain(request):
        part = filtered_part(part, request, filters, closing)
    if request.stream == "out" and not request.grep:
        load_seek_points(entry)
    if request.pointer:
        part = at_pointer(part, request, b"\n" if on_screen else b"")
    if request.grep:
        part = matching_lines(part, request, tokenizer)
    return part


def checkpoints_of(entry: StoredOutput, stream: Stream, tokenizer: Tokenizer) -> Checkpoints | None:
    """Return where the tokens are, as far as an earlier call counted them."""
    name = index_name(stream, identity_of(tokenizer))
    data = entry.read_file(name) if tokenizer.stable else None
    if data is None:
        return None
    found = Checkpoints.unpacked(data, entry.streams[stream].size)
    if found is None:
        entry.note_damage(name, "the output was counted again")
    return found


def load_seek_points(entry: StoredOutput) -> None:
    """Load the positions where windows of a structured output can start, as far as an earlier call went."""
    data = entry.read_file(SEEK_POINTS)
    if data is None:
        return
    out = entry.streams["out"]
    found = SeekPoints.unpacked(data)
    if found is None:
        entry.note_damage(SEEK_POINTS, "the output was read from its beginning")
    else:
        out.seek_points.restore(found)


def filtered_part(
    part: StoredInput, request: ShowRequest, filters: Sequence[StreamFilter], closing: Closing
) -> StoredInput:
    """Return the stream as the filters of this call leave it. Offsets count in that text, as in a run."""
    out = closing.add(Spool(lost_bytes=part.out.lost))
    sink = filtered(out, filters)
    for block in blocks(part.out):
        sink.write(block)
    sink.finish()
    found = sniff(out, request.shape)
    known = Knowledge(shape=found.shape, total_count=found.total_count)
    return part.but(out=out, known=known, notices=part.notices + found.notices, derived=True)


def at_pointer(part: StoredInput, request: ShowRequest, line_end: bytes) -> StoredInput:
    """Return the value at a pointer. A string is text; everything else is JSON, unchanged.

    `line_end` is added unless the value ends with it.
    """
    from tokcap.shapes.pointer import value_at

    shape = part.known.shape
    if request.shape != AUTO or shape == AUTO:
        shape = sniff(part.out, request.shape).shape
    value = value_at(part.out, shape, request.pointer)
    data = value.data.removesuffix(line_end) + line_end
    return StoredInput(in_memory(data), known=Knowledge(shape=value.shape), derived=True)


def matching_lines(part: StoredInput, request: ShowRequest, tokenizer: Tokenizer) -> StoredInput:
    """Return the lines that match, each with its line number and its token offset."""
    from tokcap.steps.grep import grep

    index = open_index(part.out, tokenizer, part.known.checkpoints)
    # A window with an offset needs all lines before it as well.
    enough_tokens = None
    if request.token_limit is not None and KEEPS[request.keep].reads_only_head and not request.token_count:
        enough_tokens = request.token_offset + request.token_limit
    found = grep(part.out, index, request.grep, request.context, enough_tokens)
    lines = in_memory(found.data, lost_bytes=found.left_out_bytes)
    known = Knowledge(shape=FALLBACK, total_count=found.matches)
    # Only positions in the stored stream itself are worth storing.
    return StoredInput(lines, known=known, derived=True, index=None if part.is_derived else index)


def save_findings(entry: StoredOutput, request: ShowRequest, answer: Answer) -> None:
    """Store what was counted and found out, so that the next page does not have to do it again."""
    stream = request.stream
    index = answer.indexes.get("out")
    if index and index.storable:
        size = entry.streams[stream].size
        entry.write_file(index_name(stream, index.identity), index.packed(size))
    if stream != "out":
        return
    out = entry.streams["out"]
    if out.seek_points.changed:
        entry.write_file(SEEK_POINTS, out.seek_points.packed())
    # A shape that the caller named may differ from the one that the next call detects.
    found = answer.shape != AUTO and request.shape == AUTO and entry.is_whole("out")
    if found and entry.record.digest and entry.record.shape == AUTO:
        record = entry.record.but(shape=answer.shape, total_count=answer.total_count)
        entry.write_record(record)
