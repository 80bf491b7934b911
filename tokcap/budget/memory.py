"""A ledger in the memory of one process, shared by its threads. It ends with the process."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from tokcap.budget.arithmetic import Account, offer, tokens_of
from tokcap.budget.base import (
    MOST_SHOWN,
    Grant,
    key_text,
    not_started,
    other_settings,
    session_name,
    this_holder,
)
from tokcap.budget.periods import period_end, period_start
from tokcap.budget.reports import MOST_LISTED, Holding, Past, Recorded, Session, Shown
from tokcap.budget.trees import MOST_ABOVE, check_start, has_children, linked, no_parent, too_deep
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcap.budget.arithmetic import Settings, Window
    from tokcap.environment import Environment

# Every call of a process that names the same URL gets the same ledger.
_opened: dict[str, MemoryLedger] = {}


# So many released grants are remembered, in case that they are settled after all.
MOST_RELEASED = 1000


def open_memory(url: str, env: Environment, patience_seconds: float) -> MemoryLedger:
    """Return this process's ledger of that URL."""
    return _opened.setdefault(url, MemoryLedger(env.now))


class _State:
    """One session, from its start on. Grants may refer to it after its end."""

    def __init__(self, name: str, settings: Settings, now: float) -> None:
        self.name = name
        self.created = now
        # The numbers of this session alone.
        self.account = Account(settings, period_began=None if settings.renew is None else now)
        # How often a new period has begun.
        self.period = 0
        self.used_by_turn: dict[str, int] = {}
        self.keys: set[str] = set()
        self.context = os.urandom(8).hex()
        # The newest key is the last one.
        self.shown: dict[str, str] = {}

    def hold(self, tokens: int, *, is_below: bool) -> None:
        """Reserve tokens, or free them if they are less than 0."""
        below = self.account.reserved_below + (tokens if is_below else 0)
        self.account = self.account.after_reserving(tokens).but(reserved_below=below)


class _Held(Record):
    """A reservation, and the sessions that it belongs to: the one that made it, and those above."""

    states: tuple[_State, ...]
    tokens: int
    turn: str | None
    since: float
    # What may be written already.
    announced: int = 0
    # For a released grant: the periods in which it was counted.
    periods: tuple[int, ...] = ()


