"""Wait for what a running command writes, and open what is new to this reader: for `tokcap wait`.

A reader's place is a byte of each stream, so a poll costs what is new and a short line, however long the
output is. The line says whether the command still runs, and how to go on.
"""

from __future__ import annotations

import time

from tokcap.core.payload import TextPayload
from tokcap.core.response import Failure, failure_of
from tokcap.errors import NotFound, ReaderGone, UsageError
from tokcap.exits import OK, OWN_FAILURE, TIMED_OUT, Ending
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.capture import Input
from tokcap.steps.continuation import Continuation
from tokcap.steps.fitting import check_limit
from tokcap.steps.opening import open_budget, paying
from tokcap.steps.stored_input import limited
from tokcap.store import caller_of, open_store
from tokcap.store.local_layout import session_key
from tokcap.store.running import LATEST_RUNNING, Followed, find, roots_of
from tokcap.system.pattern_search import PatternSearch
from tokcap.tokens import open_index, open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokcap.core.request import Stream, View, WaitRequest
    from tokcap.core.response import Meta
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.steps.charging import Charge
    from tokcap.steps.opening import Closing

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


class Place(Record):
    """How far a reader has read."""

    out: int = 0
    err: int = 0

    @classmethod
    def read_from(cls, text: str) -> Place:
        """Return the place that `--since` names."""
        out, point, err = text.partition(".")
        if not (out.isdecimal() and text.isascii() and err.isdecimal() == bool(point)) or len(text) > 40:
            raise UsageError(f"--since: {text[:40]!r} is not a place that an answer has named, such as 464")
        return cls(int(out), int(err or 0))

    def as_text(self) -> str:
        return f"{self.out}.{self.err}" if self.err else str(self.out)

    def of(self, stream: Stream) -> int:
        return self.err if stream == "err" else self.out


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


