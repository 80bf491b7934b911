"""Take the steps of sessions: `Ledger` has all sessions of an engine, `SessionView` the steps of one.

What a step changes is in `rules`. Here is which rows it needs, and what happens when a server is away.
"""

from __future__ import annotations

import os
import time

from tokcap.budget import rules
from tokcap.budget.arithmetic import Account, Settings, tokens_of
from tokcap.budget.base import (
    LONGEST_BEGINNING,
    PATIENCE_SECONDS,
    Grant,
    key_text,
    new_id,
    session_name,
)
from tokcap.budget.rows import META, Lease, Rows, RowsMissing, check_version
from tokcap.errors import LedgerError, LedgerUnreachable, TokcapError, UsageError
from tokcap.startup.accelerators import thread
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Concatenate, ParamSpec, TypeVar

    from tokcap.budget.arithmetic import Window
    from tokcap.budget.base import Change, Engine, Past, Recorded, Session, Shown, Texts
    from tokcap.budget.server import LeaseKeeper, Outbox

    Answer = TypeVar("Answer")
    Values = ParamSpec("Values")

# How long to wait before the second attempt on a server that is away; then twice as long each time.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.5
# The most sessions that are listed.
MOST_SCANNED = 10_000
# For how many sessions the names above are remembered.
MOST_REMEMBERED = 1000


