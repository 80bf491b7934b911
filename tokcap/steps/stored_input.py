"""Open what a `show` needs: tokenizer, budget, and a stored output, a value in it or the lines that match.

Bad calls are refused here.
"""

from __future__ import annotations

from tokcap.core.payload import Spool, TextPayload
from tokcap.core.request import AUTO
from tokcap.core.response import Notice
from tokcap.core.seek_points import SeekPoints
from tokcap.core.tokenizer import identity_of
from tokcap.errors import NotFound
from tokcap.exits import Ending
from tokcap.filters import chain
from tokcap.keep import KEEPS
from tokcap.outputs import FORMS
from tokcap.shapes import FALLBACK, SHAPES, sniff
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.capture import Input, Knowledge
from tokcap.steps.delivery import numbers_of
from tokcap.steps.destinations import filtered
from tokcap.steps.fitting import check_limit
from tokcap.steps.opening import open_budget, paying
from tokcap.store import caller_of, open_store
from tokcap.store.base import SEEK_POINTS, index_name
from tokcap.tokens import open_index, open_tokenizer
from tokcap.tokens.index import Checkpoints, blocks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from tokcap.core.request import ShowRequest, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.filters import StreamFilter
    from tokcap.steps.answer import Answer
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.opening import Closing
    from tokcap.store.base import StoredOutput

    Asked = TypeVar("Asked", bound=ShowRequest)


# The age of an output that was stored less than this ago is not worth a number.
JUST_NOW_SECONDS = 60
LONGEST_COMMAND_CHARACTERS = 60


