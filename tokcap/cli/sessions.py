"""For `tokcap budget`: which session a call means, and its state as numbers, text and lines for a shell."""

from __future__ import annotations

import os

from tokcap.core.units import utc_time
from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from tokcap.budget.arithmetic import Account, Settings
    from tokcap.budget.base import Session
    from tokcap.budget.ledger import SessionView
    from tokcap.environment import Environment

    Found = TypeVar("Found")


BAR_CHARACTERS = 30


class Meant(Record):
    """The session that a call means, which may not have been started."""

    name: str
    # The variable that named it; empty if the call itself did.
    variable: str

    def view(self, env: Environment) -> SessionView:
        from tokcap.budget import open_ledger

        return open_ledger(env).session(self.name)

    def do(self, step: Callable[[], Found]) -> Found:
        """Do one step in the session. If it has not been started, that is an answer: exit status 1."""
        from tokcap.budget.base import not_started

        try:
            return step()
        except SessionNotStarted:
            raise NotFound(str(not_started(self.name, self.variable))) from None

    def stop(self, step: Callable[[], Found]) -> Found:
        """Do one step after which the session is another one, or none. Nobody wants to start it for that."""
        from tokcap.budget.base import shown_session

        try:
            return step()
        except SessionNotStarted:
            shown = shown_session(self.name, self.variable)
            raise NotFound(f"there is no {shown}; list them: tokcap budget list") from None


def named(name: str | None, session: str | None, env: Environment) -> Meant:
    """Return the session that is meant: from the argument, the option or the variable."""
    meant = name_of(name, session, env)
    if meant is None:
        raise UsageError("no session was given: name one, or set TOKCAP_SESSION")
    return meant


def name_of(name: str | None, session: str | None, env: Environment) -> Meant | None:
    """Return the session that is meant; None if nothing names one. An empty variable names none."""
    from tokcap.budget.base import SESSION_VARIABLE, session_name

    given = name if name is not None else session
    if given is not None:
        return Meant(session_name(given), "")
    by_variable = env.variables.get(SESSION_VARIABLE)
    if not by_variable:
        return None
    return Meant(session_name(by_variable, SESSION_VARIABLE), SESSION_VARIABLE)


def new_name(letter: str) -> str:
    """Return a random name."""
    return letter + os.urandom(4).hex()


def exported(variable: str, value: str, shell: str) -> str:
    """Return the line that sets a variable, for `eval`."""
    if shell == "fish":
        inside = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {variable} " + (value if value.isalnum() else f"'{inside}'") + "\n"
    from tokcap.system.quoting import quoted

    return f"export {variable}={quoted(value)}\n"


def settings_numbers(settings: Settings) -> dict[str, object]:
    """Return the settings that were given when the session was started."""
    return {name: value for name, value in vars(settings).items() if value is not None}


def account_numbers(account: Account) -> dict[str, object]:
    """Return an account for programs. `remaining` and `total` are null if there is no limit."""
    rest = {name: value for name, value in settings_numbers(account.settings).items() if name != "total"}
    above = [{"session": name, **state_numbers(each)} for name, each in account.above]
    return {
        **state_numbers(account),
        "window_used": account.window_used,
        **rest,
        **period_numbers(account),
        **({"above": above} if above else {}),
    }


def state_numbers(account: Account) -> dict[str, object]:
    """Return the state of a session, as it and the sessions below it see it."""
    return {
        "used": account.used,
        "reserved": account.reserved,
        "remaining": account.remaining,
        "total": account.total,
        "usage_fraction": account.usage_fraction,
        "mode": str(account.mode()),
    }


def period_numbers(account: Account) -> dict[str, object]:
    """Return when the present period began, and when it ends; nothing if the session is not renewed."""
    if account.settings.renew is None or account.period_began is None:
        return {}
    from tokcap.budget.arithmetic import period_end

    ends = period_end(account.settings.renew, account.period_began)
    return {"period_began": int(account.period_began), "period_ends": int(ends)}


def in_tree_order(sessions: Sequence[Session]) -> list[tuple[int, Session]]:
    """Return sessions with their depth, each after the one that it is a part of."""
    below: dict[str, list[Session]] = {}
    names = {each.name for each in sessions}
    for each in sessions:
        parent = each.account.settings.parent or ""
        below.setdefault(parent if parent in names else "", []).append(each)
    found: list[tuple[int, Session]] = []

    def add(parent: str, depth: int) -> None:
        for each in below.get(parent, ()):
            found.append((depth, each))
            add(each.name, depth + 1)

    add("", 0)
    return found


def account_text(name: str, account: Account) -> str:
    """Return an account for people, in a few lines."""
    lines = [f"{name}  {bar_of(account)}"]
    lines += [f"part of {above}  {bar_of(numbers)}" for above, numbers in account.above]
    if account.reserved:
        lines.append(f"{account.reserved} reserved by commands that are still running")
    if account.settings.context_window is not None:
        lines.append(f"context window: {account.window_used} of {account.settings.context_window} tokens")
    if (period := period_numbers(account)) and account.settings.renew:
        ends = utc_time(int(str(period["period_ends"])), "%Y-%m-%d %H:%M UTC")
        lines.append(f"the next {account.settings.renew} begins {ends}")
    if account.remaining is not None:
        lines.append(f"answers are shown as {account.mode()}")
    return "".join(f"{line}\n" for line in lines)


def bar_of(account: Account) -> str:
    """Return `[######....] 6000 of 10000 tokens used, 4000 left`."""
    if account.total is None:
        return f"{account.used} tokens used, no limit"
    filled = min(round(account.usage_fraction * BAR_CHARACTERS), BAR_CHARACTERS)
    bar = "#" * filled + "." * (BAR_CHARACTERS - filled)
    return f"[{bar}] {account.used} of {account.total} tokens used, {account.own_remaining} left"
