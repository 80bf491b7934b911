"""Run all checks in order. A check that fails with an exception becomes a finding; the others still run."""

from __future__ import annotations

from tokcap.environment import one_line
from tokcap.errors import TokcapError
from tokcap.startup.record import TYPE_CHECKING, Record, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal, TypeAlias

    from tokcap.environment import Environment

    # A fact is for orientation. A note is worth knowing but not a defect. With a defect the exit status is 1.
    Status: TypeAlias = Literal["fact", "note", "wrong"]
    Check: TypeAlias = Callable[[Environment], Iterator["Finding"]]

MOST_NAMES = 5

# By the group that the findings belong to. The table imports each module only when its check runs, so that a
# module that cannot be loaded (a Python without SQLite) is a finding too.
CHECKS: Table[Check] = Table(
    installation="tokcap.doctor.installation:check",
    vocabularies="tokcap.doctor.installation:check_vocabularies",
    store="tokcap.doctor.stored:check",
    ledger="tokcap.doctor.ledgers:check",
    agents="tokcap.doctor.agents:check",
    configuration="tokcap.doctor.configuration:check",
)


class Finding(Record):
    """One line of the report. `name` is what was checked: a file, an agent, a setting."""

    name: str
    status: Status
    message: str
    # A command to copy; empty if there is nothing to do.
    remedy: str = ""
    group: str = ""


def fact(name: str, message: str) -> Finding:
    return Finding(name, "fact", message)


def note(name: str, message: str, remedy: str = "") -> Finding:
    return Finding(name, "note", message, remedy)


def wrong(name: str, message: str, remedy: str) -> Finding:
    return Finding(name, "wrong", message, remedy)


def some_of(names: Sequence[str]) -> str:
    """List the first few names, and count the others."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def examine(env: Environment) -> Iterator[Finding]:
    """Yield what all checks find."""
    for group in CHECKS:
        try:
            for finding in CHECKS[group](env):
                yield finding.replace(group=group)
        except TokcapError as error:
            yield Finding(group, "wrong", str(error), "tokcap doctor", group)
        except Exception as error:
            # Whatever is broken here, the results of the other checks are still useful.
            problem = f"this check failed: {type(error).__name__}: {error}"
            yield Finding(group, "wrong", problem, "tokcap --version, and report its output", group)


def line_of(finding: Finding) -> str:
    """Return a finding as a line. Paths and values in it may contain any character."""
    remedy = f"; do: {one_line(finding.remedy)}" if finding.remedy else ""
    return f"{finding.status:5}  {one_line(finding.name)}: {one_line(finding.message)}{remedy}"
