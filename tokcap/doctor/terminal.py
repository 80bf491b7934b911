"""Whether what tokcap writes can be shown: it writes UTF-8, whatever the locale."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


def check(env: Environment) -> Iterator[Finding]:
    """The locale, and the terminal if there is one."""
    yield locale(env)
    name = env.variables.get("TERM") or "unnamed"
    at_terminal = env.stdout not in env.closed and os.isatty(env.stdout)
    yield ok("terminal", name if at_terminal else "standard output is none")


def locale(env: Environment) -> Finding:
    """The first of three variables that is set decides which characters a terminal is taken to know."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    source = next((name for name in names if env.variables.get(name)), "")
    if not source:
        return note(
            "locale", "none is set, so programs may take the terminal for ASCII", "export LC_ALL=C.UTF-8"
        )
    value = env.variables[source]
    if "utf8" in value.lower().replace("-", ""):
        return ok("locale", f"{value} ({source})")
    return note("locale", f"{value} ({source}) knows no UTF-8, which tokcap writes", "export LC_ALL=C.UTF-8")
