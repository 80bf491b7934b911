"""The rows of a ledger, and how a step reads and changes them.

A row is a JSON value under a key. The kinds of rows:

    session/NAME     a session: its numbers, and what is reserved in it, also by the sessions below it
    past/ID          a session that has ended or was reset; past/ID.N is a period of one that was renewed
    below/NAME       the names of the sessions directly below one
    turn/NAME/TURN   the id of the session, and what the turn has used in it
    key/NAME/KEY     the id of the session, and the id of the step that counted this model call
    shown/NAME       the context, and the handles of the outputs that it was shown
    done/NUMBER      a step that was done: repeating it changes nothing
    late/ID/NUMBER   what was counted for a grant that was not settled, and in which period
    meta             the version of the rows

A session of the same name may have ended since a row was written, so rows name a session by its id as well.
"""

from __future__ import annotations

from tokcap.budget.arithmetic import MOST_TOKENS, Account, Settings, period_end, period_start
from tokcap.budget.base import Past
from tokcap.errors import LedgerError, UsageError
from tokcap.startup.plainjson import compact, loads
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from tokcap.budget.base import Change, Texts

VERSION = 1
META = "meta"
DAY_SECONDS = 24 * 3600
# How long it is remembered that a step was done, and what a grant that was not settled had announced.
STEPS_SECONDS = 7 * DAY_SECONDS
# How long keys of model calls are remembered, and turns and shown outputs after their last use.
KEYS_SECONDS = 90 * DAY_SECONDS
HISTORY_SECONDS = 400 * DAY_SECONDS
# Numbers above any that steps can reach.
MOST_STORED = 1 << 62
assert MOST_TOKENS < MOST_STORED


class RowsMissing(Exception):
    """The step needs more rows than were loaded. It has to be taken again with these as well."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__(*keys)
        self.keys = keys


class Lease(Record):
    """Tokens that are reserved for a grant, in one session."""

    # None if nothing limits the answer.
    tokens: int | None
    turn: str | None
    # When it is over unless it is renewed; None: it lives as long as its holder.
    until: float | None = None
    # Where the holder can be seen, if the engine can tell: see `Engine.hold`.
    place: int = 0
    # What may be written already.
    announced: int = 0
    # A session below this one made the grant.
    is_below: bool = False


class State(Record):
    """One session, as its row says."""

    id: str
    name: str
    # By the clock of the ledger, as all times here.
    created: float
    settings: Settings
    # The names of the sessions above, the nearest first.
    above: tuple[str, ...] = ()
    used: int = 0
    # What the model's context holds, and how often it was compacted.
    window_used: int = 0
    compactions: int = 0
    # How often the session was renewed, and when the present period began.
    period: int = 0
    period_began: float | None = None
    # By the number of their grants.
    leases: Mapping[str, Lease] = {}
    ended: float | None = None
    # `ended`, `reset`, or for a period `renewed`.
    how: str = ""

    @property
    def key(self) -> str:
        if self.ended is None:
            return f"session/{self.name}"
        return f"past/{self.id}.{self.period}" if self.how == "renewed" else f"past/{self.id}"

    @property
    def context(self) -> str:
        return f"{self.id}.{self.compactions}"

    @property
    def account(self) -> Account:
        """The numbers of this session alone."""
        reserved = sum(lease.tokens or 0 for lease in self.leases.values())
        below = sum(lease.tokens or 0 for lease in self.leases.values() if lease.is_below)
        return Account(self.settings, self.used, reserved, self.window_used, below, self.period_began)

    def using(self, tokens: int, *, shown: bool) -> State:
        """Count tokens; `shown` if this session's model was shown them."""
        window_used = self.window_used + tokens if shown else self.window_used
        return self.replace(used=self.used + tokens, window_used=window_used)

    def without(self, number: str) -> State:
        return self.replace(leases={key: lease for key, lease in self.leases.items() if key != number})

    def past(self) -> Past:
        assert self.ended is not None, "only sessions and periods that are over are in the history"
        began = self.created if self.period_began is None else self.period_began
        return Past(self.name, began, self.ended, self.settings.total, self.used, self.how)

    def as_json(self) -> dict[str, object]:
        leases = {number: [*vars(lease).values()] for number, lease in self.leases.items()}
        return {**vars(self), "settings": [*vars(self.settings).values()], "leases": leases}


def state_of(key: str, found: Any) -> State:
    """Return the state in a row; raise `LedgerError` if it cannot be one."""
    try:
        leases = {number: Lease(*lease) for number, lease in found["leases"].items()}
        state = State(**{**found, "settings": Settings(*found["settings"]).checked(), "leases": leases})
        state = state.replace(above=(*state.above,))
        counts = (state.used, state.window_used, state.period, state.compactions)
        times = (state.created, *[time for time in (state.period_began, state.ended) if time is not None])
        if not (
            all(map(is_count, counts)) and all(map(is_time, times)) and all(map(is_lease, leases.values()))
        ):
            raise ValueError
        if state.settings.renew is not None and state.period_began is None:
            raise ValueError
        # A damaged name would lead to another row.
        if state.key != key or not all(type(each) is str for each in (state.id, state.how, *state.above)):
            raise ValueError
    except (TypeError, ValueError, AttributeError, KeyError, UsageError):
        raise damaged_row(key) from None
    return state


def is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST_STORED