class MemoryLedger:
    """A `SessionStore` for the threads of one process."""

    lease_seconds = None

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._sessions: dict[str, _State] = {}
        self._held: dict[int, _Held] = {}
        # Released grants may still be settled. The newest is the last one.
        self._released: dict[int, _Held] = {}
        # Periods that are over, by session and number. The newest is the last one.
        self._past: dict[tuple[_State, int], Past] = {}
        # Ids count up, so a grant that is neither held nor released was settled.
        self._last_id = 0
        self._lock = allocate_lock()

    def start(self, name: str, settings: Settings) -> bool:
        check_start(name, settings)
        with self._lock:
            found = self._sessions.get(name)
            if found is not None:
                if found.account.settings != settings:
                    raise other_settings(name, found.account.settings)
                return False
            if settings.parent is not None:
                if settings.parent not in self._sessions:
                    raise no_parent(settings.parent)
                if len(self._chain(self._sessions[settings.parent])) > MOST_ABOVE:
                    raise too_deep(settings.parent)
            self._sessions[name] = _State(name, settings, self._now())
            return True

    def end(self, name: str, *, tree: bool = False) -> Account:
        with self._lock:
            states = self._need(name)
            below = self._below(name)
            if below and not tree:
                raise has_children(name, below)
            account = self._account(states)
            for each in (name, *below):
                self._close(self._sessions.pop(each), self._now(), "ended")
            return account

    def reset(self, name: str) -> Account:
        with self._lock:
            state = self._need(name)[0]
            # Removed first, so that it moves to the end of the list as in other ledgers.
            del self._sessions[name]
            self._close(state, self._now(), "reset")
            self._sessions[name] = _State(name, state.account.settings, self._now())
            return self._account(self._need(name))

    def list(self) -> Sequence[Session]:
        with self._lock:
            states = [self._renewed(state) for state in self._sessions.values()]
            return linked([Session(state.name, state.created, state.account) for state in states])

    def held(self) -> Sequence[Holding]:
        with self._lock:
            now, holder = self._now(), this_holder()
            return [
                Holding(held.states[0].name, held.tokens, held.announced, holder, now - held.since)
                for held in [*self._held.values()][:MOST_LISTED]
            ]

    def history(self, name: str | None = None) -> Sequence[Past]:
        with self._lock:
            for state in self._sessions.values():
                self._renewed(state)
            return [past for past in self._past.values() if name in (None, past.session)]

    def has(self, name: str) -> bool:
        session_name(name)
        with self._lock:
            return name in self._sessions

    def reserve(
        self,
        name: str,
        requested: int | None,
        *,
        turn: str | None = None,
        window: Window | None = None,
        shares: Window | None = None,
    ) -> Grant:
        if turn is not None:
            key_text(turn, "a turn")
        with self._lock:
            states = self._need(name)
            account = self._account(states)
            turn_taken = None if turn is None else self._turn_taken(states[0], turn)
            found = offer(account, requested, window or account.settings.window(shares), turn_taken)
            tokens = found.tokens or 0
            self._last_id += 1
            self._held[self._last_id] = _Held(states, tokens, turn, self._now())
            for state in states:
                state.hold(tokens, is_below=state is not states[0])
            return Grant(self._last_id, found.tokens, turn, found.floor_decides, self._account(states))

    def announce(self, name: str, grant: Grant, tokens: int) -> None:
        tokens_of(tokens, "announced")
        session_name(name)
        with self._lock:
            held = self._held.get(grant.id)
            if held and tokens > held.announced:
                self._held[grant.id] = held.but(announced=tokens)

    def settle(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> Account:
        tokens_of(actual, "actual")
        with self._lock:
            if grant is None:
                states = self._need(name)
                return self._use(states, None, actual)
            held = self._free(grant)
            released = self._released.pop(grant.id, None)
            if held:
                return self._use(held.states, grant.turn, actual)
            if released:
                return self._correct(released, actual)
            states = self._need(name)
            is_settled = grant.id <= self._last_id
            return self._account(states) if is_settled else self._use(states, grant.turn, actual)

    def was_unknown(self, grant: Grant) -> bool:
        """Return False: this ledger forgets nothing."""
        return False

    def defer(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> bool:
        """Keep nothing: this ledger is never away."""
        return False

    def release(self, name: str, grant: Grant) -> Account:
        with self._lock:
            states = self._need(name)
            held = self._free(grant)
            if held:
                self._use(held.states, held.turn, held.announced)
                periods = tuple(state.period for state in held.states)
                self._released[grant.id] = held.but(periods=periods)
                if len(self._released) > MOST_RELEASED:
                    del self._released[next(iter(self._released))]
            return self._account(states)

    def renew(self, grant: Grant) -> None:
        """Do nothing: a grant ends with the process."""

    def record(self, name: str, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        tokens_of(input_tokens, "input")
        tokens_of(output_tokens, "output")
        if key is not None:
            key_text(key, "a key")
        with self._lock:
            states = self._need(name)
            state, *above = states
            if key is not None:
                if key in state.keys:
                    return Recorded(False, self._account(states))
                state.keys.add(key)
            state.account = state.account.after_model_call(input_tokens, output_tokens)
            for each in above:
                each.account = each.account.after_below(used=input_tokens + output_tokens)
            return Recorded(True, self._account(states))

    def compacted(self, name: str, used: int) -> Account:
        tokens_of(used, "used")
        with self._lock:
            states = self._need(name)
            state = states[0]
            state.account = state.account.after_compacting(used)
            state.context, state.shown = os.urandom(8).hex(), {}
            return self._account(states)

    def shown(self, name: str, keys: Sequence[str]) -> Shown:
        with self._lock:
            state = self._need(name)[0]
            return Shown(state.context, {key: state.shown[key] for key in keys if key in state.shown})

    def note_shown(self, name: str, context: str, handles: Mapping[str, str]) -> bool:
        with self._lock:
            state = self._need(name)[0]
            if state.context != context:
                return False
            for key, handle in handles.items():
                state.shown.pop(key, None)
                state.shown[key] = handle
            while len(state.shown) > MOST_SHOWN:
                del state.shown[next(iter(state.shown))]
            return True

    def turn(self, name: str, turn: str) -> int:
        key_text(turn, "a turn")
        with self._lock:
            return self._turn_taken(self._need(name)[0], turn)

    def read(self, name: str) -> Account:
        with self._lock:
            return self._account(self._need(name))

    def _need(self, name: str) -> tuple[_State, ...]:
        """Return a session and those above it, in their present periods."""
        try:
            state = self._sessions[session_name(name)]
        except KeyError:
            raise not_started(name) from None
        return tuple([self._renewed(each) for each in self._chain(state)])

    def _chain(self, state: _State) -> Sequence[_State]:
        found = [state]
        while (parent := found[-1].account.settings.parent) is not None:
            found.append(self._sessions[parent])
        return found

    def _below(self, name: str) -> Sequence[str]:
        """Return the names of all sessions below one."""
        found = [name]
        for above in found:
            found += [each.name for each in self._sessions.values() if each.account.settings.parent == above]
        return found[1:]

    def _renewed(self, state: _State) -> _State:
        """Begin a new period of a session if its present one is over."""
        renew, began = state.account.settings.renew, state.account.period_began
        if renew is not None and began is not None and self._sessions.get(state.name) is state:
            start = period_start(renew, self._now())
            if start > began:
                self._close(state, period_end(renew, began), "renewed")
                state.period += 1
                state.account = state.account.but(used=0, period_began=start)
        return state

    def _close(self, state: _State, ended: float, how: str) -> None:
        """Add the present period of a session to the history."""
        account = state.account
        began = state.created if account.period_began is None else account.period_began
        self._past[state, state.period] = Past(state.name, began, ended, account.total, account.used, how)
        if len(self._past) > MOST_LISTED:
            del self._past[next(iter(self._past))]

    @staticmethod
    def _account(states: Sequence[_State]) -> Account:
        above = [(each.name, each.account.as_ancestor()) for each in states[1:]]
        return states[0].account.but(above=tuple(above)) if above else states[0].account

    def _free(self, grant: Grant | None) -> _Held | None:
        held = self._held.pop(grant.id, None) if grant else None
        if held:
            for state in held.states:
                self._renewed(state).hold(-held.tokens, is_below=state is not held.states[0])
        return held

    def _use(self, states: Sequence[_State], turn: str | None, tokens: int) -> Account:
        """Count tokens in the present period of each session; return the account of the first one."""
        for state in states:
            self._add(state, state.period, tokens)
        self._show(states[0], turn, tokens)
        return self._account(states)

    def _correct(self, released: _Held, actual: int) -> Account:
        """Replace what was counted for a released grant, in the periods in which it was counted."""
        for state, period in zip(released.states, released.periods, strict=True):
            self._add(state, period, actual - released.announced)
        for tokens in (-released.announced, actual):
            self._show(released.states[0], released.turn, tokens)
        return self._account(released.states)

    def _add(self, state: _State, period: int, tokens: int) -> None:
        if state.period == period:
            state.account = state.account.after_below(used=tokens)
        if (state, period) in self._past:
            past = self._past[state, period]
            self._past[state, period] = past.but(used=past.used + tokens)

    @staticmethod
    def _show(state: _State, turn: str | None, tokens: int) -> None:
        """Note that the model was shown tokens, or less than it seemed."""
        window_used = max(state.account.window_used + tokens, 0)
        state.account = state.account.but(window_used=window_used)
        if turn is not None:
            state.used_by_turn[turn] = state.used_by_turn.get(turn, 0) + tokens

    def _turn_taken(self, state: _State, turn: str) -> int:
        reserved = sum(
            held.tokens for held in self._held.values() if held.states[0] is state and held.turn == turn
        )
        return state.used_by_turn.get(turn, 0) + reserved
