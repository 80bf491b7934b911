"""A stored output in, what `show` was asked for out: one of its streams, a value in it, or matching lines."""

from __future__ import annotations

from tokcap.core.seek_points import Landmarks
from tokcap.core.spool import in_memory
from tokcap.exits import Ending
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.answer import Streams
from tokcap.store.base import LANDMARKS, index_name
from tokcap.tokens import Checkpoints, Index

if TYPE_CHECKING:
    from tokcap.core.request import Shape, ShowRequest, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.steps.answer import Answer
    from tokcap.store.base import StoredOutput


def open_part(entry: StoredOutput, request: ShowRequest, tokenizer: Tokenizer) -> Streams:
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
        load_landmarks(entry)
    if request.grep:
        part = matching_lines(part, request, tokenizer)
    return part


def checkpoints_of(entry: StoredOutput, stream: Stream, tokenizer: Tokenizer) -> Checkpoints | None:
    """Where tokens lie, as far as somebody has counted."""
    name = index_name(stream, tokenizer.name)
    data = entry.read_file(name) if tokenizer.stable else None
    if data is None:
        return None
    found = Checkpoints.unpacked(data, entry.streams[stream].size)
    if found is None:
        entry.note_damage(name, "the output was counted anew")
    return found


def load_landmarks(entry: StoredOutput) -> None:
    """Where windows of a structured output can begin, as far as somebody has walked."""
    data = entry.read_file(LANDMARKS)
    if data is None:
        return
    out = entry.streams["out"]
    found = Landmarks.unpacked(data)
    if found is None:
        entry.note_damage(LANDMARKS, "the output was read from its beginning")
    else:
        out.landmarks = found


def at_pointer(part: Streams, request: ShowRequest) -> Streams:
    """The value that a pointer leads to. A string is text; everything else is JSON as it stands."""
    from tokcap.shapes.pointer import value_at
    from tokcap.shapes.sniff import sniff

    shape: Shape = part.shape
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
    if request.token_limit is not None and request.keep == "head" and not request.token_count:
        enough_tokens = request.token_offset + request.token_limit
    found = grep(part.out, index, request.grep, request.context, enough_tokens)
    lines = in_memory(found.data, found.left_out_bytes)
    return Streams(lines, shape="text", total_count=found.matches, derived=True, counted={"out": index})


def save_what_was_learnt(entry: StoredOutput, request: ShowRequest, answered: Answer) -> None:
    """Keep what was counted and found out, so that the next page does not have to."""
    stream = request.stream
    index = answered.indexes.get("out")
    if index and index.storable:
        size = entry.streams[stream].size
        entry.write_file(index_name(stream, index.tokenizer), index.checkpoints.packed(size))
    if stream != "out":
        return
    out = entry.streams["out"]
    if out.landmarks.changed:
        entry.write_file(LANDMARKS, out.landmarks.packed())
    # A shape that somebody insisted on is not what the next one finds.
    found = answered.shape != "auto" and request.shape == "auto" and entry.is_whole("out")
    if found and entry.record.digest and entry.record.shape == "auto":
        record = entry.record.but(shape=answered.shape, total_count=answered.total_count)
        entry.write_record(record)
