"""Read the command lines of the ancestor processes: an agent's flags can contain rules that no file has."""

from __future__ import annotations

import os

from tokcap.system.proc import is_own_process, parent_and_command_line

MAX_GENERATIONS = 12


def command_lines() -> list[str] | None:
    """Return the words of all ancestors of the same user; None if one of them hides its command line."""
    words: list[str] = []
    process = os.getppid()
    for _ in range(MAX_GENERATIONS):
        if not process or not is_own_process(process):
            break
        parent, line = parent_and_command_line(process)
        if line is None:
            return None
        words += line
        process = parent
    return words