class Ledger:
    """The sessions of one engine. Threads may share it; a forked process makes its own connection.

    A session exists from `start` to `end`. Every other step on a name without a session raises
    `SessionNotStarted`. If a step cannot be done, it raises `LedgerError` and changes nothing. Every step can
    be repeated: done twice, it has the same effect as done once.
    """

    def __init__(
        self, engine: Engine, patience_seconds: float = PATIENCE_SECONDS, outbox: Outbox | None = None
    ) -> None:
        self.engine = engine
        self._patience_seconds = patience_seconds
        # What could not be settled because the server was away, and whether it was delivered since.
        self.outbox = outbox
        self._is_delivered = outbox is None
        self._lock = thread.allocate_lock()
        self._process = os.getpid()
        # Rows that a step on a row turned out to need: those of the sessions above.
        self._above: dict[str, tuple[str, ...]] = {}
        # Grants that the ledger did not know when they were settled.
        self.unknown: set[int] = set()

    def session(self, name: str) -> SessionView:
        """Return a session, which does not have to exist yet."""
        return SessionView(self, name)

    # Sessions

    def start(self, name: str, settings: Settings) -> bool:
        """Start a session; return False if it exists with the same settings.

        Raise `UsageError` if it exists with other settings, if its parent has not been started, or if it
        would have more than `rules.MOST_ABOVE` sessions above it.
        """
        session_name(name)
        settings.checked()
        keys = [f"session/{name}"]
        if settings.parent is not None:
            if session_name(settings.parent) == name:
                raise UsageError(f"session {name!r} cannot be its own parent")
            keys += [f"session/{settings.parent}", f"below/{settings.parent}"]
        number = new_id()
        return self.change(keys, lambda rows: rules.start(rows, name, settings, number))

    def has(self, name: str) -> bool:
        return self.load(self.keys_of(name)[:1], lambda rows: rows.session(name) is not None)

    def history(self, name: str | None = None) -> Sequence[Past]:
        """Return the periods that are over, of one name or of all, the oldest first.

        At most the last `rules.MOST_LISTED` are returned. Periods without any step are missing.
        """
        found, _ = self._scan("past")
        running, now = self._scan("session")
        texts = {**found, **running}
        return rules.history(self._rows(texts, now, is_complete=True), texts, name)

    def close(self) -> None:
        """Close the connection. The next step makes a new one."""
        self._leave_parent()
        with self._lock:
            self.engine.close()

    # How steps are taken

    def keys_of(self, name: str) -> list[str]:
        key = f"session/{session_name(name)}"
        return [key, *self._above.get(key, ())]

    def _rows(self, texts: Texts, now: float, *, is_complete: bool = False) -> Rows:
        return Rows(texts, now, self.engine.is_present, is_complete=is_complete)

    def _scan(self, kind: str) -> tuple[Texts, float]:
        return self._run(lambda seconds: self.engine.scan(kind, MOST_SCANNED, seconds))

    def load(self, keys: Sequence[str], step: Callable[[Rows], Answer]) -> Answer:
        """Take a step that changes nothing. What it would change, as of now, the next change writes."""

        def attempt(wanted: Sequence[str], seconds: float) -> Answer:
            return self._checked(step, self._rows(*self.engine.load(wanted, seconds)))

        return self._take(keys, attempt)

    def change(self, keys: Sequence[str], step: Callable[[Rows], Answer]) -> Answer:
        """Take a step, which may change the rows that it loads."""

        def attempt(wanted: Sequence[str], seconds: float) -> Answer:
            answers = []

            def engine_step(texts: Texts, now: float) -> Mapping[str, Change]:
                rows = self._rows(texts, now)
                answers.append(self._checked(step, rows))
                return rows.changes()

            self.engine.change(wanted, engine_step, seconds)
            return answers[-1]

        return self._take(keys, attempt)

    def _checked(self, step: Callable[[Rows], Answer], rows: Rows) -> Answer:
        check_version(rows, self.engine.title)
        return step(rows)

    def _take(self, keys: Sequence[str], attempt: Callable[[Sequence[str], float], Answer]) -> Answer:
        """Take a step on these rows, and on those that it turns out to need."""
        # A session may also be one of those that a grant names.
        wanted = [*dict.fromkeys([META, *keys])]

        def work(seconds: float) -> Answer:
            return attempt(wanted, seconds)

        while True:
            try:
                found = self._run(work)
                break
            except RowsMissing as missing:
                wanted += missing.keys
                if len(self._above) < MOST_REMEMBERED:
                    self._above[wanted[1]] = tuple([key for key in wanted[2:] if key.startswith("session/")])
        self._deliver()
        return found

    def _run(self, work: Callable[[float], Answer]) -> Answer:
        """Use the engine. If the server is away for a moment, or an answer is lost, try again."""
        deadline = time.monotonic() + self._patience_seconds
        pause_seconds = FIRST_PAUSE_SECONDS
        self._leave_parent()
        with self._lock:
            while True:
                try:
                    return work(max(deadline - time.monotonic(), 0.001))
                except LedgerUnreachable as error:
                    self.engine.close()
                    if time.monotonic() + pause_seconds >= deadline:
                        raise self._with_waiting(error) from None
                    time.sleep(pause_seconds)
                    pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)
                except BaseException as error:
                    # A refusal leaves the connection as it was. An interrupt may leave half an answer in it.
                    if isinstance(error, LedgerError) or not isinstance(error, TokcapError | RowsMissing):
                        self.engine.close()
                    raise

    def _leave_parent(self) -> None:
        """In a forked process, leave connection and lock to the parent, whose threads may hold the lock."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), thread.allocate_lock()
            self.engine.close()

    def _deliver(self) -> None:
        """After the first step that reaches the server, deliver what waits for it."""
        if self.outbox is None or self._is_delivered:
            return
        # Set first: delivering takes steps too.
        self._is_delivered = True
        try:
            self.outbox.deliver(lambda name, grant, tokens: self.session(name).settle(grant, tokens))
        except (LedgerError, OSError):
            # The step itself was done. The next call tries again.
            self._is_delivered = False

    def _with_waiting(self, error: LedgerUnreachable) -> LedgerUnreachable:
        """Return the error with what waits for the server."""
        self._is_delivered = self.outbox is None
        waiting = self.outbox.waiting() if self.outbox else []
        if not waiting:
            return error
        tokens = sum(entry.tokens for entry in waiting)
        return LedgerUnreachable(f"{error}; {tokens} used tokens wait to be charged")

    # The last method: after it, `list` in an annotation of this class would mean the method.
    def list(self) -> Sequence[Session]:
        """Return the sessions that exist, in the order in which they were started."""
        self.load((), lambda _: None)
        texts, now = self._scan("session")
        return rules.listed(self._rows(texts, now, is_complete=True), texts)


def free_grant() -> Grant:
    """Return what usage without a reservation is settled with: an id of its own, and nothing else."""
    return Grant(new_id(), None, None, False, Account(Settings()))


def grant_keys(grant: Grant) -> list[str]:
    return [f"session/{name}" for name, _ in grant.sessions]


class SessionView:
    """One session of a ledger: its steps. The session does not have to exist yet."""

    def __init__(self, ledger: Ledger, name: str) -> None:
        self._ledger = ledger
        self.name = session_name(name)
        self._keeper: LeaseKeeper | None = None

    def end(self, *, tree: bool = False) -> Account:
        """End a session, free its name, and return its last numbers. What it used stays used above.

        Raise `UsageError` if sessions run below it, unless `tree` ends those too.
        """
        number = new_id()
        return self._change([f"below/{self.name}", f"done/{number}"], rules.end, number, tree=tree)

    def reset(self) -> Account:
        """End a session and start it again with its settings: nothing used, reserved or shown.

        Sessions above and below it keep their numbers.
        """
        number = new_id()
        return self._change([f"done/{number}"], rules.reset, number)

    def read(self) -> Account:
        return self._load([], lambda rows, name: rules.account_of(rules.chain(rows, name)))

    def reserve(
        self,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        """Reserve what `arithmetic.offer` allows; raise `BudgetExhausted` if that is nothing.

        `window` replaces the session's window. `shares` fills in shares that the session was not
        started with.
        """
        number, engine = new_id(), self._ledger.engine

        def step(rows: Rows, name: str) -> Grant:
            rules.chain(rows, name)
            # The holder must be seen before anybody can see what it holds.
            lease = Lease(requested, turn, engine.lease_seconds, engine.hold())
            return rules.reserve(rows, name, number, requested, lease, window, shares)

        return self._change([] if turn is None else [self._turn_key(turn)], step)

    def announce(self, grant: Grant, tokens: int) -> None:
        """Note, before it is written, that up to `tokens` of the answer may be out from now on.

        If the grant is never settled, because its process died, this number is counted as used and the
        rest of the grant is freed. Announcing less than before, or for a grant that is gone, changes
        nothing.
        """
        tokens_of(tokens, "announced")
        if grant.sessions:
            seconds = self._ledger.engine.lease_seconds
            self._ledger.change(grant_keys(grant), lambda rows: rules.announce(rows, grant, tokens, seconds))

    def keep(self, grant: Grant) -> None:
        """Renew a grant until it is settled or released, if it is a lease. This may start a thread."""
        seconds = self._ledger.engine.lease_seconds
        if seconds is not None:
            from tokcap.budget.server import LeaseKeeper

            self._keeper = self._keeper or LeaseKeeper(lambda grant: self.announce(grant, 0), seconds)
            self._keeper.add(grant)

    def _drop(self, grant: Grant | None) -> None:
        if self._keeper is not None and grant is not None:
            self._keeper.drop(grant)

    def settle(self, grant: Grant | None, actual: int) -> Account:
        """Count what was used, which may be more than the grant, and free the grant.

        A grant belongs to the session that made it, even if that session has ended or was reset. It is
        settled once. If it was released, or the ledger took its holder for dead, `actual` replaces what was
        counted then.
        """
        tokens_of(actual, "actual")
        self._drop(grant)
        mine = grant or free_grant()
        keys = [*grant_keys(mine), f"done/{mine.id}"]
        if mine.turn is not None:
            keys.append(self._turn_key(mine.turn))
        account, is_known = self._change(keys, rules.settle, mine, actual)
        if grant is not None and not is_known:
            self._ledger.unknown.add(grant.id)
        return account

    def was_unknown(self, grant: Grant) -> bool:
        """Return whether the ledger did not know a grant when it was settled: it has lost writes."""
        return grant.id in self._ledger.unknown

    def defer(self, grant: Grant | None, actual: int) -> bool:
        """Keep a settlement that failed because the ledger was away; a later step delivers it, once.

        Return False if it cannot be kept.
        """
        outbox = self._ledger.outbox
        return outbox is not None and outbox.keep(self.name, grant or free_grant(), actual)

    def release(self, grant: Grant) -> Account:
        """Free a grant; count only what was announced. Releasing it again changes nothing."""
        self._drop(grant)
        return self._change(grant_keys(grant), rules.release, grant)

    def record(self, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        """Count the tokens of a model call; count the same key only once."""
        tokens = tokens_of(input_tokens, "input") + tokens_of(output_tokens, "output")
        number = new_id()
        place = f"done/{number}" if key is None else f"key/{self.name}/{key_text(key, 'a key')}"
        return self._change([place], rules.record, number, tokens, place)

    def compacted(self, used: int) -> Account:
        """Note that the model's context now holds `used` tokens, and forget what it was shown.

        The total stays as it is.
        """
        return self._change([], rules.compacted, tokens_of(used, "used"))

    def shown(self, keys: Sequence[str]) -> Shown:
        """Return the handles that `note_shown` has noted under these keys for the present context."""
        return self._load([f"shown/{self.name}"], rules.shown, keys)

    def note_shown(self, context: str, handles: Mapping[str, str]) -> bool:
        """Note handles by their keys, after the model was shown the outputs.

        Change nothing and return False if `context` is not the present one: the session was compacted or
        reset while the output was on its way. A ledger keeps `rules.MOST_SHOWN` keys of a session, and drops
        those that were not noted for the longest time.
        """
        return self._change([f"shown/{self.name}"], rules.note_shown, context, handles)

    def turn(self, turn: str) -> int:
        """Return what a turn has used and reserved; 0 for a new turn."""
        return self._load(
            [self._turn_key(turn)],
            lambda rows, name: rules.turn_taken(rows, rules.chain(rows, name)[0], turn),
        )

    def below(self, name: str | None, settings: Settings) -> SessionView:
        """Start a session that is a part of this one, if it does not exist; without a name, a new one."""
        name = name or f"{self.name[:LONGEST_BEGINNING]}.{os.urandom(4).hex()}"
        self._ledger.start(session_name(name), settings.replace(parent=self.name))
        return SessionView(self._ledger, name)

    def _turn_key(self, turn: str) -> str:
        return f"turn/{self.name}/{key_text(turn, 'a turn')}"

    def _load(
        self,
        keys: Sequence[str],
        step: Callable[Concatenate[Rows, str, Values], Answer],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Answer:
        """Take a step that changes nothing, on the session and on rows that it will need as well."""
        loaded = [*self._ledger.keys_of(self.name), *keys]
        return self._ledger.load(loaded, lambda rows: step(rows, self.name, *values, **named))

    def _change(
        self,
        keys: Sequence[str],
        step: Callable[Concatenate[Rows, str, Values], Answer],
        *values: Values.args,
        **named: Values.kwargs,
    ) -> Answer:
        loaded = [*self._ledger.keys_of(self.name), *keys]
        return self._ledger.change(loaded, lambda rows: step(rows, self.name, *values, **named))