class WaitCall(Record):
    """A call of `wait`, after it has waited."""

    request: WaitRequest
    env: Environment
    stopwatch: Stopwatch
    tokenizer: Tokenizer
    charge: Charge | None
    output: Followed
    # The end of both streams when it looked last.
    ends: Place
    begin: Place
    # What was shown before, and what this answer shows.
    place: Place
    given: News
    # The name under which its place is kept; empty: the caller keeps it.
    reader: str

    @property
    def paying(self) -> Charge | None:
        return paying(self.charge)

    always_names_handle = True

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return the name of the output, and how a reader goes on."""
        name, lost = self.output.running.handle or self.output.running.name, self.output.lost()
        return WaitContinuation(
            arguments=("wait", self.output.running.name, "--since", self.place.as_text()),
            out=self.env.reader.call(name),
            handle=name,
            stored_bytes={stream: self.ends.of(stream) for stream in lost},
            lost_bytes=lost,
            is_always_named=True,
            reader=self.env.reader,
        )

    def attempts(self) -> Iterator[WaitCall]:
        """Yield the call with less and less in its answer. Usually the first is within the limit."""
        limit = self.request.token_limit
        left = None if limit is None else limit - least_limit(self.request) + LINE_TOKENS
        yield self.showing(left)
        while left:
            left = left * 3 // 4
            yield self.showing(left)

    def showing(self, tokens: int | None) -> WaitCall:
        """Return the call with an answer of at most this many tokens, without the line about the command."""
        text, parts = b"", {}
        for stream in ORDER:
            stop = min(self.ends.of(stream), self.begin.of(stream) + MOST_BYTES - len(text))
            part = self.output.read(stream, self.begin.of(stream), stop)
            if self.output.running.status is None:
                part = part[: whole_characters(part)]
            parts[stream] = part
            text += part
        shown = len(text) if tokens is None else bytes_within(text, tokens, self.tokenizer)
        err = min(shown, len(parts["err"]))
        place = Place(self.begin.out + shown - err, self.begin.err + err)
        call = self.replace(place=place)
        text = text[:shown]
        if not FORMS[self.request.output].has_envelope:
            text += b"\n" * (bool(text) and text[-1] != NEWLINE) + call.line().encode()
        return call.replace(given=self.given.replace(out=TextPayload(text)))

    def line(self) -> str:
        """Return the line that says how the command stands, and how to go on."""
        more = "" if self.place == self.ends else ", MORE"
        goes_on = more or self.given.state == "RUNNING"
        way = f" --since {self.place.as_text()}" if goes_on and not self.reader else ""
        return f"[{self.given.state}{more}]{way}\n"

    def save_place(self) -> None:
        if self.reader:
            self.output.announced.save_place(self.reader, self.place.as_text())


def open_wait(asked: WaitRequest, env: Environment, closing: Closing) -> WaitCall:
    """Wait, and open what is new. Bad calls are refused before that."""
    stopwatch, started = env.stopwatch(), env.clock()
    tokenizer = open_tokenizer(asked.tokenizer, env)
    check_limit(asked, tokenizer)
    least = least_limit(asked)
    if asked.token_limit is not None and asked.token_limit < least:
        raise UsageError(f"--token-limit {asked.token_limit} is too small to wait; use {least} or more")
    place = Place.read_from(asked.since) if asked.since else None
    if asked.until:
        from tokcap.steps.grep import check

        check(asked.until, "--until")
    deadline = None if asked.timeout is None else started + asked.timeout
    output = closing.add(find_output(asked, env, started, deadline))
    output.announced.note_read()
    reader = asked.reader or (session_key(asked.session) if asked.session and place is None else "")
    if place is None:
        kept = output.announced.place_of(reader) if reader else ""
        place = Place.read_from(kept) if kept else Place()
    given = wait(asked, env, output, place, deadline)
    request = limited(asked, output.running.token_limit, env)
    if request.token_limit is not None:
        request = request.replace(token_limit=max(request.token_limit, least))
    charge = open_budget(request, env, closing)
    if charge:
        request = charge.adjusted(request)
    ends = Place(output.size("out"), output.size("err"))
    begin = Place(min(place.out, ends.out), min(place.err, ends.err))
    return WaitCall(request, env, stopwatch, tokenizer, charge, output, ends, begin, begin, given, reader)


def least_limit(view: View) -> int:
    """Return the lowest limit with which every answer shows something new."""
    form = FORMS[view.output]
    return 2 * LINE_TOKENS + (form.least_tokens if form.has_envelope else 0)


def find_output(asked: WaitRequest, env: Environment, started: float, deadline: float | None) -> Followed:
    """Return the output that is meant. One that is about to begin may need a moment to get its name."""
    latest, now = asked.handle == LATEST_RUNNING, started
    until = min(started + GRACE_SECONDS, deadline or started + GRACE_SECONDS)
    while True:
        try:
            found = find(roots_of(env), asked.handle, caller_of(env, asked.session))
            if not latest or found.running.runs or now >= until:
                return Followed(found, open_store(env, asked.store).open)
        except NotFound:
            if not latest or now >= until:
                raise
        time.sleep(FIRST_LOOK_SECONDS)
        now = env.clock()


def wait(
    asked: WaitRequest, env: Environment, output: Followed, place: Place, deadline: float | None
) -> News:
    """Wait until the pattern appears, the command ends, or the time is up."""
    if not asked.until:
        return look(asked, env, output, deadline, None)
    with PatternSearch(asked.until, "--until") as search:
        lines = NewLines(output, place)
        return look(asked, env, output, deadline, lambda: any(map(search.places_in, lines.blocks())))


def look(
    asked: WaitRequest,
    env: Environment,
    output: Followed,
    deadline: float | None,
    is_there: Callable[[], bool] | None,
) -> News:
    """Look again and again, less often after a while."""
    pause = FIRST_LOOK_SECONDS
    while True:
        # Before the search: what is written in between would be missed.
        ended = output.has_ended()
        if is_there and is_there():
            return News(EMPTY)
        if ended:
            return ending_of(output.running.status)
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


class NewLines:
    """What has not been searched yet. A line that still grows is searched again when it has grown."""

    def __init__(self, output: Followed, place: Place) -> None:
        self._output = output
        self._start = {stream: place.of(stream) for stream in ORDER}
        self._seen = dict(self._start)

    def blocks(self) -> Iterator[bytes]:
        for stream in ORDER:
            end = self._output.size(stream)
            while self._seen[stream] < end:
                start = self._start[stream]
                block = self._output.read(stream, start, min(end, start + MOST_BYTES))
                if not block:
                    break
                yield block
                self._seen[stream] = start + len(block)
                lines = block.rfind(b"\n") + 1
                self._start[stream] += lines or (len(block) if len(block) == MOST_BYTES else 0)


def bytes_within(text: bytes, tokens: int, tokenizer: Tokenizer) -> int:
    """Return how many bytes of a text have at most this many tokens: whole lines if at least one fits."""
    index = open_index(TextPayload(text), tokenizer)
    if tokens <= 0 or index.reach(tokens + 1) <= tokens:
        return len(text) if tokens > 0 else 0
    starts = [start for start in index.starts(0, tokens) if start > 0]
    return max((start for start in starts if text[start - 1] == NEWLINE), default=max(starts, default=0))


def whole_characters(data: bytes) -> int:
    """Return how many bytes of a text that still grows are whole characters."""
    for back in range(1, min(4, len(data) + 1)):
        if data[-back] >= 0xC0:
            needed = 2 + (data[-back] >= 0xE0) + (data[-back] >= 0xF0)
            return len(data) - back * (needed > back)
        if data[-back] < 0x80:
            break
    return len(data)
