"""The family of ledgers, which keep sessions: one table, by URL scheme.

To add a ledger, write a module with a function like `open_sqlite` (see `base`), and add one line here.
"""

from __future__ import annotations

import os

from tokcap.budget.base import PATIENCE_SECONDS
from tokcap.errors import UsageError
from tokcap.startup.record import TYPE_CHECKING, Table

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
READABLE_BY_OTHERS = 0o044
HEX = frozenset("0123456789abcdefABCDEF")


def chosen_ledger(env: Environment, url: str, file: str) -> tuple[str, str]:
    """Return the URL or the file that a call chooses, or what the variables say."""
    variables = env.variables
    return (url, file) if url or file else (variables.get(VARIABLE, ""), variables.get(FILE_VARIABLE, ""))


def ledger_url(env: Environment, url: str = "", file: str = "") -> str:
    """Return the URL of the ledger of a call; the default if nothing chooses one."""
    url, file = chosen_ledger(env, url, file)
    return url or (url_in(file) if file else DEFAULT_URL)


def exposed_file(env: Environment, url: str = "", file: str = "") -> str:
    """Return the file with the ledger's password that other users can read; empty if there is none."""
    chosen, file = chosen_ledger(env, url, file)
    if chosen:
        # A flag takes no password, and a variable has no file.
        file = "" if chosen == env.variables.get(VARIABLE) else env.config_file()
    try:
        is_open = bool(file) and bool(os.stat(file).st_mode & READABLE_BY_OTHERS)
    except OSError:
        return ""
    return file if is_open and has_password(chosen or url_in(file)) else ""


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


def has_password(url: str) -> bool:
    """Return whether a URL, sound or not, may contain a password."""
    return "password=" in url or ("@" in url and ":" in url.partition("://")[2].rpartition("@")[0])


def is_sound(url: str) -> bool:
    """Return whether each part of a URL is where it belongs: no part of a password is taken for a host."""
    scheme, colon, rest = url.partition("://")
    before, _, query = rest.partition("?")
    place, _, path = before.partition("/")
    login, _, hosts = place.rpartition("@")
    codes = [code[:2] for code in rest.split("%")[1:]]
    ports = [host.rpartition("]")[2].partition(":")[2] for host in hosts.split(",")]
    return (
        bool(colon)
        and scheme.isalnum()
        and url.isprintable()
        and not any(ch in url for ch in " \"'#<>\\^`")
        and not any(ch in part for part in (login, path, query) for ch in "@[]")
        and all(not port or (port.isascii() and port.isdecimal()) for port in ports)
        and all(len(code) > 1 and HEX.issuperset(code) and code != "00" for code in codes)
    )


def title_of(url: str) -> str:
    """Return a URL without user, password and parameters; nothing of one that is not sound."""
    if not is_sound(url):
        scheme, colon, _ = url.partition(":")
        return f"{scheme}:" if colon and scheme in LEDGERS else "a URL that is not shown"
    scheme, _, rest = url.partition("?")[0].partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def scheme_of(url: str) -> str:
    """Return the scheme of a ledger's URL; raise `UsageError` if no member has it."""
    scheme, colon, _ = url.partition(":")
    if not colon or scheme not in LEDGERS:
        # The URL itself may hold a password.
        schemes = ", ".join(f"{name}:" for name in LEDGERS)
        raise UsageError(f"the ledger must be a URL that starts with one of {schemes}")
    if "//" in url and not is_sound(url):
        raise UsageError(
            "the ledger's URL is not valid: write special characters in user, password and parameters as %XX,"
            " such as %40 for @ and %2F for /"
        )
    return scheme


def open_ledger(env: Environment, patience_seconds: float = PATIENCE_SECONDS, *, url: str = "") -> Ledger:
    """Open the ledger of a URL; without one, that of the variables, or the file in the data directory."""
    url = url or ledger_url(env)
    return LEDGERS[scheme_of(url)](url, env, patience_seconds)
