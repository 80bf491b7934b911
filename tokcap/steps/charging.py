"""Charge one call to its session: reserve tokens before anything runs, settle what was really written.

Without a session, a context window alone limits the answer. A refusal is raised before the command runs.
"""

from __future__ import annotations

import os

from tokcap.budget.arithmetic import Window, result_share
from tokcap.core.response import Notice
from tokcap.errors import (
    BudgetExhausted,
    LedgerError,
    LedgerUnreachable,
    SessionNotStarted,
    TokcapError,
    UsageError,
)
from tokcap.outputs import FORMS
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeVar

    from tokcap.budget.arithmetic import Account
    from tokcap.budget.base import Grant, Shown
    from tokcap.budget.ledger import SessionView
    from tokcap.core.request import View
    from tokcap.environment import Environment

    AnyView = TypeVar("AnyView", bound=View)


RESERVATION_LOST = (
    "the ledger has lost the reservation of this call, so it may have lost other usage too;"
    " this call is counted. Compare: tokcap budget history"
)


class Charge:
    """What one call may cost, and the grant that its session holds for it."""

    def __init__(self, view: View, env: Environment) -> None:
        """Reserve tokens in the session; raise if nothing is left or the ledger cannot be read."""
        if view.turn and not view.session:
            raise UsageError("--turn needs a session: give --session too, or set TOKCAP_SESSION")
        self.session = view.session
        self._env = env
        self.notices: tuple[Notice, ...] = ()
        self.limit = limit_of(window_of(view))
        self._account_at_end: Account | None = None
        self._grant: Grant | None = None
        self._ledger: SessionView | None = None
        # What a later call settles.
        self._deferred: Grant | None = None
        # The ledger was away before the run, so nothing is reserved for what has to be charged.
        self._is_owed = False
        if view.session:
            from tokcap.budget import exposed_file, ledger_url, open_ledger
            from tokcap.budget.base import SESSION_VARIABLE, not_started, session_name
            from tokcap.budget.ledger import SessionView

            by_variable = env.is_program and env.variables.get(SESSION_VARIABLE) == view.session
            source = SESSION_VARIABLE if by_variable else ""
            session_name(view.session, source)
            url = ledger_url(env, view.ledger, view.ledger_file)
            self._ledger = SessionView(open_ledger(env, url=url), view.session)
            if exposed := exposed_file(env, view.ledger, view.ledger_file):
                message = f"other users can read the ledger's password in {exposed}: chmod 600 {exposed}"
                self.notices += (Notice("PASSWORD_EXPOSED", message),)
            try:
                self._grant = self._reserve(self._ledger, view, env)
            except SessionNotStarted:
                raise not_started(view.session, source) from None
            except LedgerUnreachable as error:
                if view.on_ledger_failure != "open":
                    raise
                self._is_owed = True
                message = f"{error}; charged later"
                self.notices += (Notice("LEDGER_UNREACHABLE", message),)
                return
            # Later answers keep their share.
            most = self._grant.account.most_for_one_answer(FORMS[view.output].least_tokens)
            tokens = self._grant.tokens
            self.limit = tokens if most is None or tokens is None else min(tokens, most)

    def keep_lease(self) -> None:
        """Renew the grant while the command runs, if the ledger wants that. This may start a thread."""
        if self._ledger is not None and self._grant is not None:
            self._ledger.keep(self._grant)

    @property
    def is_tracked(self) -> bool:
        """Whether a session pays for this call."""
        return self._ledger is not None

    def adjusted(self, view: AnyView) -> AnyView:
        """Return the request with the limit of the budget, and with a shorter mode if little is left."""
        if self.limit is not None:
            asked = view.token_limit
            view = view.replace(token_limit=self.limit if asked is None else min(asked, self.limit))
        # A later page keeps the form in which its offset was counted.
        if self._grant is not None and not view.token_count and not view.token_offset:
            from tokcap.shapes import terser

            mode = terser(view.mode, self._grant.account.mode())
            view = view.replace(mode=mode, mode_of_session=mode != view.mode)
        return view

    def remaining_after(self, tokens: int) -> int | None:
        """Return what the session has left after this answer; None without a limit or a readable ledger."""
        if self._grant is None or self._ledger is None or self._grant.account.remaining is None:
            return None
        if self._account_at_end is None:
            try:
                # Other calls may have used tokens while the command ran.
                self._account_at_end = self._ledger.read()
            except TokcapError:
                return None
        return self._account_at_end.remaining_after(self._grant.tokens or 0, tokens)

    @property
    def is_settled(self) -> bool:
        """Whether nothing is reserved, and nothing has to be charged, any more."""
        return self._grant is None and not self._is_owed

    def announce(self, tokens: int) -> bool:
        """Note that this many tokens may be out, in case this process is killed; False if that failed."""
        try:
            if self._ledger is not None and self._grant is not None:
                self._ledger.announce(self._grant, tokens)
        except Exception:
            # A problem of the ledger must not withhold the output; `settle` reports it.
            return False
        return True

    def shown(self, keys: Sequence[str]) -> Shown | None:
        """Return what the session was shown; None if its ledger cannot be read."""
        try:
            return self._ledger.shown(keys) if self._ledger is not None else None
        except TokcapError:
            # The output is shown in full; `settle` reports a problem of the ledger.
            return None

    def note_shown(self, shown: Shown) -> None:
        """Note what the session was shown."""
        try:
            if self._ledger is not None:
                self._ledger.note_shown(shown.context, shown.handles)
        except TokcapError:
            # The session has ended, or its ledger cannot be used. The output is only shown in full again.
            pass
        except Exception as error:
            # The answer is out, so its status must not change. A defect is still told.
            from tokcap.system.shortage import problem_of

            self._env.tell(str(problem_of(error)))

    def settle(self, tokens: int) -> tuple[Notice, ...]:
        """Charge what is written. The command has run, so a failure is only a warning."""
        if self._ledger is None or self.is_settled:
            return ()
        if self._is_owed:
            self._is_owed = False
            return self._defer(self._ledger, tokens, "the ledger could not be reached")
        try:
            self._ledger.settle(self._grant, tokens)
            if self._grant is not None and self._ledger.was_unknown(self._grant):
                return (Notice("RESERVATION_LOST", RESERVATION_LOST),)
        except LedgerError as error:
            # The server is away, its disk is full, or it refuses the user now.
            return self._defer(self._ledger, tokens, str(error))
        except Exception as error:
            # A problem of the ledger must not withhold the output.
            return (Notice("NOT_CHARGED", f"{tokens} tokens were not charged to the session: {error}"),)
        finally:
            self._grant = None
        return ()

    def _defer(self, ledger: SessionView, tokens: int, problem: str) -> tuple[Notice, ...]:
        """Keep what has to be charged for a later call."""
        if ledger.defer(self._grant, tokens):
            if any(notice.code == "LEDGER_UNREACHABLE" for notice in self.notices):
                # It was said before the run.
                return ()
            self._deferred = self._grant
            return (Notice("CHARGED_LATER", f"the session is charged by a later call: {problem}"),)
        return (Notice("NOT_CHARGED", f"{tokens} tokens were not charged to the session: {problem}"),)

    def amend(self, tokens: int) -> None:
        """Replace what a later call charges: the warning about that makes the answer longer."""
        if self._ledger is not None and self._deferred is not None:
            self._ledger.defer(self._deferred, tokens)

    def close(self) -> None:
        """Give the grant back if it was not settled."""
        if self._ledger is not None and self._grant is not None:
            self._release(self._ledger, self._grant)
            self._grant = None

    def _reserve(self, ledger: SessionView, view: View, env: Environment) -> Grant:
        """Ask for a grant. When the context is nearly full, run the hook once and ask again."""
        grant = self._ask(ledger, view)
        if grant.floor_decides and view.compact_before_spill and view.compact_hook:
            ledger.release(grant)
            problem = run_compaction_hook(view.compact_hook, view.session, env)
            if problem:
                self.notices += (Notice("HOOK_FAILED", f"the compaction hook failed: {problem}"),)
            grant = self._ask(ledger, view)
        if grant.floor_decides:
            message = "the context is nearly full: compact it, then run tokcap budget compacted --used N"
            self.notices += (Notice("COMPACTION_ADVISED", message),)
        refusal = too_small(grant, view)
        if refusal:
            self._release(ledger, grant)
            raise refusal
        return grant

    @staticmethod
    def _ask(ledger: SessionView, view: View) -> Grant:
        return ledger.reserve(
            view.token_limit, turn=view.turn or None, window=window_of(view), shares=shares_of(view)
        )

    @staticmethod
    def _release(ledger: SessionView, grant: Grant) -> None:
        try:
            ledger.release(grant)
        except Exception:  # noqa: S110  # the ledger frees it when this process has ended
            pass


