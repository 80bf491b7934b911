"""The family of ledgers, which keep sessions: one table, by URL scheme.

To add a ledger, write a module with a function like `open_sqlite` (see `base`), and add one line here.
"""

from __future__ import annotations

from tokcap.budget.base import PATIENCE_SECONDS
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.lean.table import Table

if TYPE_CHECKING:
    from tokcap.budget.base import OpenLedger, SessionStore
    from tokcap.environment import Environment

LEDGERS: Table[OpenLedger] = Table(
    sqlite="tokcap.budget.sqlite:open_sqlite",
    memory="tokcap.budget.memory:open_memory",
)
VARIABLE = "TOKCAP_LEDGER"
DEFAULT_URL = "sqlite:"


def ledger_url(env: Environment) -> str:
    return env.variables.get(VARIABLE, "") or DEFAULT_URL


def ledger_scheme(env: Environment) -> str:
    """Return the scheme of the ledger's URL; raise `UsageError` if no member has it."""
    scheme, colon, _ = ledger_url(env).partition(":")
    if not colon or scheme not in LEDGERS:
        # The URL itself may hold a password.
        schemes = ", ".join(f"{name}:" for name in LEDGERS)
        raise UsageError(f"{VARIABLE} must be a URL that starts with one of {schemes}")
    return scheme


def open_ledger(env: Environment, patience_seconds: float = PATIENCE_SECONDS) -> SessionStore:
    """Open the ledger that `TOKCAP_LEDGER` names; without it, the SQLite file in the data directory."""
    return LEDGERS[ledger_scheme(env)](ledger_url(env), env, patience_seconds)
