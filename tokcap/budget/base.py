"""The records that all ledgers share, the checks of names and keys, and `Engine`: what a new ledger writes.

`rules` says what the steps of a session change, `ledger` takes them on an engine.
"""

from __future__ import annotations

import os

from tokcap.errors import SessionNotStarted, UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, TypeAlias

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.ledger import Ledger
    from tokcap.environment import Environment

    # Rows by key; None for a row that does not exist.
    Texts: TypeAlias = Mapping[str, str | None]
    # The new text of a row, or None to remove it, and for how many seconds it is kept; None: for ever.
    Change: TypeAlias = tuple[str | None, float | None]
    # Gets rows and the time, and returns which rows change.
    Step: TypeAlias = Callable[[Texts, float], Mapping[str, Change]]

    class OpenLedger(Protocol):
        """An entry of the table `LEDGERS`: open the ledger that a URL names, without creating anything."""

        def __call__(self, url: str, env: Environment, patience_seconds: float) -> Ledger: ...


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


class Engine:
    """Where the rows of a ledger are: texts by key.

    Each method gets the number of seconds that it may take. It raises `LedgerUnreachable` if it is unknown
    whether a change was made, and `LedgerError` if it cannot be made.
    """

    # How messages call the ledger. It never contains a password.
    title = "the ledger"
    # How long a grant lives without being renewed; None if the engine sees when its holder has ended.
    lease_seconds: float | None = None

    def change(self, keys: Sequence[str], step: Step, seconds: float) -> None:
        """Load rows, call `step` with them and the time by the clock of the engine, and write its changes.

        All changes are written or none, and only if nobody has changed a loaded row meanwhile; else it starts
        again. A key that was not loaded is written whatever is there. If `step` raises, nothing changes.
        """
        raise NotImplementedError

    def load(self, keys: Sequence[str], seconds: float) -> tuple[Texts, float]:
        """Return rows as they are at one moment, and the time."""
        raise NotImplementedError

    def scan(self, kind: str, most: int, seconds: float) -> tuple[Texts, float]:
        """Return all rows whose keys begin with `kind/`, and the time; if there are more, the newest.

        It is asked only for the kinds that `LISTED` names.
        """
        raise NotImplementedError

    def hold(self) -> int:
        """Note that this process holds grants; return a place that others can ask for, or 0."""
        return 0

    def is_present(self, place: int) -> bool:
        """Return whether the process that holds a place still runs."""
        return True

    def close(self) -> None:
        """Forget the connection. The next step makes a new one."""


# The kinds of rows that are listed. Others are only loaded by their keys.
LISTED = ("session", "past")


class Grant(Record):
    """Reserved tokens, and the account that includes them. `tokens` is None if nothing limits the answer."""

    # Unique in its ledger, and never reused.
    id: int
    tokens: int | None
    turn: str | None
    # The floor of the window's share decided: compaction is advised.
    floor_decides: bool
    account: Account
    # Names and ids of the session that made it, and of those above.
    sessions: tuple[tuple[str, str], ...] = ()


class Session(Record):
    """A session in a list."""

    name: str
    # Seconds since 1970, by the clock of the ledger.
    created: float
    account: Account


class Past(Record):
    """A period of a session that is over, or the whole of a session without periods."""

    session: str
    # Seconds since 1970.
    began: float
    ended: float
    total: int | None
    used: int
    # How it ended: `renewed`, `reset` or `ended`.
    how: str


class Recorded(Record):
    """Whether tokens were counted (their key was new), and the account afterwards."""

    counted: bool
    account: Account


class Shown(Record):
    """What the model was shown in its present context, as far as it was asked for."""

    # Names the context. It changes when the session is compacted or reset.
    context: str
    # Handles by key. A key that was not noted is missing.
    handles: Mapping[str, str]


def new_id() -> int:
    """Return an id that no other grant or step has, on any machine."""
    return int.from_bytes(os.urandom(8), "big") >> 2


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
