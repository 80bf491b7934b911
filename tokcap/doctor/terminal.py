"""Check whether the terminal can show what tokcap writes, which is UTF-8 in every locale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

USE_UTF8 = "export LC_ALL=C.UTF-8"


def check(env: Environment) -> Iterator[Finding]:
    """Check the locale and the terminal."""
    yield check_locale(env)
    name = env.variables.get("TERM") or "TERM is not set"
    at_terminal = env.is_terminal(env.stdout)
    yield ok("terminal", name if at_terminal else "standard output is not a terminal")


def check_locale(env: Environment) -> Finding:
    """Check the first variable that is set: it decides which characters programs expect."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    source = next((name for name in names if env.variables.get(name)), "")
    if not source:
        return note("locale", "not set, so programs may assume that the terminal shows only ASCII", USE_UTF8)
    value = env.variables[source]
    if "utf8" in value.lower().replace("-", ""):
        return ok("locale", f"{value} ({source})")
    return note("locale", f"{value} ({source}) is not UTF-8, which tokcap writes", USE_UTF8)
