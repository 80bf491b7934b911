"""The family of ledgers, which keep sessions: one table, by URL scheme.

To add a ledger, write a module with a function like `open_sqlite` (see `base`), and add one line here.
"""

from __future__ import annotations

from tokcap.budget.base import PATIENCE_SECONDS
from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.startup.table import Table

if TYPE_CHECKING:
    from tokcap.budget.base import OpenLedger
    from tokcap.budget.ledger import Ledger
    from tokcap.environment import Environment

LEDGERS: Table[OpenLedger] = Table(
    sqlite="tokcap.budget.sqlite:open_sqlite",
    memory="tokcap.budget.memory:open_memory",
    redis="tokcap.budget.redis:open_redis",
    rediss="tokcap.budget.redis:open_redis",
    unix="tokcap.budget.redis:open_redis",
    postgresql="tokcap.budget.postgres:open_postgres",
    postgres="tokcap.budget.postgres:open_postgres",
)
VARIABLE = "TOKCAP_LEDGER"
# Names a file that contains the URL, which may contain a password.
FILE_VARIABLE = "TOKCAP_LEDGER_FILE"
DEFAULT_URL = "sqlite:"
LONGEST_URL_BYTES = 10_000


def ledger_url(env: Environment, chosen: str = "", file: str = "") -> str:
    """Return the chosen URL, or that in the chosen file, or what the variables say, or the default."""
    if not chosen and not file:
        chosen, file = env.variables.get(VARIABLE, ""), env.variables.get(FILE_VARIABLE, "")
    return chosen or (url_in(file) if file else DEFAULT_URL)


def url_in(path: str) -> str:
    """Return the URL that a file contains; raise `UsageError` if it cannot be read."""
    try:
        with open(path, "rb") as file:
            text = file.read(LONGEST_URL_BYTES).decode("utf-8", "replace").strip()
    except OSError as error:
        raise UsageError(f"the file of the ledger's URL, {path}: {error.strerror}") from None
    if not text or not text.isprintable():
        raise UsageError(f"the file of the ledger's URL, {path}: it must contain one line, the URL")
    return text


def scheme_of(url: str) -> str:
    """Return the scheme of a ledger's URL; raise `UsageError` if no member has it."""
    scheme, colon, _ = url.partition(":")
    if not colon or scheme not in LEDGERS:
        # The URL itself may hold a password.
        schemes = ", ".join(f"{name}:" for name in LEDGERS)
        raise UsageError(f"the ledger must be a URL that starts with one of {schemes}")
    return scheme


def open_ledger(env: Environment, patience_seconds: float = PATIENCE_SECONDS, *, url: str = "") -> Ledger:
    """Open the ledger of a URL; without one, that of the variables, or the file in the data directory."""
    url = url or ledger_url(env)
    return LEDGERS[scheme_of(url)](url, env, patience_seconds)