def window_of(view: View) -> Window | None:
    """Return the window that this call names; None if it names none."""
    return None if view.context_window is None else shares_of(view).replace(tokens=view.context_window)


def shares_of(view: View) -> Window:
    """Return the shares and the floor of this call, for a window that is known elsewhere."""
    return Window(
        tokens=0, result_pct=view.result_pct, turn_pct=view.turn_pct, floor_tokens=view.floor_tokens
    )


def limit_of(window: Window | None) -> int | None:
    """Return what a window alone allows for one result; None without a window."""
    if window is None:
        return None
    tokens = result_share(window, 0).tokens
    if tokens == 0:
        raise UsageError("--context-window is too small: one result would get 0 tokens; use a larger value")
    return tokens


def too_small(grant: Grant, view: View) -> BudgetExhausted | None:
    """Return the refusal of a grant in which no answer of this form fits; None if one fits."""
    least = FORMS[view.output].least_tokens
    if grant.tokens is None:
        return None
    left = grant.account.remaining_after(grant.tokens, 0)
    if left is not None and left < least:
        name, tightest = grant.account.tightest
        whose = f"the budget of {name!r}" if name else "the budget"
        reserved = tightest.reserved - grant.tokens
        others = f", {reserved} are reserved by running commands" if reserved else ""
        return BudgetExhausted(
            f"{whose} is exhausted: {left} tokens are left{others}, the smallest answer needs {least}"
        )
    if grant.tokens < least and (view.token_limit is None or grant.tokens < view.token_limit):
        return BudgetExhausted(
            f"the share of this result is too small: it allows {grant.tokens} tokens,"
            f" the smallest answer needs {least}"
        )
    return None


HOOK_SECONDS = 300


def run_compaction_hook(command: str, session: str, env: Environment) -> str:
    """Run the hook to its end; return why it failed, or an empty text if it succeeded."""
    # They take half as long to import as Python takes to start, and hooks are rare.
    import signal
    import subprocess

    # If the hook itself runs tokcap, that call must not run the hook again.
    variables = {**env.variables, "TOKCAP_SESSION": session, "TOKCAP_COMPACT_BEFORE_SPILL": "0"}
    try:
        # Its output is not part of the answer, so all of it goes to stderr.
        hook = subprocess.Popen(
            ["/bin/sh", "-c", command],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=env.stderr,
            stderr=env.stderr,
            start_new_session=True,
        )
    except OSError as error:
        return str(error.strerror)
    try:
        status = hook.wait(HOOK_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(hook.pid, signal.SIGKILL)
        hook.wait()
        return f"it was killed after {HOOK_SECONDS} seconds"
    return f"it ended with status {status}" if status else ""