def is_time(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < MOST_STORED


def is_lease(lease: Lease) -> bool:
    """Return whether a row can have this; nothing in it has the wrong type."""
    return (
        is_count(lease.tokens or 0)
        and is_count(lease.announced)
        and (lease.until is None or is_time(lease.until))
        and (lease.turn is None or type(lease.turn) is str)
        and (type(lease.place), type(lease.is_below)) == (int, bool)
    )


def damaged_row(key: str) -> LedgerError:
    return LedgerError(
        f"the ledger is damaged: its row {key} is invalid; move the ledger away, or remove that row"
    )


class Rows:
    """The rows that a step has loaded, at one time, and what it changes in them."""

    def __init__(
        self,
        texts: Texts,
        now: float,
        is_present: Callable[[int], bool],
        *,
        is_complete: bool = False,
    ) -> None:
        """`is_complete`: rows that were not loaded do not exist, as far as this step is concerned."""
        self.now = now
        self._texts = texts
        self._is_present = is_present
        self._is_complete = is_complete
        self._changed: dict[str, tuple[object, float | None]] = {}
        # Sessions that were read or changed, by the keys of their rows.
        self.states: dict[str, State | None] = {}

    def get(self, key: str) -> Any:
        """Return the value of a row; None if it does not exist."""
        if key in self._changed:
            return self._changed[key][0]
        if key not in self._texts and not self._is_complete:
            raise RowsMissing([key])
        text = self._texts.get(key)
        try:
            return None if text is None else loads(text)
        except (ValueError, RecursionError):
            raise damaged_row(key) from None

    def put(self, key: str, value: object, seconds: float | None = None) -> None:
        """Change a row; None removes it. It is kept for a number of seconds, or for ever."""
        self._changed[key] = value, seconds

    def changes(self) -> dict[str, Change]:
        """Return what the step has changed."""
        return {
            key: (None if value is None else compact(value).decode(), seconds)
            for key, (value, seconds) in self._changed.items()
        }

    def session(self, name: str) -> State | None:
        """Return a running session as it is now; None if there is none of this name."""
        return self.state(f"session/{name}")

    def past(self, identity: str) -> State | None:
        """Return a session that has ended, or a period that is over."""
        return self.state(f"past/{identity}")

    def save(self, state: State) -> State:
        """Change the row of a session."""
        if self.states.get(state.key) != state:
            self.states[state.key] = state
            self.put(state.key, state.as_json(), None if state.ended is None else HISTORY_SECONDS)
        return state

    def remove(self, state: State) -> None:
        self.states[state.key] = None
        self.put(state.key, None)

    def state(self, key: str) -> State | None:
        """Return the session or period of a row, as it is now."""
        if key not in self.states:
            found = self.get(key)
            self.states[key] = state = None if found is None else state_of(key, found)
            if state is not None:
                self.save(self._as_of_now(state))
        return self.states[key]

    def _as_of_now(self, state: State) -> State:
        """Begin a new period if one is due, then give up the grants whose holders are gone."""
        renew, began = state.settings.renew, state.period_began
        if renew is not None and began is not None and state.ended is None:
            start = period_start(renew, self.now)
            if start > began:
                self.save(state.replace(ended=period_end(renew, began), how="renewed", leases={}))
                state = state.replace(used=0, period=state.period + 1, period_began=start)
        for number, lease in state.leases.items():
            is_over = lease.until is not None and lease.until <= self.now
            if is_over or (lease.place and not self._is_present(lease.place)):
                state = give_up(self, state, number)
        return state


def give_up(rows: Rows, state: State, number: str) -> State:
    """Free a grant that was not settled, and count what it announced. It may still be settled."""
    lease = state.leases[number]
    rows.put(f"late/{state.id}/{number}", [lease.announced, state.period], STEPS_SECONDS)
    if lease.announced and not lease.is_below:
        add_to_turn(rows, state, lease.turn, lease.announced)
    return state.without(number).using(lease.announced, shown=not lease.is_below)


def turn_used(rows: Rows, state: State, turn: str) -> int:
    key = f"turn/{state.name}/{turn}"
    found = rows.get(key)
    identity, used = values_in(key, found, str, int) if found is not None else ("", 0)
    return used if identity == state.id else 0


def add_to_turn(rows: Rows, state: State, turn: str | None, tokens: int) -> None:
    # Nobody asks for turns of a session that has ended, and another one may have its name now.
    if turn is not None and state.ended is None:
        used = turn_used(rows, state, turn) + tokens
        rows.put(f"turn/{state.name}/{turn}", [state.id, used], KEYS_SECONDS)


def values_in(key: str, found: Any, *kinds: type) -> list[Any]:
    """Return the values in a row; raise `LedgerError` if they are others than it should have."""
    is_whole = isinstance(found, list) and tuple(map(type, found)) == kinds
    if not is_whole or not all(type(each) is not int or is_count(each) for each in found):
        raise damaged_row(key)
    return found  # type: ignore[no-any-return]  # checked


def check_version(rows: Rows, title: str) -> None:
    """Raise `LedgerError` if a later version has written the rows."""
    meta = rows.get(META)
    version = meta.get("version") if isinstance(meta, dict) else VERSION
    if type(version) is not int or version > VERSION:
        raise LedgerError(
            f"{title} was written by a newer tokcap (version {version}, this one knows {VERSION});"
            " use that one, or another ledger"
        )
