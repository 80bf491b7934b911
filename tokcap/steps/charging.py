"""The budget's part in one call: what the answer may cost, how terse it has to be, and what it did cost.

A session is asked before anything runs, and charged with what is really written. Without a session, a
context window alone bounds the answer.
"""

from __future__ import annotations

from tokcap.budget.arithmetic import Window, result_share
from tokcap.core.notice import Notice
from tokcap.errors import BudgetExhausted, TokcapError, UsageError
from tokcap.forms import FORMS
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    from tokcap.budget.arithmetic import Account, Grant
    from tokcap.budget.sqlite import SessionStorage
    from tokcap.core.request import View
    from tokcap.environment import Environment

    AnyView = TypeVar("AnyView", bound=View)

HOOK_SECONDS = 300


class Spending:
    """What one call may cost. Refuses at once where nothing is left, or the account cannot be read."""

    def __init__(self, view: View, env: Environment) -> None:
        if view.turn and not view.session:
            raise UsageError("--turn is a turn of a session: give --session too, or set TOKCAP_SESSION")
        self._view = view
        self._env = env
        self.session = view.session
        self.notices: tuple[Notice, ...] = ()
        self._storage: SessionStorage | None = None
        self._grant: Grant | None = None
        self._latest: Account | None = None
        self._window = None
        if view.context_window is not None:
            self._window = Window(view.context_window, view.result_pct, view.turn_pct, view.floor_tokens)
        self._shares = Window(0, view.result_pct, view.turn_pct, view.floor_tokens)
        self.limit = result_share(self._window, 0).tokens if self._window else None
        if self.limit == 0:
            raise UsageError("--context-window: a window of this size has no token for a result")
        if view.session:
            from tokcap.budget.sqlite import Ledger

            self._storage = Ledger(env.data_dir()).session(view.session)
            self._reserve(self._storage)

    def _reserve(self, storage: SessionStorage) -> None:
        view = self._view
        requested = view.token_limit
        if requested is not None:
            requested += FORMS[view.output].extra_tokens
        grant = self._ask(storage, requested)
        if grant.floor_decides and view.compact_before_spill and view.compact_hook:
            storage.release(grant)
            self._run_hook()
            grant = self._ask(storage, requested)
        if grant.floor_decides:
            message = "the context is nearly full: compact it, then run tokcap budget compacted --used N"
            self.notices += (Notice("COMPACTION_ADVISED", message),)
        self._grant = grant
        self.limit = grant.tokens
        least = self._least()
        if self.limit is not None and self.limit < least:
            self.release()
            left = grant.account.total is not None and grant.account.total - grant.account.used < least
            reason = "the budget is exhausted" if left else "the share of this result is too small"
            raise BudgetExhausted(
                f"{reason}: {self.limit} tokens are fewer than the least answer takes ({least})"
            )

    def _ask(self, storage: SessionStorage, requested: int | None) -> Grant:
        turn = self._view.turn or None
        return storage.reserve(requested, turn=turn, window=self._window, shares=self._shares)

    def _least(self) -> int:
        """What no answer of this form can do without."""
        form = FORMS[self._view.output]
        return form.least_count_tokens if self._view.token_count else form.least_tokens

    def _run_hook(self) -> None:
        """Have the context compacted. A hook that fails is told, and changes nothing else."""
        import os
        import signal
        import subprocess

        # A hook that runs tokcap itself must not be run by that again.
        variables = {
            **self._env.variables,
            "TOKCAP_SESSION": self.session,
            "TOKCAP_COMPACT_BEFORE_SPILL": "0",
        }
        try:
            # What it prints is not part of the answer.
            hook = subprocess.Popen(
                ["/bin/sh", "-c", self._view.compact_hook],
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=self._env.stderr,
                stderr=self._env.stderr,
                start_new_session=True,
            )
        except OSError as error:
            problem = str(error.strerror)
        else:
            try:
                status = hook.wait(HOOK_SECONDS)
                problem = f"it ended with status {status}" if status else ""
            except subprocess.TimeoutExpired:
                os.killpg(hook.pid, signal.SIGKILL)
                hook.wait()
                problem = f"it was killed after {HOOK_SECONDS} seconds"
        if problem:
            self.notices += (Notice("HOOK_FAILED", f"the compaction hook failed: {problem}"),)

    def adjusted(self, view: AnyView) -> AnyView:
        """The call with what the budget makes of it: a limit, and a mode that may be terser."""
        if self.limit is not None:
            asked = view.token_limit
            view = view.but(token_limit=self.limit if asked is None else min(asked, self.limit))
        # A page further on goes on in the form that it counts its tokens in.
        if self._grant is not None and not view.token_count and not view.token_offset:
            view = view.but(mode=str(self._grant.account.mode(view.mode)))
        return view

    @property
    def is_tracked(self) -> bool:
        return self._storage is not None

    def remaining_after(self, tokens: int) -> int | None:
        """What this session has left when this answer is paid for; None: it has no total."""
        if self._grant is None or self._storage is None or self._grant.account.total is None:
            return None
        if self._latest is None:
            try:
                # Others have gone on while the command ran.
                self._latest = self._storage.read()
            except TokcapError:
                return None
        account, held = self._latest, self._grant.tokens or 0
        return (
            None
            if account.total is None
            else max(account.total - account.used - account.reserved + held - tokens, 0)
        )

    def settle(self, tokens: int, kind: str) -> tuple[Notice, ...]:
        """Charge what is written. The command has run: if that fails it is a warning, and no more."""
        if self._storage is None or self._grant is None:
            return ()
        try:
            self._storage.settle(self._grant, tokens, kind)
        except Exception as error:
            # Whatever is wrong with the account, the output has to come out.
            return (Notice("NOT_CHARGED", f"{tokens} tokens were not charged to the session: {error}"),)
        finally:
            self._grant = None
        return ()

    def release(self) -> None:
        """Nothing was written: give back what was reserved. A process that dies does that too."""
        if self._storage is not None and self._grant is not None:
            try:
                self._storage.release(self._grant)
            except Exception:  # noqa: S110  # it is freed when this process has ended
                pass
            self._grant = None
