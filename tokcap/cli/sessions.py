"""Which session a call of `tokcap budget` means, and the lines that set its variables in a shell."""

from __future__ import annotations

import os

from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias, TypeVar

    from tokcap.budget.base import SessionView
    from tokcap.environment import Environment

    Shell: TypeAlias = Literal["sh", "fish"]
    Found = TypeVar("Found")


class Meant(Record):
    """The session that a call means, which may not have been started."""

    name: str
    # The variable that named it; empty if the call itself did.
    variable: str

    def view(self, env: Environment) -> SessionView:
        from tokcap.budget import open_ledger
        from tokcap.budget.base import SessionView

        return SessionView(open_ledger(env), self.name)

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


def exported(variable: str, value: str, shell: Shell) -> str:
    """Return the line that sets a variable, for `eval`."""
    if shell == "fish":
        inside = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"set -gx {variable} " + (value if value.isalnum() else f"'{inside}'") + "\n"
    from tokcap.system.quoting import quoted

    return f"export {variable}={quoted(value)}\n"
