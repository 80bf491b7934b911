"""A stored output in, what `show` was asked for out: one of its streams, a value in it, or matching lines."""

from __future__ import annotations

from tokcap.core.seek_points import SeekPoints
from tokcap.exits import Ending
from tokcap.keep import KEEPS
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.answer import Streams
from tokcap.steps.capture import in_memory
from tokcap.store.entry import RECORD, SEEK_POINTS, index_name
from tokcap.tokens import Checkpoints, Index

if TYPE_CHECKING:
    from tokcap.core.request import ShowRequest, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.answer import Answer
    from tokcap.store import Entry


def open_part(entry: Entry, request: ShowRequest, tokenizer: Tokenizer) -> Streams:
    """The part that was asked for, with what the store knows of it."""
    stored = entry.streams[request.stream]
    found = checkpoints_of(entry, request.stream, tokenizer)
    ending = None
    if entry.record.exit_status is not None:
        ending = Ending(entry.record.exit_status, entry.record.signal)
    part = Streams(
        stored,
        checkpoints={"out": found} if found else {},
        stored_ending=ending,
        err_kept=entry.streams.get("err"),
    )
    if request.stream == "out" and entry.is_whole("out"):
        part = part.but(shape=entry.record.shape, total_count=entry.record.total_count)
    if request.pointer:
        part = at_pointer(part, request)
    elif request.stream == "out" and not request.grep:
        load_seek_points(entry)
    if request.grep:
        part = matching_lines(part, request, tokenizer)
    return part


def checkpoints_of(entry: Entry, stream: Stream, tokenizer: Tokenizer) -> Checkpoints | None:
    """Where tokens lie, as far as somebody has counted."""
    name = index_name(stream, tokenizer.name)
    data = entry.read_file(name) if tokenizer.stable else None
    if data is None:
        return None
    found = Checkpoints.unpacked(data, entry.streams[stream].size)
    if found is None:
        entry.note_damage(name, "the output was counted anew")
    return found


def load_seek_points(entry: Entry) -> None:
    """Where windows of a structured output can begin, as far as somebody has walked."""
    data = entry.read_file(SEEK_POINTS)
    if data is None:
        return
    out = entry.streams["out"]
    found = SeekPoints.unpacked(data)
    if found is None:
        entry.note_damage(SEEK_POINTS, "the output was read from its beginning")
    else:
        out.seek_points = found


def at_pointer(part: Streams, request: ShowRequest) -> Streams:
    """The value that a pointer leads to. A string is text; everything else is JSON as it stands."""
    from tokcap.shapes import sniff
    from tokcap.shapes.pointer import value_at

    shape = part.shape
    if request.shape != "auto" or shape == "auto":
        shape = sniff(part.out, request.shape).shape
    value = value_at(part.out, shape, request.pointer)
    return Streams(in_memory(value.data), shape=value.shape, derived=True)


def matching_lines(part: Streams, request: ShowRequest, tokenizer: Tokenizer) -> Streams:
    """The lines that match, each with its number and its place in tokens."""
    from tokcap.steps.grep import grep

    index = Index(part.out, tokenizer, part.checkpoints.get("out"))
    # A window further on needs all lines before it as well.
    enough_tokens = None
    if request.token_limit is not None and KEEPS[request.keep].reads_only_head and not request.token_count:
        enough_tokens = request.token_offset + request.token_limit
    found = grep(part.out, index, request.grep, request.context, enough_tokens)
    lines = in_memory(found.data)
    lines.lost = found.left_out_bytes
    return Streams(lines, shape="text", total_count=found.matches, derived=True, counted={"out": index})


def save_what_was_learnt(entry: Entry, request: ShowRequest, answered: Answer) -> None:
    """Keep what was counted and found out, so that the next page does not have to."""
    stream = request.stream
    index = answered.indexes.get("out")
    if index and index.storable:
        size = entry.streams[stream].size
        entry.write(index_name(stream, index.tokenizer), index.checkpoints.packed(size))
    if stream != "out":
        return
    out = entry.streams["out"]
    if out.seek_points.changed:
        entry.write(SEEK_POINTS, out.seek_points.packed())
    # A shape that somebody insisted on is not what the next one finds.
    found = answered.shape != "auto" and request.shape == "auto" and entry.is_whole("out")
    if found and entry.record.digest and entry.record.shape == "auto":
        record = entry.record.but(shape=answered.shape, total_count=answered.total_count)
        entry.write(RECORD, record.packed())
