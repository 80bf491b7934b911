"""Wait for what a running command writes, and open what is new to this reader: for `tokcap wait`.

A reader's place is a byte of each stream, so a poll costs what is new and a short line, however long the
output is. The line says whether the command still runs, and how to go on.
"""

from __future__ import annotations

import codecs
import contextlib
import time

from tokcap.core.payload import TextPayload
from tokcap.core.response import Failure, failure_of
from tokcap.errors import NotFound, ReaderGone, UsageError
from tokcap.exits import OK, OWN_FAILURE, TIMED_OUT, Ending
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING
from tokcap.steps.capture import Input
from tokcap.steps.continuation import Continuation
from tokcap.steps.fitting import check_limit
from tokcap.steps.opening import open_budget
from tokcap.steps.stored_input import ShowCall, limited
from tokcap.store import caller_of, open_store
from tokcap.store.local_layout import session_key
from tokcap.store.running import LATEST_RUNNING, find, roots_of
from tokcap.system.pattern_search import PatternSearch
from tokcap.tokens import open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeAlias

    from tokcap.core.request import Stream, View, WaitRequest
    from tokcap.core.response import Meta
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.steps.opening import Closing
    from tokcap.store.base import StoredOutput
    from tokcap.store.running import Announced

    # How far a reader has read.
    Place: TypeAlias = Mapping[Stream, int]

# What one answer has at most, and what is searched at a time.
MOST_BYTES = 1 << 20
# How long a command that was started just before may need to get its name.
GRACE_SECONDS = 1.5
# How often to look.
FIRST_LOOK_SECONDS, LAST_LOOK_SECONDS = 0.02, 0.25
# stderr comes first: usually it is short, and says what is wrong.
ORDER: tuple[Stream, Stream] = ("err", "out")
NEWLINE = ord("\n")
EMPTY = TextPayload(b"")
# The most tokens of the line about the command; a smaller limit is refused.
LINE_TOKENS = 24


START: Place = {"err": 0, "out": 0}


class News(Input):
    """What is new to a reader, and how the command stands."""

    state: str = "RUNNING"
    exit_status: int = OK
    problem: Failure | None = None

    @property
    def status(self) -> int:
        return self.exit_status

    @property
    def failure(self) -> Failure | None:
        return self.problem

    def with_ending(self, meta: Meta) -> Meta:
        exit_from = "command" if self.state.startswith("EXITED") else "tokcap"
        return meta.replace(exit_code=self.exit_status, exit_from=exit_from)


class WaitContinuation(Continuation):
    """The way to what will be new next."""

    def as_meta(self) -> dict[str, object]:
        return {**super().as_meta(), "continue_": self.arguments}


