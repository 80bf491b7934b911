"""What each step of a session changes: pure functions of rows, a time and arguments.

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

from tokcap.budget.arithmetic import (
    MOST_TOKENS,
    Account,
    Settings,
    Window,
    offer,
    period_end,
    period_start,
)
from tokcap.budget.base import (
    Grant,
    Past,
    Recorded,
    Session,
    Shown,
    not_started,
)
from tokcap.errors import LedgerError, UsageError
from tokcap.startup.plainjson import compact, loads
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from tokcap.budget.base import Change, Texts

VERSION = 1
META = "meta"
# How many sessions there may be above one. Every step of a session changes all of them.
MOST_ABOVE = 8
# The most keys of shown outputs that a session has. One that is dropped is only shown in full again.
MOST_SHOWN = 1000
# How many sessions below another are named in a message.
MOST_NAMED = 5
# The most periods that are returned.
MOST_LISTED = 1000
DAY_SECONDS = 24 * 3600
# How long it is remembered that a step was done, and what a grant that was not settled had announced.
STEPS_SECONDS = 7 * DAY_SECONDS
# How long keys of model calls are remembered, and turns and shown outputs after their last use.
KEYS_SECONDS = 90 * DAY_SECONDS
HISTORY_SECONDS = 400 * DAY_SECONDS
# Numbers above any that steps can reach.
MOST_STORED = 1 << 62


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


def chain(rows: Rows, name: str) -> list[State]:
    """Return a session and those above it, the nearest first; raise an error if one does not exist."""
    state = rows.session(name)
    if state is None:
        raise not_started(name)
    found = [state]
    for above in state.above:
        parent = rows.session(above)
        if parent is None:
            raise LedgerError(
                f"session {name!r} is a part of {above!r}, which the ledger has lost;"
                f" start that again: tokcap budget start {above} --total N"
            )
        found.append(parent)
    return found


def account_of(states: Sequence[State]) -> Account:
    """Return the account of the first session, with those above it."""
    account = states[0].account
    if len(states) == 1:
        return account
    above = []
    for state in states[1:]:
        numbers = Account(Settings(state.settings.total), state.used, state.account.reserved)
        above.append((state.name, numbers))
    return account.replace(above=tuple(above))


def sessions_of(rows: Rows, grant: Grant) -> list[State]:
    """Return the sessions that a grant belongs to: first the one that made it, then those above.

    It may have ended since. Without it, as for a ledger that has lost it, the list is empty.
    """
    found = []
    for name, identity in grant.sessions:
        state = rows.session(name)
        if state is None or state.id != identity:
            state = rows.past(identity)
        if state is not None:
            found.append(state)
        elif not found:
            break
    return found


# The steps, as `Ledger` and `SessionView` describe them


def read(rows: Rows, name: str) -> Account:
    return account_of(chain(rows, name))


def start(rows: Rows, name: str, settings: Settings, number: int) -> bool:
    """Start a session; return False if it exists with the same settings."""
    found = rows.session(name)
    if found is not None:
        if found.settings != settings:
            given = [f"{key} {value}" for key, value in vars(found.settings).items() if value is not None]
            raise UsageError(
                f"session {name!r} was started with other settings ({', '.join(given) or 'none'});"
                f" end it first: tokcap budget end {name}"
            )
        return found.id.endswith(f".{number:x}")
    above: tuple[str, ...] = ()
    if settings.parent is not None:
        parent = rows.session(settings.parent)
        if parent is None:
            raise UsageError(
                f"the parent {settings.parent!r} has not been started;"
                f" start it first: tokcap budget start {settings.parent} --total N"
            )
        if len(parent.above) >= MOST_ABOVE:
            raise UsageError(
                f"{settings.parent!r} cannot be a parent: it has {MOST_ABOVE} sessions above it already"
            )
        above = (parent.name, *parent.above)
        rows.put(f"below/{parent.name}", [*names_below(rows, parent.name), name])
    if rows.get(META) is None:
        rows.put(META, {"version": VERSION})
    rows.save(new_state(rows, name, settings, above, number))
    return True


def new_state(rows: Rows, name: str, settings: Settings, above: tuple[str, ...], number: int) -> State:
    """Return a session that begins now."""
    period_began = None if settings.renew is None else rows.now
    identity = f"{round(rows.now * 1000):x}.{number:x}"
    return State(identity, name, rows.now, settings, above, period_began=period_began)


def end(rows: Rows, name: str, number: int, *, tree: bool) -> Account:
    """End a session, or with `tree` all those below it too; return its last numbers."""
    done = rows.get(f"done/{number}")
    ended = rows.past(done) if isinstance(done, str) else None
    if ended is not None:
        return account_of([ended])
    states = chain(rows, name)
    names = [name]
    for above in names:
        names += names_below(rows, above)
    if len(names) > 1 and not tree:
        below = ", ".join(names[1 : 1 + MOST_NAMED]) + (", …" if len(names) > 1 + MOST_NAMED else "")
        raise UsageError(
            f"session {name!r} has sessions below it ({below}); end them first, or all of them with:"
            f" tokcap budget end {name} --tree"
        )
    for each in names:
        state = rows.session(each)
        if state is not None:
            rows.remove(state)
            rows.save(state.replace(ended=rows.now, how="ended"))
        if rows.get(f"below/{each}") is not None:
            rows.put(f"below/{each}", None)
    parent = states[0].settings.parent
    if parent is not None:
        others = [each for each in names_below(rows, parent) if each != name]
        rows.put(f"below/{parent}", others or None)
    rows.put(f"done/{number}", states[0].id, STEPS_SECONDS)
    return account_of(states)


def reset(rows: Rows, name: str, number: int) -> Account:
    """End a session and start it again with its settings: nothing used, reserved or shown."""
    states = chain(rows, name)
    if rows.get(f"done/{number}") is None:
        rows.save(states[0].replace(ended=rows.now, how="reset"))
        states[0] = rows.save(new_state(rows, name, states[0].settings, states[0].above, number))
        rows.put(f"done/{number}", 1, STEPS_SECONDS)
    return account_of(states)


def reserve(
    rows: Rows,
    name: str,
    number: int,
    requested: int | None,
    lease: Lease,
    window: Window | None,
    shares: Window | None,
) -> Grant:
    """Reserve what `arithmetic.offer` allows; raise `BudgetExhausted` if that is nothing.

    `lease` has everything but the tokens that are granted, and `until` as a number of seconds. For `window`
    and `shares`, see `SessionView.reserve`.
    """
    states = chain(rows, name)
    sessions = tuple([(state.name, state.id) for state in states])
    held = states[0].leases.get(str(number))
    if held is not None:
        # The answer to an earlier attempt was lost. The numbers are those of now.
        return Grant(number, held.tokens, held.turn, False, account_of(states), sessions)
    account = account_of(states)
    taken = None if lease.turn is None else turn_taken(rows, states[0], lease.turn)
    tokens, floor_decides = offer(account, requested, window or account.settings.window(shares), taken)
    until = None if lease.until is None else rows.now + lease.until
    for place, state in enumerate(states):
        own = lease.replace(tokens=tokens, until=until, is_below=place > 0)
        states[place] = rows.save(state.replace(leases={**state.leases, str(number): own}))
    return Grant(number, tokens, lease.turn, floor_decides, account_of(states), sessions)


def announce(rows: Rows, grant: Grant, tokens: int, lease_seconds: float | None) -> None:
    """Note that up to `tokens` may be written, and renew the lease. A grant that is gone changes nothing."""
    for state in sessions_of(rows, grant):
        lease = state.leases.get(str(grant.id))
        if lease is not None:
            until = None if lease_seconds is None else rows.now + lease_seconds
            changed = lease.replace(announced=max(lease.announced, tokens), until=until)
            rows.save(state.replace(leases={**state.leases, str(grant.id): changed}))


def settle(rows: Rows, name: str, grant: Grant, actual: int) -> tuple[Account, bool]:
    """Count what was used, and free the grant; return also whether the session that made it still knew it.

    A grant is settled in the sessions that it belongs to, also if they have ended, and once. For usage
    without a reservation, a grant without sessions brings only its id and turn.
    """
    if rows.get(f"done/{grant.id}") is not None:
        return account_of(chain(rows, name)), True
    states = sessions_of(rows, grant) or chain(rows, name)
    is_known = False
    for place, state in enumerate(states):
        states[place], was_known = settle_in(rows, state, grant, actual, is_own=place == 0)
        is_known = was_known if place == 0 else is_known
    rows.put(f"done/{grant.id}", 1, STEPS_SECONDS)
    return account_of(states), is_known


def settle_in(rows: Rows, state: State, grant: Grant, actual: int, *, is_own: bool) -> tuple[State, bool]:
    """Count what was used in one session; return it, and whether it knew the grant."""
    number, turn = str(grant.id), grant.turn if is_own else None
    late_key = f"late/{state.id}/{number}"
    late = None if number in state.leases or not grant.sessions else rows.get(late_key)
    if late is None:
        add_to_turn(rows, state, turn, actual)
        return rows.save(state.without(number).using(actual, shown=is_own)), number in state.leases
    # Its holder seemed dead, or gave up. The true number replaces what was counted then, in that period.
    rows.put(late_key, None)
    announced, period = values_in(late_key, late, int, int)
    add_to_turn(rows, state, turn, actual - announced)
    if is_own:
        # A context that was compacted since holds less than what is taken back.
        state = state.replace(window_used=max(state.window_used - announced, 0) + actual)
    if period == state.period:
        return rows.save(state.replace(used=state.used + actual - announced)), True
    over = rows.past(f"{state.id}.{period}")
    if over is not None:
        rows.save(over.replace(used=over.used + actual - announced))
    return rows.save(state), True


def release(rows: Rows, name: str, grant: Grant) -> Account:
    """Free a grant; count only what was announced. Releasing it again changes nothing."""
    chain(rows, name)
    for state in sessions_of(rows, grant):
        if str(grant.id) in state.leases:
            rows.save(give_up(rows, state, str(grant.id)))
    return account_of(chain(rows, name))


def give_up(rows: Rows, state: State, number: str) -> State:
    """Free a grant that was not settled, and count what it announced. It may still be settled."""
    lease = state.leases[number]
    rows.put(f"late/{state.id}/{number}", [lease.announced, state.period], STEPS_SECONDS)
    if lease.announced and not lease.is_below:
        add_to_turn(rows, state, lease.turn, lease.announced)
    return state.without(number).using(lease.announced, shown=not lease.is_below)


def record(rows: Rows, name: str, number: int, tokens: int, place: str) -> Recorded:
    """Count the tokens of a model call, and only once for each `place`: the key of a row.

    A call sends the whole context again. So its tokens are not added to what was shown before: after the
    call the context holds at least these.
    """
    states = chain(rows, name)
    found = rows.get(place)
    if found is not None:
        identity, first = values_in(place, found, str, int)
        if identity == states[0].id:
            return Recorded(first == number, account_of(states))
    rows.put(place, [states[0].id, number], KEYS_SECONDS if place.startswith("key/") else STEPS_SECONDS)
    states = [rows.save(state.using(tokens, shown=False)) for state in states]
    window_used = max(states[0].window_used, tokens)
    states[0] = rows.save(states[0].replace(window_used=window_used))
    return Recorded(True, account_of(states))


def compacted(rows: Rows, name: str, used: int) -> Account:
    """Note that the context now holds `used` tokens, and forget what it was shown. The total stays."""
    states = chain(rows, name)
    compactions = states[0].compactions + 1
    states[0] = rows.save(states[0].replace(window_used=used, compactions=compactions))
    return account_of(states)


def shown(rows: Rows, name: str, keys: Sequence[str]) -> Shown:
    """Return the handles that were noted under these keys for the present context."""
    state = chain(rows, name)[0]
    handles = handles_in(rows, state)
    return Shown(state.context, {key: handles[key] for key in keys if key in handles})


def note_shown(rows: Rows, name: str, context: str, handles: Mapping[str, str]) -> bool:
    """Note handles by their keys; return False if `context` is not the present one any more."""
    state = chain(rows, name)[0]
    if state.context != context:
        return False
    known = {key: handle for key, handle in handles_in(rows, state).items() if key not in handles}
    newest = [*known.items(), *handles.items()][-MOST_SHOWN:]
    rows.put(f"shown/{name}", [context, dict(newest)], KEYS_SECONDS)
    return True


def handles_in(rows: Rows, state: State) -> dict[str, str]:
    key = f"shown/{state.name}"
    found = rows.get(key)
    try:
        return dict(found[1]) if found is not None and found[0] == state.context else {}
    except (TypeError, ValueError, IndexError, KeyError):
        raise damaged_row(key) from None


def turn_of(rows: Rows, name: str, turn: str) -> int:
    """Return what a turn of a session has used and reserved; 0 for a new turn."""
    return turn_taken(rows, chain(rows, name)[0], turn)


def turn_taken(rows: Rows, state: State, turn: str) -> int:
    """Return what a turn has used and reserved."""
    leases = state.leases.values()
    reserved = sum(lease.tokens or 0 for lease in leases if lease.turn == turn and not lease.is_below)
    return turn_used(rows, state, turn) + reserved


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


def names_below(rows: Rows, name: str) -> list[str]:
    """Return the names of the sessions directly below one."""
    key = f"below/{name}"
    found = rows.get(key) or []
    return values_in(key, found, *[str] * len(found) if isinstance(found, list) else [list])


# Lists


def listed(rows: Rows, keys: Iterable[str]) -> list[Session]:
    """Return running sessions in the order in which they were started, with those above them."""
    names = [key.partition("/")[2] for key in keys]
    states = {name: state for name in names if (state := rows.session(name)) is not None}
    found = []
    for state in sorted(states.values(), key=lambda state: (state.created, state.id)):
        above = [states[name] for name in state.above if name in states]
        found.append(Session(state.name, state.created, account_of([state, *above])))
    return found


def history(rows: Rows, keys: Iterable[str], name: str | None) -> list[Past]:
    """Return what is over, the oldest first: of one name, or of all."""
    for key in keys:
        rows.state(key)
    over = [state.past() for state in rows.states.values() if state is not None and state.ended is not None]
    found = [past for past in over if name in (None, past.session)]
    return sorted(found, key=lambda past: (past.ended, past.began))[-MOST_LISTED:]


def check_version(rows: Rows, title: str) -> None:
    """Raise `LedgerError` if a later version has written the rows."""
    meta = rows.get(META)
    version = meta.get("version") if isinstance(meta, dict) else VERSION
    if type(version) is not int or version > VERSION:
        raise LedgerError(
            f"{title} was written by a newer tokcap (version {version}, this one knows {VERSION});"
            " use that one, or another ledger"
        )


assert MOST_TOKENS < MOST_STORED
