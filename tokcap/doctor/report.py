"""Format groups of findings as text: aligned lines, each remedy below its finding.

On a terminal, lines are wrapped between words; elsewhere a finding is one line, for programs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokcap.core.units import count_of
from tokcap.environment import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.doctor.examination import Group
    from tokcap.doctor.finding import Finding, Status
    from tokcap.system.screen import Screen

COLOURS: dict[Status, str] = {"ok": "\x1b[32m", "note": "\x1b[33m", "wrong": "\x1b[1;31m"}
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"
STATUS_WIDTH = 5
INDENT = " " * (STATUS_WIDTH + 4)
# A column with less room is not readable: the message goes below the name. So does one with a longer word.
LEAST_ROOM = 28
# A quoted part of a command is not split at its blanks.
SHELL_WORD = re.compile(r"""(?:\\.|'[^']*'|"(?:\\.|[^"])*"|\S)+""")


def group_text(group: Group, screen: Screen) -> str:
    """Return the title of a group and the lines of each finding."""
    width = max((len(one_line(finding.name)) for finding in group.findings), default=0)
    title = f"{BOLD}{group.title}{PLAIN}" if screen.colours else group.title
    lines = [line for finding in group.findings for line in finding_lines(finding, width, screen)]
    return "\n".join([title, *lines]) + "\n\n"


def finding_lines(finding: Finding, name_width: int, screen: Screen) -> Iterator[str]:
    """Yield the status, name and message, then the remedy."""
    status = finding.status.ljust(STATUS_WIDTH)
    if screen.colours:
        status = f"{COLOURS[finding.status]}{status}{PLAIN}"
    # Paths and values in a finding may contain any character.
    name, message = one_line(finding.name), one_line(finding.message)
    words = message.split(" ")
    beside = screen.columns - len(INDENT) - name_width - 2
    if screen.is_terminal and max(LEAST_ROOM, *map(len, words)) > beside:
        indent = INDENT
        lines = [f"{name}  {message}"]
        if len(indent + lines[0]) > screen.columns:
            lines = [name, *wrapped(words, screen, indent)]
    else:
        indent = INDENT + " " * (name_width + 2)
        lines = wrapped(words, screen, indent)
        lines[0] = f"{name.ljust(name_width)}  {lines[0]}"
    yield f"  {status}  {lines[0]}"
    yield from (indent + line for line in lines[1:])
    if finding.remedy:
        words = SHELL_WORD.findall(one_line(finding.remedy))
        # A shell reads the lines as one command.
        first, *more = wrapped(words, screen, INDENT + "    ", " \\")
        yield f"{INDENT}do: {first}"
        yield from (f"{INDENT}    {line}" for line in more)


def wrapped(words: Sequence[str], screen: Screen, indent: str, ending: str = "") -> list[str]:
    """Return words in lines that fit beside an indent, with an ending on all lines but the last.

    A word that is longer than a line has a line of its own.
    """
    room = screen.columns - len(indent)
    lines: list[str] = []
    line = words[0]
    for word in words[1:]:
        if screen.is_terminal and len(line) + 1 + len(word) + len(ending) > room:
            lines.append(line + ending)
            line = word
        else:
            line += f" {word}"
    return [*lines, line]


def summary(groups: Sequence[Group]) -> str:
    """Return the last line of the report."""
    statuses = [finding.status for group in groups for finding in group.findings]
    wrongs, notes = statuses.count("wrong"), statuses.count("note")
    noted = f"; {count_of(notes, 'note')}" if notes else ""
    if wrongs:
        return f"{count_of(wrongs, 'thing')} {'is' if wrongs == 1 else 'are'} wrong{noted}\n"
    return f"nothing is wrong{noted}\n"
