"""Sessions below other sessions: what may be started and ended, and the errors that say so."""

from __future__ import annotations

from tokcap.budget.base import session_name
from tokcap.errors import LedgerError, UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.budget.arithmetic import Account, Settings
    from tokcap.budget.reports import Session

# How many sessions there may be above one. Every step of a session changes all of them.
MOST_ABOVE = 8
# How many sessions an error names.
MOST_NAMED = 5


def check_start(name: str, settings: Settings) -> None:
    """Raise `UsageError` if a session cannot have this name or these settings."""
    session_name(name)
    settings.checked()
    if settings.parent is not None:
        session_name(settings.parent)
        if settings.parent == name:
            raise UsageError(f"session {name!r} cannot be its own parent")


def no_parent(parent: str) -> UsageError:
    """Return the error for a parent that does not exist."""
    return UsageError(
        f"the parent {parent!r} has not been started; start it first: tokcap budget start {parent} --total N"
    )


def too_deep(parent: str) -> UsageError:
    return UsageError(f"{parent!r} cannot be a parent: it has {MOST_ABOVE} sessions above it already")


def orphan(name: str, parent: str) -> LedgerError:
    """Return the error for a session whose parent is not there any more: the ledger has lost it."""
    return LedgerError(
        f"session {name!r} is a part of {parent!r}, which the ledger has lost;"
        f" start that again: tokcap budget start {parent} --total N"
    )


def has_children(name: str, children: Sequence[str]) -> UsageError:
    """Return the error for a session that cannot end because others run below it."""
    shown = ", ".join(children[:MOST_NAMED]) + (", …" if len(children) > MOST_NAMED else "")
    return UsageError(
        f"session {name!r} has sessions below it ({shown}); end them first, or all of them with:"
        f" tokcap budget end {name} --tree"
    )


def linked(sessions: Sequence[Session]) -> list[Session]:
    """Return a list of all sessions with the accounts above each of them."""
    by_name = {session.name: session.account for session in sessions}
    found = []
    for session in sessions:
        above: list[tuple[str, Account]] = []
        parent = session.account.settings.parent
        while parent in by_name and len(above) < MOST_ABOVE:
            above.append((parent, by_name[parent].as_ancestor()))
            parent = by_name[parent].settings.parent
        found.append(session.but(account=session.account.but(above=tuple(above))) if above else session)
    return found