class WaitCall(ShowCall):
    """A call of `wait`, after it has waited."""

    announced: Announced | None = None
    # What was shown before, and what will have been shown with this answer.
    begin: Place = START
    place: Place = START
    # The name under which its place is kept; empty: the caller keeps it.
    reader: str = ""

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return the name of the output, and how a reader goes on."""
        assert self.announced
        way = ("wait", self.announced.running.name, "--since", text_of(self.place))
        found = super().continuation(needs_handle=needs_handle)
        return WaitContinuation(**{**found.__dict__, "arguments": way})

    def attempts(self) -> Iterator[WaitCall]:
        """Yield the call with less and less in its answer. Usually the first is within the limit."""
        limit = self.request.token_limit
        left = None if limit is None else limit - least_limit(self.request) + LINE_TOKENS
        yield self.showing(left)
        while left:
            left = left * 3 // 4
            yield self.showing(left)

    def showing(self, tokens: int | None) -> WaitCall:
        """Return the call with an answer of at most this many tokens, besides the line about the command."""
        assert isinstance(self.given, News)
        parts = [self._new(stream) for stream in ORDER]
        text = b"".join(parts)
        shown = len(text) if tokens is None else bytes_within(text, tokens, self.tokenizer)
        text, err = text[:shown], min(shown, len(parts[0]))
        place: Place = {"err": self.begin["err"] + err, "out": self.begin["out"] + shown - err}
        if not FORMS[self.request.output].has_envelope:
            more = "" if place == ends_of(self.stored) else ", MORE"
            goes_on = (more or self.given.state == "RUNNING") and not self.reader
            way = f" --since {text_of(place)}" if goes_on else ""
            line = f"[{self.given.state}{more}]{way}\n".encode()
            text += b"\n" * (bool(text) and text[-1] != NEWLINE) + line
        return self.replace(place=place, given=self.given.replace(out=TextPayload(text)))

    def _new(self, stream: Stream) -> bytes:
        """Return what is new in one stream, without the beginning of a character."""
        begin = self.begin[stream]
        data = read(self.stored, stream, begin, begin + MOST_BYTES)
        decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        decoder.decode(data, final=not self.stored.is_growing)
        return data[: len(data) - len(decoder.getstate()[0])]

    def save_place(self) -> None:
        if self.reader and self.announced:
            self.announced.save_place(self.reader, text_of(self.place))


def open_wait(asked: WaitRequest, env: Environment, closing: Closing) -> WaitCall:
    """Wait, and open what is new. Bad calls are refused before that."""
    stopwatch, started = env.stopwatch(), env.clock()
    tokenizer = open_tokenizer(asked.tokenizer, env)
    check_limit(asked, tokenizer)
    least = least_limit(asked)
    if asked.token_limit is not None and asked.token_limit < least:
        raise UsageError(f"--token-limit {asked.token_limit} is too small to wait; use {least} or more")
    place_of(asked.since)
    if asked.until:
        from tokcap.steps.grep import check

        check(asked.until, "--until")
    deadline = None if asked.timeout is None else started + asked.timeout
    announced = find_output(asked, env, deadline)
    announced.note_read()
    session = session_key(asked.session) if asked.session and not asked.since else ""
    reader = asked.reader or session
    place = place_of(asked.since or (announced.place_of(reader) if reader else ""))
    given = look(asked, env, announced, place, deadline)
    stored = closing.add(opened(announced, asked, env))
    request = limited(asked, announced.running.token_limit, env)
    if request.token_limit is not None:
        request = request.replace(token_limit=max(request.token_limit, least))
    charge = open_budget(request, env, closing)
    if charge:
        request = charge.adjusted(request)
    begin = {stream: min(place[stream], end) for stream, end in ends_of(stored).items()}
    call = WaitCall(request, env, stopwatch, tokenizer, charge, stored, given)
    return call.replace(announced=announced, begin=begin, reader=reader)


def least_limit(view: View) -> int:
    """Return the lowest limit with which every answer shows something new."""
    form = FORMS[view.output]
    return 2 * LINE_TOKENS + (form.least_tokens if form.has_envelope else 0)


def find_output(asked: WaitRequest, env: Environment, deadline: float | None) -> Announced:
    """Return the output that is meant. One that is about to begin may need a moment to get its name."""
    latest, now = asked.handle == LATEST_RUNNING, env.clock()
    until = now + GRACE_SECONDS if deadline is None else min(now + GRACE_SECONDS, deadline)
    while True:
        try:
            found = find(roots_of(env), asked.handle, caller_of(env, asked.session))
            if not latest or found.running.runs or now >= until:
                return found
        except NotFound:
            if not latest or now >= until:
                raise
        time.sleep(FIRST_LOOK_SECONDS)
        now = env.clock()


def look(
    asked: WaitRequest, env: Environment, announced: Announced, place: Place, deadline: float | None
) -> News:
    """Look until the pattern appears, the command ends, or the time is up; less often after a while."""
    pause, seen, starts = FIRST_LOOK_SECONDS, {**place}, {**place}
    searching = PatternSearch(asked.until, "--until") if asked.until else contextlib.nullcontext()
    with searching as search:
        while True:
            # Before the search: what is written in between would be missed.
            ended = announced.has_ended()
            if search:
                with contextlib.closing(opened(announced, asked, env)) as stored:
                    if any(map(search.places_in, new_blocks(stored, seen, starts))):
                        return News(EMPTY)
            if ended:
                return ending_of(announced.running.status)
            if asked.gave_up and asked.gave_up():
                raise ReaderGone("nobody waits for the answer any more")
            if deadline is not None and env.clock() >= deadline:
                problem = Failure("TIMEOUT", "the command still runs (--timeout)")
                return News(EMPTY, exit_status=TIMED_OUT, problem=problem)
            time.sleep(pause if deadline is None else max(min(pause, deadline - env.clock()), 0))
            pause = min(2 * pause, LAST_LOOK_SECONDS)


def ending_of(status: int | None) -> News:
    if status is None:
        problem = Failure("COMMAND_KILLED", "tokcap was killed; how the command ended is not known")
        return News(EMPTY, state="KILLED", exit_status=OWN_FAILURE, problem=problem)
    failure = failure_of(Ending(status), b"")
    return News(EMPTY, state=f"EXITED {status}", exit_status=status, problem=failure)


def new_blocks(stored: StoredOutput, seen: dict[Stream, int], starts: dict[Stream, int]) -> Iterator[bytes]:
    """Yield what was not searched yet. A line that still grows is searched again when it has grown."""
    for stream, end in ends_of(stored).items():
        while seen[stream] < end and (
            block := read(stored, stream, starts[stream], starts[stream] + MOST_BYTES)
        ):
            yield block
            seen[stream] = starts[stream] + len(block)
            starts[stream] += block.rfind(b"\n") + 1 or (len(block) if len(block) == MOST_BYTES else 0)


def opened(announced: Announced, asked: WaitRequest, env: Environment) -> StoredOutput:
    return open_store(env, asked.store).open(announced.running.handle or announced.running.name)


def ends_of(stored: StoredOutput) -> Place:
    """Return where the streams end now."""
    return {stream: stored.streams[stream].size if stream in stored.streams else 0 for stream in ORDER}


def read(stored: StoredOutput, stream: Stream, start: int, stop: int) -> bytes:
    stop = min(stop, ends_of(stored)[stream])
    return stored.streams[stream].read(start, stop) if start < stop else b""


def place_of(text: str) -> Place:
    """Return the place that `--since` names; the beginning if it is empty."""
    out, point, err = text.partition(".")
    if text and (
        not (out.isdecimal() and text.isascii() and err.isdecimal() == bool(point)) or len(text) > 40
    ):
        raise UsageError(f"--since: {text[:40]!r} is not a place that an answer has named, such as 464")
    return {"err": int(err or 0), "out": int(out or 0)}


def text_of(place: Place) -> str:
    return f"{place['out']}.{place['err']}" if place["err"] else str(place["out"])


def bytes_within(text: bytes, tokens: int, tokenizer: Tokenizer) -> int:
    """Return how many bytes of a text have at most this many tokens: whole lines if at least one fits."""
    index = open_index(TextPayload(text), tokenizer)
    if tokens <= 0 or index.reach(tokens + 1) <= tokens:
        return len(text) if tokens > 0 else 0
    starts = [start for start in index.starts(0, tokens) if start > 0]
    return max((start for start in starts if text[start - 1] == NEWLINE), default=max(starts, default=0))
