"""Format groups of findings as text: aligned lines, each remedy below its finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcap.core.units import count_of
from tokcap.environment import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.doctor.examination import Group
    from tokcap.doctor.finding import Finding, Status

COLOURS: dict[Status, str] = {"ok": "\x1b[32m", "note": "\x1b[33m", "wrong": "\x1b[1;31m"}
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
STATUS_WIDTH = 5
INDENT = " " * (STATUS_WIDTH + 4)


def group_text(group: Group, *, colours: bool) -> str:
    """Return the title of a group and a line for each finding."""
    width = max((len(one_line(finding.name)) for finding in group.findings), default=0)
    title = f"{BOLD}{group.title}{PLAIN}" if colours else group.title
    lines = [line for finding in group.findings for line in finding_lines(finding, width, colours=colours)]
    return "\n".join([title, *lines]) + "\n\n"


def finding_lines(finding: Finding, name_width: int, *, colours: bool) -> Sequence[str]:
    status = finding.status.ljust(STATUS_WIDTH)
    if colours:
        status = f"{COLOURS[finding.status]}{status}{PLAIN}"
    # Paths and values in a finding may contain any character.
    first = f"  {status}  {one_line(finding.name).ljust(name_width)}  {one_line(finding.message)}"
    return [first, f"{INDENT}do: {one_line(finding.remedy)}"] if finding.remedy else [first]


def summary(groups: Sequence[Group]) -> str:
    """Return the last line of the report."""
    statuses = [finding.status for group in groups for finding in group.findings]
    wrongs, notes = statuses.count("wrong"), statuses.count("note")
    noted = f"; {count_of(notes, 'note')}" if notes else ""
    if wrongs:
        return f"{count_of(wrongs, 'thing')} {'is' if wrongs == 1 else 'are'} wrong{noted}\n"
    return f"nothing is wrong{noted}\n"
