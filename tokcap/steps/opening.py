"""Open what a run needs before anything runs: tokenizer, budget, store, source. Refuse bad calls here.

`stored_input` does the same for a `show`, which most calls are not.
"""

from __future__ import annotations

from tokcap.core.request import SUBCOMMANDS
from tokcap.errors import CommandNotExecutable, CommandNotFound
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.steps.destinations import passes_through
from tokcap.steps.fitting import check_limit
from tokcap.tokens import open_tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, Self, TypeVar

    from tokcap.core.payload import Source
    from tokcap.core.request import Request, View
    from tokcap.core.response import Notice
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment, Stopwatch
    from tokcap.source.command import Command, StandIn
    from tokcap.steps.answer import Answer
    from tokcap.steps.capture import Captured
    from tokcap.steps.charging import Charge
    from tokcap.steps.continuation import Continuation
    from tokcap.store.base import StoredRecord
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
        return self.asked.notices + (self.charge.notices if self.charge else ())

    def record_of(self, captured: Captured, answer: Answer | None) -> StoredRecord:
        """Return what the store records about this run."""
        from tokcap.steps.delivery import record_of

        return record_of(self.asked, captured, answer, self.stopwatch.milliseconds, self.env)

    def continuation(self, *, needs_handle: bool) -> Continuation:
        """Return how the rest of the output is fetched. This may compute the digest of the output."""
        from tokcap.steps.continuation import continuation_of, not_stored

        always = self.always_names_handle
        again = self.request.replace(token_limit=self.asked.token_limit)
        if self.recorder is None or not (needs_handle or always):
            return not_stored(again, self.env.reader)
        ticket = self.recorder.reserve()
        if not ticket:
            return not_stored(again, self.env.reader)
        return continuation_of(ticket, self.request, self.env.reader, always=always)

    @property
    def always_names_handle(self) -> bool:
        """Whether the output is stored, and its handle named, even if nothing is withheld."""
        return self.request.spill == "always"


def open_call(asked: Request, env: Environment, closing: Closing) -> Call:
    """Open the tokenizer, the budget and the store for a run."""
    stopwatch = env.stopwatch()
    tokenizer = open_tokenizer(asked.tokenizer, env)
    check_limit(asked, tokenizer)
    charge = open_budget(asked, env, closing)
    request = charge.adjusted(asked) if charge else asked
    if request.token_limit and env.outer_limit_tokens and request.token_limit > env.outer_limit_tokens:
        # As in `stored_input`. Without a limit of its own, everything is passed on and cut there.
        request = request.replace(token_limit=env.outer_limit_tokens)
    recorder = None
    # What passes through, or is only counted, is stored only if that was asked for.
    is_cut = not (request.token_count or passes_through(request))
    if request.spill == "always" or (request.spill == "auto" and is_cut):
        from tokcap.store import open_recorder

        recorder = open_recorder(request, tokenizer, env)
    return Call(asked, request, env, stopwatch, tokenizer, charge, recorder)


def open_budget(view: View, env: Environment, closing: Closing) -> Charge | None:
    """Open the budget that limits the answer, if there is one."""
    if not (view.session or view.turn or view.context_window):
        return None
    from tokcap.steps.charging import Charge

    return closing.add(Charge(view, env))


def paying(charge: Charge | None) -> Charge | None:
    """Return the budget of a session that pays for the answer, if there is one."""
    return charge if charge and charge.is_tracked else None


def open_source(request: Request, env: Environment) -> Source:
    """Open the command if there is one, else standard input."""
    if request.command:
        try:
            return open_command(request, env)
        except (CommandNotFound, CommandNotExecutable) as error:
            if not env.is_program:
                raise
            from tokcap.core.spelling import nearest

            meant = nearest(request.command[0], (*SUBCOMMANDS, "--help", "--version"))
            raise (type(error)(f"{error}; did you mean tokcap {meant}?") if meant else error) from None
    from tokcap.source.given import StandardInput

    return StandardInput(env, request.timeout)


def open_command(request: Request, env: Environment, stand_in: StandIn | None = None) -> Command:
    """Start the command, or the shell that tokcap stands in for."""
    from tokcap.source.command import NAMED_AFTER_SECONDS, Command

    return Command(
        request.command,
        request.stderr,
        env,
        timeout_seconds=request.timeout,
        kill_after_seconds=request.kill_after,
        # Nothing may be written for a long time, so notice when the reader of stdout is gone.
        reader=env.stdout if env.is_program else None,
        tells_waiting=env.is_program and request.token_limit is not None,
        stand_in=stand_in,
        named_after_seconds=0.0 if request.running else NAMED_AFTER_SECONDS,
    )
