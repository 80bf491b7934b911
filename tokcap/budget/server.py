"""A ledger on a server, which many machines share: what all engines have in common.

An engine runs each step on its server, at once or not at all. A step is a name and arguments, all of them
text; its answer is a list of texts. The server decides what is granted; the messages come from `arithmetic`,
which gets the same numbers and must agree.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock

from tokcap.budget.arithmetic import MOST_TOKENS, Account, Settings, Window, offer, tokens_of
from tokcap.budget.base import (
    Grant,
    key_text,
    new_grant_id,
    not_started,
    other_settings,
    session_name,
    this_holder,
)
from tokcap.budget.reports import Recorded, Session, Shown
from tokcap.budget.server_answers import (
    ACCOUNT_TEXTS,
    HOLDING_TEXTS,
    PAST_TEXTS,
    account_of,
    millionths,
    number_of,
    rows_of,
    window_words,
)
from tokcap.errors import LedgerError, LedgerUnreachable
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol, TypeAlias

    Texts: TypeAlias = list[str]

    from tokcap.budget.outbox import Outbox
    from tokcap.budget.reports import Holding, Past

    class Engine(Protocol):
        """A connection to a server, which is made when it is needed."""

        # How messages call the server. It never contains a password.
        title: str

        def step(self, words: Sequence[str], timeout_seconds: float) -> Texts:
            """Run one step.

            Raise `LedgerUnreachable` if it is unknown whether the step was done, and `LedgerError` if it
            cannot be done.
            """
            ...

        def close(self) -> None:
            """Forget the connection. The next step makes a new one."""
            ...


# Wait so long before the second attempt; then twice as long each time.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.02, 0.5
# The shares of a window if neither the session nor the call gives any.
DEFAULT_SHARES = Window(0)


class ServerLedger:
    """A `SessionStore` on a server. Threads may share it; a forked process makes its own connection."""

    def __init__(
        self, engine: Engine, timeout_seconds: float, lease_seconds: float, outbox: Outbox | None = None
    ) -> None:
        self._engine = engine
        self._outbox = outbox
        # Whether the outbox was delivered since the server was last away.
        self._is_delivered = outbox is None
        self._timeout_seconds = timeout_seconds
        self.lease_seconds = lease_seconds
        self._lock = allocate_lock()
        self._process = os.getpid()
        # Grants that the server did not know when they were settled.
        self._unknown: set[int] = set()

    def start(self, name: str, settings: Settings) -> bool:
        from tokcap.budget.trees import check_start, no_parent, too_deep

        check_start(name, settings)
        pcts = settings.result_pct, settings.turn_pct
        status, *texts = self._step(
            "start",
            name,
            settings.total,
            settings.context_window,
            *pcts,
            settings.floor_tokens,
            *(None if fraction is None else millionths(fraction) for fraction in pcts),
            settings.parent,
            settings.renew,
        )
        if status in ("no_parent", "too_deep"):
            raise (no_parent if status == "no_parent" else too_deep)(settings.parent or "")
        found = account_of(texts).settings
        if found != settings:
            raise other_settings(name, found)
        return status == "ok"

    def end(self, name: str, *, tree: bool = False) -> Account:
        status, *texts = self._need(name, "end", new_grant_id(), "tree" if tree else None)
        if status == "children":
            from tokcap.budget.trees import has_children

            raise has_children(name, texts)
        return account_of(texts)

    def reset(self, name: str) -> Account:
        return self._account(name, "reset", new_grant_id())

    def list(self) -> Sequence[Session]:
        from tokcap.budget.trees import linked

        rows = rows_of(self._step("list")[1:], ACCOUNT_TEXTS + 2)
        return linked([Session(row[0], int(row[1]) / 1000, account_of(row[2:])) for row in rows])

    def held(self) -> Sequence[Holding]:
        from tokcap.budget.reports import Holding

        rows = rows_of(self._step("held")[1:], HOLDING_TEXTS)
        return [
            Holding(session, int(tokens), int(announced), holder, max(int(age_ms), 0) / 1000)
            for session, tokens, announced, holder, age_ms in rows
        ]

    def history(self, name: str | None = None) -> Sequence[Past]:
        from tokcap.budget.reports import Past

        rows = rows_of(self._step("history", name)[1:], PAST_TEXTS)
        return [
            Past(session, int(began) / 1000, int(ended) / 1000, number_of(total), int(used), how)
            for session, began, ended, total, used, how in rows
        ]

    def has(self, name: str) -> bool:
        session_name(name)
        return self._step("read", name)[0] == "ok"

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
        if requested is not None:
            # As in `offer`, and before anything is reserved.
            requested = tokens_of(min(requested, MOST_TOKENS), "requested")
        number = new_grant_id()
        status, granted, taken, *texts = self._need(
            name,
            "reserve",
            number,
            requested,
            turn,
            round(self.lease_seconds * 1000),
            *window_words(window),
            *window_words(shares or DEFAULT_SHARES)[1:],
            this_holder(),
        )
        account = account_of(texts)
        tokens = int(granted) if granted else None
        if status == "again":
            # The answer to an earlier attempt was lost. The numbers are those of now.
            return Grant(number, tokens, turn, False, account)
        found = offer(
            account, requested, window or account.settings.window(shares), int(taken) if taken else None
        )
        if status == "refused" or found.tokens != tokens:
            raise LedgerError(f"{self._engine.title} granted {granted or 'nothing'}, not {found.tokens}")
        return Grant(number, tokens, turn, found.floor_decides, account.after_reserving(tokens or 0))

    def announce(self, name: str, grant: Grant, tokens: int) -> None:
        tokens_of(tokens, "announced")
        session_name(name)
        self._step("announce", grant.id, tokens)

    def renew(self, grant: Grant) -> None:
        self._step("renew", grant.id)

    def settle(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> Account:
        tokens_of(actual, "actual")
        number = grant.id if grant else new_grant_id()
        turn = grant.turn if grant else None
        status, *texts = self._need(name, "settle", number, turn, actual, kind)
        if status == "unknown":
            self._unknown.add(number)
        return account_of(texts)

    def was_unknown(self, grant: Grant) -> bool:
        return grant.id in self._unknown

    def defer(self, name: str, grant: Grant | None, actual: int, kind: str = "run") -> bool:
        self._is_delivered = self._outbox is None
        return self._outbox is not None and self._outbox.keep(name, grant, actual, kind)

    def release(self, name: str, grant: Grant) -> Account:
        return self._account(name, "release", grant.id)

    def record(self, name: str, input_tokens: int, output_tokens: int, key: str | None = None) -> Recorded:
        tokens = tokens_of(input_tokens, "input") + tokens_of(output_tokens, "output")
        if key is not None:
            key_text(key, "a key")
        status, *texts = self._need(name, "record", new_grant_id(), tokens, key)
        return Recorded(status == "ok", account_of(texts))

    def compacted(self, name: str, used: int) -> Account:
        tokens_of(used, "used")
        return self._account(name, "compacted", used)

    def shown(self, name: str, keys: Sequence[str]) -> Shown:
        _, context, *handles = self._need(name, "shown", *keys)
        return Shown(context, {key: handle for key, handle in zip(keys, handles, strict=True) if handle})

    def note_shown(self, name: str, context: str, handles: Mapping[str, str]) -> bool:
        words = [word for pair in handles.items() for word in pair]
        return self._need(name, "note_shown", context, *words)[0] == "ok"

    def turn(self, name: str, turn: str) -> int:
        key_text(turn, "a turn")
        return int(self._need(name, "turn", turn)[1])

    def read(self, name: str) -> Account:
        return self._account(name, "read")

    def close(self) -> None:
        """Close the connection. The next step makes a new one."""
        self._leave_parent()
        with self._lock:
            self._engine.close()

    def close_if_idle(self) -> None:
        """Close the connection, unless another thread is using it."""
        self._leave_parent()
        if self._lock.acquire(blocking=False):
            try:
                self._engine.close()
            finally:
                self._lock.release()

    def _account(self, name: str, step: str, *words: object) -> Account:
        return account_of(self._need(name, step, *words)[1:])

    def _need(self, name: str, step: str, *words: object) -> Texts:
        """Run a step on a session; raise `SessionNotStarted` if it does not exist."""
        found = self._step(step, session_name(name), *words)
        if found[0] == "none":
            raise not_started(name)
        if found[0] == "orphan":
            from tokcap.budget.trees import orphan

            raise orphan(*found[1:3])
        return found

    def _step(self, *words: object) -> Texts:
        """Run a step. After the first one that reaches the server, deliver what waits for it."""
        found = self._run(*words)
        if self._outbox is not None and not self._is_delivered:
            # Set first: delivering takes steps too.
            self._is_delivered = True
            try:
                self._outbox.deliver(self.settle)
            except (LedgerError, OSError):
                # The step itself was done. The next call tries again.
                self._is_delivered = False
        return found

    def _run(self, *words: object) -> Texts:
        """Run a step. If its answer is lost, repeat it: every step has the same effect twice as once."""
        texts = ["" if word is None else str(word) for word in words]
        deadline = time.monotonic() + self._timeout_seconds
        pause_seconds = FIRST_PAUSE_SECONDS
        self._leave_parent()
        with self._lock:
            while True:
                try:
                    found = self._engine.step(texts, max(deadline - time.monotonic(), 0.001))
                    break
                except LedgerUnreachable as error:
                    self._engine.close()
                    if time.monotonic() + pause_seconds >= deadline:
                        raise self._with_waiting(error) from None
                    time.sleep(pause_seconds)
                    pause_seconds = min(2 * pause_seconds, LONGEST_PAUSE_SECONDS)
                except BaseException:
                    # An interrupt may have left half an answer in the connection.
                    self._engine.close()
                    raise
        if found[0] == "newer":
            raise LedgerError(
                f"the ledger on {self._engine.title} was written by a newer tokcap (version {found[1]}, this"
                f" one knows {found[2]}); use that one, or another ledger"
            )
        return found

    def _leave_parent(self) -> None:
        """In a forked process, leave connection and lock to the parent, whose threads may hold the lock."""
        if self._process != os.getpid():
            self._process, self._lock = os.getpid(), allocate_lock()
            self._engine.close()

    def _with_waiting(self, error: LedgerUnreachable) -> LedgerUnreachable:
        """Return the error with what waits for the server."""
        self._is_delivered = self._outbox is None
        waiting = self._outbox.waiting() if self._outbox else []
        if not waiting:
            return error
        tokens = sum(entry.tokens for entry in waiting)
        return LedgerUnreachable(f"{error}; {tokens} used tokens wait to be charged")
