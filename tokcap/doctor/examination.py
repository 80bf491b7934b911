"""All checks in their order. Each is guarded: one that fails itself is a finding, and the others go on."""

from __future__ import annotations

from tokcap.doctor import (
    account,
    agents,
    directories,
    packages,
    settings,
    shells,
    terminal,
    variables,
    versions,
    vocabularies,
)
from tokcap.doctor.finding import Finding, wrong
from tokcap.errors import TokcapError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    from tokcap.doctor.shells import ScriptOf
    from tokcap.environment import Environment

    Check: TypeAlias = Callable[[Environment], Iterable[Finding]]


class Group(Record):
    """Findings that belong together."""

    name: str
    title: str
    findings: tuple[Finding, ...]


def check_store(env: Environment) -> Iterable[Finding]:
    from tokcap.doctor.stored import check

    return check(env)


def check_ledger(env: Environment) -> Iterable[Finding]:
    # A Python without SQLite cannot load it, and is told about by the guard.
    from tokcap.doctor.sessions import check

    return check(env)


def checks(script_of: ScriptOf) -> tuple[tuple[str, str, Check], ...]:
    """By name and title; `script_of` gives the completion script of this version for a shell."""
    return (
        ("versions", "Versions", versions.check),
        ("packages", "Packages", packages.check),
        ("vocabularies", "Vocabularies", vocabularies.check),
        ("data", "Data directory", directories.check),
        ("store", "Stored outputs", check_store),
        ("ledger", "Sessions", check_ledger),
        ("account", "Account", account.check),
        ("hooks", "Agents", agents.check),
        ("shells", "Shells and man page", lambda env: shells.check(env, script_of)),
        ("terminal", "Terminal", terminal.check),
        ("variables", "Variables", variables.check),
        ("configuration", "Configuration", settings.check),
    )


def examine(env: Environment, script_of: ScriptOf) -> Iterator[Group]:
    """Everything, group by group."""
    for name, title, check in checks(script_of):
        yield Group(name, title, tuple(guarded(name, check, env)))


def guarded(name: str, check: Check, env: Environment) -> Iterator[Finding]:
    """The findings of a check, and its own failure if it comes to that."""
    try:
        yield from check(env)
    except TokcapError as error:
        # It says itself what to do; the rest of the group was not looked at.
        yield wrong(name, str(error), "tokcap doctor")
    except Exception as error:
        # Whatever is broken here, the other checks are wanted all the more.
        remedy = "tokcap --version, to be reported together with this line"
        yield wrong(name, f"this check failed itself: {type(error).__name__}: {error}", remedy)
