"""Run all checks in order. A check that fails with an exception becomes a finding; the others still run."""

from __future__ import annotations

from tokcap.doctor.finding import Finding, wrong
from tokcap.errors import TokcapError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


class Check(Record):
    """A group of checks."""

    # The id in JSON.
    group: str
    title: str
    # Has a function `check(env)` that yields findings.
    module: str


CHECKS = (
    Check("versions", "Versions", "tokcap.doctor.versions"),
    Check("packages", "Packages", "tokcap.doctor.packages"),
    Check("vocabularies", "Vocabularies", "tokcap.doctor.vocabularies"),
    Check("data", "Data directory", "tokcap.doctor.directories"),
    Check("store", "Stored outputs", "tokcap.doctor.stored"),
    Check("ledger", "Sessions", "tokcap.doctor.sessions"),
    Check("account", "Usage log", "tokcap.doctor.usage_log"),
    Check("hooks", "Agents", "tokcap.doctor.agents"),
    Check("shells", "Shells and man page", "tokcap.doctor.shells"),
    Check("terminal", "Terminal", "tokcap.doctor.terminal"),
    Check("variables", "Variables", "tokcap.doctor.variables"),
    Check("configuration", "Configuration", "tokcap.doctor.configuration"),
)


class Group(Record):
    """The findings of one group of checks."""

    name: str
    title: str
    findings: tuple[Finding, ...]

    def problems(self) -> Group:
        """Return the group with only those findings that need attention."""
        return self.but(findings=tuple(one for one in self.findings if one.status != "ok"))


def examine(env: Environment) -> Iterator[Group]:
    """Yield the findings, group by group."""
    for check in CHECKS:
        yield Group(check.group, check.title, tuple(run_check(check, env)))


def run_check(check: Check, env: Environment) -> Iterator[Finding]:
    """Yield the findings of a group, and its failure if it fails."""
    try:
        # Imported here, so that a module that cannot be loaded (a Python without SQLite) is a finding too.
        yield from __import__(check.module, fromlist=["check"]).check(env)
    except TokcapError as error:
        yield wrong(check.group, str(error), "tokcap doctor")
    except Exception as error:
        # Whatever is broken here, the results of the other checks are still useful.
        remedy = "tokcap --version, and report its output together with this line"
        yield wrong(check.group, f"this check failed: {type(error).__name__}: {error}", remedy)
