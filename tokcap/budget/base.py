"""The interface of a ledger: the protocol `SessionStore`, and the records and checks that all ledgers share.

A ledger does not calculate budgets itself: it calls `arithmetic`. `SessionView` is one session of any ledger.
"""

from __future__ import annotations

import os

from tokcap.errors import SessionNotStarted, UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol

    from tokcap.budget.arithmetic import Account, Settings, Window
    from tokcap.budget.reports import Holding, Past, Recorded, Session, Shown
    from tokcap.environment import Environment

    class SessionStore(Protocol):
        """All sessions of one ledger. Each method is one atomic step.

        A session exists from `start` to `end`. Every other step on a name without a session raises
        `SessionNotStarted`. If a step cannot be done, it raises `LedgerError` and changes nothing.
        """

        @property
        def lease_seconds(self) -> float | None:
            """How long a grant lives without `renew`; None if the ledger sees when its holder has ended."""
            ...

        def start(self, name: str, settings: Settings) -> bool:
            """Start a session; return False if it exists with the same settings.

            Raise `UsageError` if it exists with other settings, if its parent has not been started, or if it
            would have more than `trees.MOST_ABOVE` sessions above it.
            """
            ...

        def end(self, name: str, *, tree: bool = False) -> Account:
            """End a session, free its name, and return its last numbers. What it used stays used above.

            Raise `UsageError` if sessions run below it, unless `tree` ends those too.
            """
            ...

        def reset(self, name: str) -> Account:
            """End a session and start it again with its settings: nothing used, reserved or shown.

            Sessions above and below it keep their numbers.
            """
            ...

        def list(self) -> Sequence[Session]:
            """Return the sessions that exist, in the order in which they were started."""
            ...

        def has(self, name: str) -> bool: ...

        def reserve(
            self,
            name: str,
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
            ...

        def announce(self, name: str, grant: Grant, tokens: int) -> None:
            """Note, before it is written, that up to `tokens` of the answer may be out from now on.

            If the grant is never settled, because its process died, this number is counted as used and the
            rest of the grant is freed. Announcing less than before, or for a grant that is gone, changes
            nothing, so the step can be repeated.
            """
            ...

        def settle(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> Account:
            """Count what was used, which may be more than the grant, and free the grant.

            A grant belongs to the session that made it, even if that session has ended or was reset. A grant
            is settled once: doing it again changes nothing, so the step can be repeated. If the grant was
            released, or the ledger took its holder for dead, `actual` replaces what was counted then. `kind`
            names the usage in the history, where a ledger keeps one.
            """
            ...

        def was_unknown(self, grant: Grant) -> bool:
            """Return whether the ledger did not know a grant when it was settled: it has lost writes."""
            ...

        def defer(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> bool:
            """Keep a settlement that failed because the ledger was away; a later step delivers it, once.

            Return False if it cannot be kept.
            """
            ...

        def release(self, name: str, grant: Grant) -> Account:
            """Free a grant; count only what was announced. Releasing it again changes nothing."""
            ...

        def renew(self, grant: Grant) -> None:
            """Note that the holder of a grant still runs: it lives for another `lease_seconds`."""
            ...

        def record(
            self, name: str, input_tokens: int, output_tokens: int, key: str | None = None
        ) -> Recorded:
            """Count the tokens of a model call; count the same key only once."""
            ...

        def compacted(self, name: str, used: int) -> Account:
            """Note that the model's context now holds `used` tokens, and forget what it was shown.

            The total stays as it is.
            """
            ...

        def shown(self, name: str, keys: Sequence[str]) -> Shown:
            """Return the handles that `note_shown` has noted under these keys for the present context."""
            ...

        def note_shown(self, name: str, context: str, handles: Mapping[str, str]) -> bool:
            """Note handles by their keys, after the model was shown the outputs.

            Change nothing and return False if `context` is not the present one: the session was compacted or
            reset while the output was on its way. A ledger keeps `MOST_SHOWN` keys of a session, and drops
            those that were not noted for the longest time.
            """
            ...

        def turn(self, name: str, turn: str) -> int:
            """Return what a turn has used and reserved; 0 for a new turn."""
            ...

        def read(self, name: str) -> Account: ...

        def held(self) -> Sequence[Holding]:
            """Return who holds reserved tokens now, the oldest first: at most `reports.MOST_LISTED`."""
            ...

        def history(self, name: str | None = None) -> Sequence[Past]:
            """Return the periods that are over, of one name or of all, the oldest first.

            At most the last `reports.MOST_LISTED` are returned. Periods without any step are missing.
            """
            ...

    class OpenLedger(Protocol):
        """An entry of the table `LEDGERS`: open the ledger that a URL names, without creating anything."""

        def __call__(self, url: str, env: Environment, patience_seconds: float) -> SessionStore: ...


# How long a step waits for other processes. A step takes about a millisecond, so only a process that
# is stopped in the middle of one can take longer.
PATIENCE_SECONDS = 30.0

# Names the session of a call that names none itself. Empty, it names none.
SESSION_VARIABLE = "TOKCAP_SESSION"
NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@+")
LONGEST_NAME = 100
# How much of its parent's name a session without a name gets.
LONGEST_BEGINNING = 80
LONGEST_KEY_BYTES = 1000
# The most keys of shown outputs that a session has. One that is dropped is only shown in full again.
MOST_SHOWN = 1000


class Grant(Record):
    """Reserved tokens, and the account that includes them. `tokens` is None if nothing limits the answer."""

    # Unique in its ledger, and never reused.
    id: int
    tokens: int | None
    turn: str | None
    # The floor of the window's share decided: compaction is advised.
    floor_decides: bool
    account: Account


def new_grant_id() -> int:
    """Return an id that no other grant has, on any machine. A signed 64-bit column can hold it."""
    return int.from_bytes(os.urandom(8), "big") >> 2


def this_holder() -> str:
    """Return how lists of reservations call this process: `HOST:PID`."""
    return f"{os.uname().nodename}:{os.getpid()}"


class SessionView:
    """One session of a ledger. The session does not have to exist yet."""

    def __init__(self, store: SessionStore, name: str) -> None:
        self._store = store
        self.name = session_name(name)

    def reserve(
        self,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        return self._store.reserve(self.name, requested, turn=turn, window=window, shares=shares)

    def announce(self, grant: Grant, tokens: int) -> None:
        self._store.announce(self.name, grant, tokens)

    def settle(self, grant: Grant | None, actual: int, kind: str = "run") -> Account:
        return self._store.settle(self.name, grant, actual, kind)

    def was_unknown(self, grant: Grant) -> bool:
        return self._store.was_unknown(grant)

    def defer(self, grant: Grant | None, actual: int, kind: str = "run") -> bool:
        return self._store.defer(self.name, grant, actual, kind)

    def release(self, grant: Grant) -> Account:
        return self._store.release(self.name, grant)

    @property
    def lease_seconds(self) -> float | None:
        return self._store.lease_seconds

    def below(self, name: str | None, settings: Settings) -> SessionView:
        """Start a session that is a part of this one, if it does not exist; without a name, a new one."""
        name = name or f"{self.name[:LONGEST_BEGINNING]}.{os.urandom(4).hex()}"
        self._store.start(session_name(name), settings.but(parent=self.name))
        return SessionView(self._store, name)

    def renew(self, grant: Grant) -> None:
        self._store.renew(grant)

    def record(self, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        return self._store.record(self.name, input_tokens, output_tokens, key)

    def compacted(self, used: int) -> Account:
        return self._store.compacted(self.name, used)

    def shown(self, keys: Sequence[str]) -> Shown:
        return self._store.shown(self.name, keys)

    def note_shown(self, context: str, handles: Mapping[str, str]) -> bool:
        return self._store.note_shown(self.name, context, handles)

    def turn(self, turn: str) -> int:
        return self._store.turn(self.name, turn)

    def end(self, *, tree: bool = False) -> Account:
        return self._store.end(self.name, tree=tree)

    def read(self) -> Account:
        return self._store.read(self.name)


def session_name(name: str, source: str = "") -> str:
    """Return the name; raise `UsageError` if it is not a plain word for a shell, or could be a path.

    `source` is the variable that the name comes from.
    """
    if not name or len(name) > LONGEST_NAME or name[0] in ".-" or not NAME_CHARACTERS.issuperset(name):
        shown = repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…")
        origin = f"{source}: " if source else ""
        raise UsageError(
            f"{origin}invalid session name {shown}: use up to {LONGEST_NAME} letters, digits and . _ - : @ +,"
            " and do not start with . or -"
        )
    return name


def key_text(key: str, what: str) -> str:
    """Return the key; raise `UsageError` if a database cannot hold it."""
    try:
        if 0 < len(key.encode()) <= LONGEST_KEY_BYTES and "\0" not in key:
            return key
    except UnicodeEncodeError:
        pass
    raise UsageError(f"{what} must be 1 to {LONGEST_KEY_BYTES} bytes of UTF-8 without NUL")


def not_started(name: str, source: str = "") -> SessionNotStarted:
    """Return the error for a session that does not exist; `source` is the variable that named it."""
    return SessionNotStarted(
        f"{shown_session(name, source)} has not been started;"
        f" start it with: tokcap budget start {name} --total N"
    )


def shown_session(name: str, source: str) -> str:
    return f"session {name!r} ({source})" if source else f"session {name!r}"


def other_settings(name: str, settings: Settings) -> UsageError:
    """Return the error for a session that exists with other settings than those given."""
    given = {key: value for key, value in vars(settings).items() if value is not None}
    present = ", ".join(f"{key} {value}" for key, value in given.items()) or "none"
    return UsageError(
        f"session {name!r} was started with other settings ({present});"
        f" end it first: tokcap budget end {name}"
    )
