"""A ledger in the memory of one process, shared by its threads. It ends with the process."""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from tokcap.budget.arithmetic import Account, offer, tokens_of
from tokcap.budget.base import (
    MOST_SHOWN,
    Grant,
    Recorded,
    Session,
    Shown,
    key_text,
    not_started,
    other_settings,
    session_name,
)
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.budget.arithmetic import Settings, Window
    from tokcap.environment import Environment

# Every call of a process that names the same URL gets the same ledger.
_opened: dict[str, MemoryLedger] = {}


# So many released grants are remembered, in case that they are settled after all.
MOST_RELEASED = 1000


def open_memory(url: str, env: Environment, patience_seconds: float) -> MemoryLedger:
    """Return this process's ledger of that URL."""
    return _opened.setdefault(url, MemoryLedger())


class _State:
    """One session, from its start on. Grants may refer to it after its end."""

    def __init__(self, settings: Settings) -> None:
        self.created = time.time()
        self.account = Account(settings)
        self.used_by_turn: dict[str, int] = {}
        self.keys: set[str] = set()
        self.context = os.urandom(8).hex()
        # The newest key is the last one.
        self.shown: dict[str, str] = {}


class _Held(Record):
    """A reservation, and the session that it belongs to."""

    state: _State
    tokens: int
    turn: str | None
    # What may be written already.
    announced: int = 0


class MemoryLedger:
    """A `SessionStore` for the threads of one process. It keeps no history."""

    lease_seconds = None

    def __init__(self) -> None:
        self._sessions: dict[str, _State] = {}
        self._held: dict[int, _Held] = {}
        # Released grants may still be settled. The newest is the last one.
        self._released: dict[int, _Held] = {}
        # Ids count up, so a grant that is neither held nor released was settled.
        self._last_id = 0
        self._lock = allocate_lock()

    def start(self, name: str, settings: Settings) -> bool:
        session_name(name)
        settings.checked()
        with self._lock:
            found = self._sessions.get(name)
            if found is None:
                self._sessions[name] = _State(settings)
                return True
            if found.account.settings != settings:
                raise other_settings(name, found.account.settings)
            return False

    def end(self, name: str) -> Account:
        with self._lock:
            state = self._need(name)
            del self._sessions[name]
            return state.account

    def reset(self, name: str) -> Account:
        with self._lock:
            fresh = _State(self._need(name).account.settings)
            # Removed first, so that it moves to the end of the list as in other ledgers.
            del self._sessions[name]
            self._sessions[name] = fresh
            return fresh.account

    def list(self) -> Sequence[Session]:
        with self._lock:
            return [Session(name, state.created, state.account) for name, state in self._sessions.items()]

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
            state = self._need(name)
            turn_taken = None if turn is None else self._turn_taken(state, turn)
            found = offer(
                state.account, requested, window or state.account.settings.window(shares), turn_taken
            )
            tokens = found.tokens or 0
            self._last_id += 1
            self._held[self._last_id] = _Held(state, tokens, turn)
            state.account = state.account.after_reserving(tokens)
            return Grant(self._last_id, found.tokens, turn, found.floor_decides, state.account)

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
                state = self._need(name)
                self._use(state, None, actual)
                return state.account
            held = self._free(grant)
            released = self._released.pop(grant.id, None)
            if not held and not released and grant.id <= self._last_id:
                return self._need(name).account
            if released:
                self._undo(released)
            found = held or released
            state = found.state if found else self._need(name)
            self._use(state, grant.turn, actual)
            return state.account

    def defer(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> bool:
        """Keep nothing: this ledger is never away."""
        return False

    def release(self, name: str, grant: Grant) -> Account:
        with self._lock:
            state = self._need(name)
            held = self._free(grant)
            if held:
                self._use(held.state, held.turn, held.announced)
                self._released[grant.id] = held
                if len(self._released) > MOST_RELEASED:
                    del self._released[next(iter(self._released))]
            return state.account

    def renew(self, grant: Grant) -> None:
        """Do nothing: a grant ends with the process."""

    def record(self, name: str, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        tokens_of(input_tokens, "input")
        tokens_of(output_tokens, "output")
        if key is not None:
            key_text(key, "a key")
        with self._lock:
            state = self._need(name)
            if key is not None:
                if key in state.keys:
                    return Recorded(False, state.account)
                state.keys.add(key)
            state.account = state.account.after_model_call(input_tokens, output_tokens)
            return Recorded(True, state.account)

    def compacted(self, name: str, used: int) -> Account:
        tokens_of(used, "used")
        with self._lock:
            state = self._need(name)
            state.account = state.account.after_compacting(used)
            state.context, state.shown = os.urandom(8).hex(), {}
            return state.account

    def shown(self, name: str, keys: Sequence[str]) -> Shown:
        with self._lock:
            state = self._need(name)
            return Shown(state.context, {key: state.shown[key] for key in keys if key in state.shown})

    def note_shown(self, name: str, context: str, handles: Mapping[str, str]) -> bool:
        with self._lock:
            state = self._need(name)
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
            return self._turn_taken(self._need(name), turn)

    def read(self, name: str) -> Account:
        with self._lock:
            return self._need(name).account

    def _need(self, name: str) -> _State:
        try:
            return self._sessions[session_name(name)]
        except KeyError:
            raise not_started(name) from None

    def _free(self, grant: Grant | None) -> _Held | None:
        held = self._held.pop(grant.id, None) if grant else None
        if held:
            held.state.account = held.state.account.after_releasing(held.tokens)
        return held

    @staticmethod
    def _undo(released: _Held) -> None:
        state, tokens = released.state, released.announced
        state.account = state.account.after_undoing(tokens)
        if released.turn is not None:
            state.used_by_turn[released.turn] -= tokens

    @staticmethod
    def _use(state: _State, turn: str | None, tokens: int) -> None:
        state.account = state.account.after_using(tokens)
        if turn is not None:
            state.used_by_turn[turn] = state.used_by_turn.get(turn, 0) + tokens

    def _turn_taken(self, state: _State, turn: str) -> int:
        reserved = sum(
            held.tokens for held in self._held.values() if held.state is state and held.turn == turn
        )
        return state.used_by_turn.get(turn, 0) + reserved
