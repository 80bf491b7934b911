"""Which session a call of `tokcap budget` means, and the lines that set its variables in a shell."""

from __future__ import annotations

import os

from tokcap.errors import NotFound, SessionNotStarted, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias, TypeVar

    from tokcap.budget.base import SessionView
    from tokcap.environment import Environment

    Shell: TypeAlias = Literal["sh", "fish"]
    Found = TypeVar("Found")


def named(name: str | None, session: str | None, env: Environment) -> str:
    """Return the session that is meant: from the argument, the option or the variable."""
    from tokcap.budget.base import session_name

    meant = name or session or env.variables.get("TOKCAP_SESSION", "")
    if not meant:
        raise UsageError("no session was given: name one, or set TOKCAP_SESSION")
    return session_name(meant)


def session_of(name: str | None, session: str | None, env: Environment) -> tuple[str, SessionView]:
    """Return the session that is meant, which may not have been started."""
    from tokcap.budget import open_ledger
    from tokcap.budget.base import SessionView

    meant = named(name, session, env)
    return meant, SessionView(open_ledger(env), meant)


def found(step: Callable[[], Found]) -> Found:
    """Do one step in a session. If it has not been started, that is an answer here: exit status 1."""
    try:
        return step()
    except SessionNotStarted as error:
        raise NotFound(str(error)) from None


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
