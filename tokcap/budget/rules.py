"""What each step of a session changes: pure functions of rows, a time and arguments, as `Ledger` and
`SessionView` describe them.
"""

from __future__ import annotations

from tokcap.budget.arithmetic import Account, Settings, Window, offer
from tokcap.budget.base import Grant, Recorded, Session, Shown, not_started
from tokcap.budget.rows import (
    KEYS_SECONDS,
    META,
    STEPS_SECONDS,
    VERSION,
    Lease,
    Rows,
    State,
    add_to_turn,
    damaged_row,
    give_up,
    turn_used,
    values_in,
)
from tokcap.errors import LedgerError, UsageError
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tokcap.budget.base import Past

# How many sessions there may be above one. Every step of a session changes all of them.
MOST_ABOVE = 8
# The most keys of shown outputs that a session has. One that is dropped is only shown in full again.
MOST_SHOWN = 1000
# How many sessions below another are named in a message.
MOST_NAMED = 5
# The most periods that are returned.
MOST_LISTED = 1000


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
        numbers = Account(
            Settings(state.settings.total, modes=state.settings.modes), state.used, state.account.reserved
        )
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
    """`lease` has everything but the tokens that are granted, and `until` as a number of seconds."""
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
    for state in sessions_of(rows, grant):
        lease = state.leases.get(str(grant.id))
        if lease is not None:
            until = None if lease_seconds is None else rows.now + lease_seconds
            changed = lease.replace(announced=max(lease.announced, tokens), until=until)
            rows.save(state.replace(leases={**state.leases, str(grant.id): changed}))


def settle(rows: Rows, name: str, grant: Grant, actual: int) -> tuple[Account, bool]:
    """Return also whether the session that made the grant still knew it.

    For usage without a reservation, a grant without sessions brings only its id and turn.
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
    # The holder seemed dead, or gave up. The true number replaces what was counted then, in that period.
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
    chain(rows, name)
    for state in sessions_of(rows, grant):
        if str(grant.id) in state.leases:
            rows.save(give_up(rows, state, str(grant.id)))
    return account_of(chain(rows, name))


def record(rows: Rows, name: str, number: int, tokens: int, place: str) -> Recorded:
    """`place` is the key of a row, for which the tokens are counted only once.

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
    states = chain(rows, name)
    compactions = states[0].compactions + 1
    states[0] = rows.save(states[0].replace(window_used=used, compactions=compactions))
    return account_of(states)


def shown(rows: Rows, name: str, keys: Sequence[str]) -> Shown:
    state = chain(rows, name)[0]
    handles = handles_in(rows, state)
    return Shown(state.context, {key: handles[key] for key in keys if key in handles})


def note_shown(rows: Rows, name: str, context: str, handles: Mapping[str, str]) -> bool:
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


def turn_taken(rows: Rows, state: State, turn: str) -> int:
    """Return what a turn has used and reserved."""
    leases = state.leases.values()
    reserved = sum(lease.tokens or 0 for lease in leases if lease.turn == turn and not lease.is_below)
    return turn_used(rows, state, turn) + reserved


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
