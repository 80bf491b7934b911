"""The command lines of the processes above this one: an agent's flags can hold rules that no file has."""

from __future__ import annotations

import os

from tokcap.system.proc import is_own_process, parent_and_command_line

MOST_GENERATIONS = 12


def command_lines() -> list[str] | None:
    """All their words, up to the first process of another user; None if one of them hides its words."""
    words: list[str] = []
    process = os.getppid()
    for _ in range(MOST_GENERATIONS):
        if not process or not is_own_process(process):
            break
        parent, line = parent_and_command_line(process)
        if line is None:
            return None
        words += line
        process = parent
    return words
