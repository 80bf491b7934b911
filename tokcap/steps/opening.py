"""Open what a call needs before anything runs: tokenizer, budget, store, source. Refuse bad calls here."""

from __future__ import annotations

from tokcap.core.notice import Notice
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, Self, TypeVar

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, ShowRequest, View
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.steps.inputs import StoredInput
    from tokcap.store.base import StoredOutput
    from tokcap.store.record import StoredRecord
    from tokcap.store.recorder import Recorder

    class HasClose(Protocol):
        def close(self) -> None: ...

    Closes = TypeVar("Closes", bound=HasClose)


class Closing:
    """Closes everything at the end of a call, even after an error, in reverse order."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def add(self, thing: Closes) -> Closes:
        self._calls.append(thing.close)
        return thing

    def add_call(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def __exit__(self, *_: object) -> None:
        # If one fails, the others are still called.
        try:
            while self._calls:
                self._calls.pop()()
        finally:
            if self._calls:
                self.__exit__()


class Call(Record):
    """A run: the request as it was given (`asked`), and as the budget has adjusted it (`request`)."""

    asked: Request
    request: Request
    env: Environment
    stopwatch: Stopwatch
    tokenizer: Tokenizer
    charge: Charge | None
    # None if nothing may be stored.
    recorder: Recorder | None

    @property
    def paying(self) -> Charge | None:
        return paying(self.charge)

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.charge.notices if self.charge else ()

    def record_of(self, captured: Captured, answer: Answer | None) -> StoredRecord:
        """Return what the store records about this run."""
        from tokcap.steps.recording import record_of

        return record_of(self.asked, captured, answer, self.stopwatch.milliseconds)

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return how the rest of the output is fetched. This may compute the digest of the output."""
        from tokcap.steps.continuation import NOT_STORED, continuation_of

        always = self.always_names_handle
        if self.recorder is None or not (needs_handle or always):
            return NOT_STORED
        ticket = self.recorder.reserve()
        return continuation_of(ticket, self.request, always=always) if ticket else NOT_STORED

    @property
    def always_names_handle(self) -> bool:
        """Whether the output is stored, and its handle named, even if nothing is withheld."""
        return self.request.spill == "always"


class ShowCall(Record):
    """A call of `show`."""

    request: ShowRequest
    stopwatch: Stopwatch
    tokenizer: Tokenizer
    charge: Charge | None
    stored: StoredOutput
    given: StoredInput

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
        return continuation_of(ticket, self.request, always=True)

    @property
    def always_names_handle(self) -> bool:
        return True

    def save_findings(self, answer: Answer) -> None:
        """Store what was counted and found out, for the next page."""
        from tokcap.steps.stored_input import save_findings

        save_findings(self.stored, self.request, answer)


def open_call(asked: Request, env: Environment, closing: Closing) -> Call:
    """Open the tokenizer, the budget and the store for a run."""
    stopwatch = env.stopwatch()
    tokenizer = open_tokenizer(asked.tokenizer)
    charge = open_charge(asked, env, closing)
    request = charge.adjusted(asked) if charge else asked
    recorder = None
    if request.spill != "never":
        from tokcap.store import open_recorder

        recorder = open_recorder(request, tokenizer, env)
    return Call(asked, request, env, stopwatch, tokenizer, charge, recorder)


def open_show(asked: ShowRequest, env: Environment, closing: Closing) -> ShowCall:
    """Open a stored output, and the part of it that was asked for."""
    stopwatch = env.stopwatch()
    tokenizer = open_tokenizer(asked.tokenizer)
    from tokcap.steps.stored_input import open_part
    from tokcap.store import open_store

    stored = closing.add(open_store(env).open(asked.handle, asked.stream))
    # The command in a mark names no limit, so the limit of the run applies.
    request = asked.but(token_limit=asked.token_limit or stored.record.token_limit)
    charge = open_charge(request, env, closing)
    if charge:
        request = charge.adjusted(request)
    given = open_part(stored, request, tokenizer)
    damage = tuple(Notice("STORE_DAMAGED", message) for message in stored.damage)
    given = given.but(notices=given.notices + (charge.notices if charge else ()) + damage)
    return ShowCall(request, stopwatch, tokenizer, charge, stored, given)


def open_charge(view: View, env: Environment, closing: Closing) -> Charge | None:
    """Open the budget that limits the answer, if there is one. What it reserved is released at the end."""
    if not (view.session or view.turn or view.context_window):
        return None
    from tokcap.steps.charging import Charge

    charge = Charge(view, env)
    closing.add_call(charge.release)
    return charge


def paying(charge: Charge | None) -> Charge | None:
    """Return the budget of a session that pays for the answer, if there is one."""
    return charge if charge and charge.is_tracked else None


def open_source(request: Request, env: Environment) -> Source:
    """Open the command if there is one, else standard input."""
    if request.command:
        from tokcap.source.command import Command
        from tokcap.steps.destinations import passes_everything

        return Command(
            request.command,
            request.stderr,
            env,
            timeout_seconds=request.timeout,
            kill_after_seconds=request.kill_after,
            pty=request.pty,
            # If everything is passed on, notice at once when the reader of stdout is gone.
            reader=env.stdout if env.is_program and passes_everything(request) else None,
        )
    from tokcap.source.stdin import StandardInput

    return StandardInput(env, request.timeout)