class ShowCall(Record):
    """A call of `show`."""

    request: ShowRequest
    env: Environment
    stopwatch: Stopwatch
    tokenizer: Tokenizer
    charge: Charge | None
    stored: StoredOutput
    given: Input
    # The limit that the caller gave; None: that of the run applies, on the next page too.
    asked_limit: int | None = None

    @property
    def paying(self) -> Charge | None:
        return paying(self.charge)

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return how the rest is fetched: from the stored output, which is named in any case."""
        from tokcap.steps.continuation import continuation_of
        from tokcap.store.base import Ticket

        stream, stored = self.request.stream, self.stored
        lost_bytes = {stream: stored.record.lost_bytes.get(stream, 0)}
        ticket = Ticket(stored.handle, stored.local_path(stream), stored.record.stored_bytes, lost_bytes)
        found = continuation_of(
            ticket, self.request, self.env.reader, always=True, token_limit=self.asked_limit
        )
        return found.replace(stored_at=stored.record.stored_at) if is_relative(self.request.handle) else found

    @property
    def always_names_handle(self) -> bool:
        return True

    def save_findings(self, answer: Answer) -> None:
        """Store what was counted and found out, so that the next page does not have to do it again."""
        entry, request = self.stored, self.request
        stream = request.stream
        index = answer.indexes.get("out")
        if index and index.storable:
            size = entry.streams[stream].size
            entry.write_file(index_name(stream, index.identity), index.packed(size))
        record = entry.record
        if answer.gaps:
            record = record.replace(gaps={**record.gaps, stream: numbers_of(answer.gaps["out"])})
        if stream == "out":
            out = entry.streams["out"]
            if out.seek_points.changed:
                entry.write_file(SEEK_POINTS, out.seek_points.packed())
            # A shape that the caller named may differ from the one that the next call detects.
            found = answer.shape != AUTO and request.shape == AUTO and entry.is_whole("out")
            if found and record.digest and record.shape == AUTO:
                record = record.replace(shape=answer.shape, total_count=answer.total_count)
        if record is not entry.record:
            entry.write_record(record)


def open_show(asked: ShowRequest, env: Environment, closing: Closing) -> ShowCall:
    """Open a stored output, and the part of it that was asked for."""
    stopwatch = env.stopwatch()
    tokenizer = open_tokenizer(asked.tokenizer, env)
    stored = closing.add(
        open_store(env, asked.store).open(asked.handle, asked.stream, caller_of(env, asked.session))
    )
    which: tuple[Notice, ...] = ()
    if is_relative(asked.handle) and env.is_terminal(env.stdout) and env.is_terminal(env.stderr):
        which = (which_output(stored, asked, env),)
    request = limited(asked, stored.record.token_limit, env)
    check_limit(asked, tokenizer)
    charge = open_budget(request, env, closing)
    if charge:
        request = charge.adjusted(request)
    is_plain = not (FORMS[request.output].has_envelope or request.token_count)
    on_screen = is_plain and env.is_terminal(env.stdout)
    given = open_part(stored, request, tokenizer, closing, on_screen=on_screen)
    damage = tuple(Notice("STORE_DAMAGED", message) for message in stored.damage)
    if stored.is_growing:
        which += (Notice("STILL_RUNNING", f"the command may still run; see tokcap wait {stored.handle}"),)
    given = given.replace(notices=given.notices + (charge.notices if charge else ()) + damage + which)
    return ShowCall(request, env, stopwatch, tokenizer, charge, stored, given, asked.token_limit)


def limited(asked: Asked, limit_of_run: int | None, env: Environment) -> Asked:
    """Return the request with the limit that applies: the command in a mark names none."""
    limit = asked.token_limit
    if limit is None and limit_of_run is not None:
        # An envelope may need more.
        limit = max(limit_of_run, FORMS[asked.output].least_tokens if FORMS[asked.output].has_envelope else 1)
    if env.outer_limit_tokens:
        # The tokcap that reads this answer would cut it again.
        limit = min(limit or env.outer_limit_tokens, env.outer_limit_tokens)
    return asked.replace(token_limit=limit)


def is_relative(name: str) -> bool:
    """Return whether a name means another output at another time: `@last`, `@last-2`."""
    from tokcap.store.handles import steps_back

    return steps_back(name) is not None


def which_output(stored: StoredOutput, asked: ShowRequest, env: Environment) -> Notice:
    """Return for a person at a terminal which output `@last` is, and how old."""
    from tokcap.core.units import age_of, printable

    record = stored.record
    command = f": {printable(' '.join(record.command), LONGEST_COMMAND_CHARACTERS)}" if record.command else ""
    seconds = env.now() - record.stored_at
    age = "just now" if seconds < JUST_NOW_SECONDS else f"{age_of(seconds)} ago"
    return Notice("LAST_OUTPUT", f"{asked.handle} is {stored.handle}, stored {age}{command}")


def open_part(
    entry: StoredOutput, request: ShowRequest, tokenizer: Tokenizer, closing: Closing, *, on_screen: bool
) -> Input:
    """Return the part that was asked for, with what the store knows about it.

    On a screen, a value ends with a newline: else the prompt of the shell would follow it.
    """
    stored = entry.streams[request.stream]
    known = Knowledge(checkpoints_of(entry, request.stream, tokenizer))
    if request.stream == "out" and entry.is_whole("out"):
        shape = entry.record.shape if entry.record.shape in SHAPES else AUTO
        known = known.replace(shape=shape, total_count=entry.record.total_count)
    ending = None
    if entry.record.exit_status is not None:
        ending = Ending(entry.record.exit_status, entry.record.signal)
    if request.gaps:
        return list_of_gaps(entry, request.stream)
    part = Input(stored, err_to_summarize=entry.streams.get("err"), ending=ending, known=known)
    if filters := chain(request, {}):
        part = filtered_part(part, request, filters, closing)
    if request.stream == "out" and not request.grep:
        load_seek_points(entry)
    if request.pointer:
        part = at_pointer(part, request, b"\n" if on_screen else b"")
    if request.grep:
        part = matching_lines(part, request, tokenizer)
    return part


def list_of_gaps(entry: StoredOutput, stream: Stream) -> Input:
    """Return a line for each gap of the last answer with many: where it begins, as `--grep` writes it."""
    gaps = entry.record.gaps.get(stream, ())
    if not gaps:
        raise NotFound(f"{entry.handle}: no answer with --keep focus has left out lines of it")
    lines = (
        f"{line}:{token}:{f'{count} lines' if count else 'parts of a line'}, {tokens} tokens\n"
        for line, token, count, tokens in gaps
    )
    return Input(TextPayload("".join(lines).encode()), known=Knowledge(shape=FALLBACK), is_derived=True)


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
    part: Input, request: ShowRequest, filters: Sequence[StreamFilter], closing: Closing
) -> Input:
    """Return the stream as the filters of this call leave it. Offsets count in that text, as in a run."""
    out = closing.add(Spool(lost_bytes=part.out.lost))
    sink = filtered(out, filters)
    for block in blocks(part.out):
        sink.write(block)
    sink.finish()
    found = sniff(out, request.shape)
    known = Knowledge(shape=found.shape, total_count=found.total_count)
    return part.replace(out=out, known=known, notices=part.notices + found.notices, is_derived=True)


def at_pointer(part: Input, request: ShowRequest, line_end: bytes) -> Input:
    """Return the value at a pointer. A string is text; everything else is JSON, on lines of its own.

    `line_end` is added unless the value ends with it.
    """
    from tokcap.shapes.paths import value_at

    shape = part.known.shape
    if request.shape != AUTO or shape == AUTO:
        shape = sniff(part.out, request.shape).shape
    value = value_at(part.out, shape, request.pointer)
    data = value.data.removesuffix(line_end) + line_end
    return Input(TextPayload(data), known=Knowledge(shape=value.shape), is_derived=True)


def matching_lines(part: Input, request: ShowRequest, tokenizer: Tokenizer) -> Input:
    """Return the lines that match, each with its line number and its token offset."""
    from tokcap.steps.grep import grep

    index = open_index(part.out, tokenizer, part.known.checkpoints)
    # A window with an offset needs all lines before it as well.
    enough_tokens = None
    if request.token_limit is not None and KEEPS[request.keep].reads_only_head and not request.token_count:
        enough_tokens = request.token_offset + request.token_limit
    found = grep(part.out, index, request.grep, request.context, enough_tokens)
    lines = TextPayload(found.data, lost_bytes=found.left_out_bytes)
    known = Knowledge(shape=FALLBACK, total_count=found.matches)
    # Only positions in the stored stream itself are worth storing.
    return Input(lines, known=known, is_derived=True, counted={} if part.is_derived else {"out": index})
