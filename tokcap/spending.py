"""The budget's part in one call: what the answer may cost, how terse it has to be, and what it did cost.

A session is asked before anything runs, and charged with what is really written. Without a session, a
context window alone bounds the answer.
"""

from __future__ import annotations

from tokcap.budget import Window, result_share
from tokcap.errors import BudgetExhausted, TokcapError, UsageError
from tokcap.record import TYPE_CHECKING
from tokcap.types import Notice

if TYPE_CHECKING:
    from typing import TypeVar

    from tokcap.budget import Grant
    from tokcap.environment import Environment
    from tokcap.ledger import SessionStorage
    from tokcap.types import View

    AnyView = TypeVar("AnyView", bound=View)

# A limit covers the data of an envelope, and the session pays for all of it: so much is reserved on top.
ENVELOPE_TOKENS = 600
# No envelope can be made smaller.
LEAST_ENVELOPE_TOKENS = 150

HOOK_SECONDS = 300


def open_spending(view: View, env: Environment) -> Spending | None:
    """The account that a call is charged to; None if nothing but its own options bounds it."""
    if view.turn and not view.session:
        raise UsageError("--turn is a turn of a session: give --session too, or set TOKCAP_SESSION")
    if not view.session and view.context_window is None:
        return None
    return Spending(view, env)


class Spending:
    """What one call may cost. Refuses at once where nothing is left, or the account cannot be read."""

    def __init__(self, view: View, env: Environment) -> None:
        self._view = view
        self._env = env
        self.session = view.session
        self.notices: tuple[Notice, ...] = ()
        self._storage: SessionStorage | None = None
        self._grant: Grant | None = None
        self._window = None
        if view.context_window is not None:
            self._window = Window(view.context_window, view.result_pct, view.turn_pct, view.floor_tokens)
        self.limit = result_share(self._window, 0).tokens if self._window else None
        if view.session:
            from tokcap.ledger import Ledger

            self._storage = Ledger(env.data_dir()).session(view.session)
            self._reserve(self._storage)

    def _reserve(self, storage: SessionStorage) -> None:
        view = self._view
        requested = view.token_limit
        if requested is not None and view.output != "text":
            requested += ENVELOPE_TOKENS
        grant = storage.reserve(requested, turn=view.turn or None, window=self._window)
        if grant.floor_decides and view.compact_before_spill and view.compact_hook:
            storage.release(grant)
            self._run_hook()
            grant = storage.reserve(requested, turn=view.turn or None, window=self._window)
        if grant.floor_decides:
            message = "the context is nearly full: compact it, then run tokcap budget compacted --used N"
            self.notices += (Notice("COMPACTION_ADVISED", message),)
        self._grant = grant
        self.limit = grant.tokens
        if view.output != "text" and self.limit is not None and self.limit < LEAST_ENVELOPE_TOKENS:
            self.release()
            raise BudgetExhausted(
                f"the budget is exhausted: the {self.limit} tokens left are fewer than an envelope takes"
            )

    def _run_hook(self) -> None:
        """Have the context compacted. A hook that fails is told, and changes nothing else."""
        import subprocess

        variables = {**self._env.variables, "TOKCAP_SESSION": self.session}
        try:
            # What it prints is not part of the answer.
            done = subprocess.run(
                ["/bin/sh", "-c", self._view.compact_hook],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=self._env.stderr,
                stderr=self._env.stderr,
                timeout=HOOK_SECONDS,
                check=False,
            )
            problem = f"it ended with status {done.returncode}" if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        if problem:
            self.notices += (Notice("HOOK_FAILED", f"the compaction hook failed: {problem}"),)

    def adjusted(self, view: AnyView) -> AnyView:
        """The call with what the budget makes of it: a limit, and a mode that may be terser."""
        if self.limit is not None:
            asked = view.token_limit
            view = view.but(token_limit=self.limit if asked is None else min(asked, self.limit))
        if self._grant is not None and not view.token_count:
            view = view.but(mode=str(self._grant.account.mode(view.mode)))
        return view

    @property
    def is_tracked(self) -> bool:
        return self._storage is not None

    def remaining_after(self, tokens: int) -> int | None:
        """What this session has left when this answer is paid for; None: it has no total."""
        account = self._grant.account if self._grant else None
        if account is None or account.total is None:
            return None
        reserved = account.reserved - (self._grant.tokens or 0 if self._grant else 0)
        return max(account.total - account.used - reserved - tokens, 0)

    def settle(self, tokens: int, kind: str) -> tuple[Notice, ...]:
        """Charge what is written. The command has run: if that fails it is a warning, and no more."""
        if self._storage is None or self._grant is None:
            return ()
        try:
            self._storage.settle(self._grant, tokens, kind)
        except TokcapError as error:
            return (Notice("NOT_CHARGED", f"{tokens} tokens were not charged to the session: {error}"),)
        finally:
            self._grant = None
        return ()

    def release(self) -> None:
        """Nothing was written: give back what was reserved. A process that dies does that too."""
        if self._storage is not None and self._grant is not None:
            try:
                self._storage.release(self._grant)
            except TokcapError:
                pass
            self._grant = None
