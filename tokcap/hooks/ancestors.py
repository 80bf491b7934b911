"""The command lines of the processes above this one: an agent's flags can hold rules that no file has."""

from __future__ import annotations

import os

MOST_GENERATIONS = 12


def command_lines() -> list[str] | None:
    """All their words; None if one of them cannot be seen."""
    words: list[str] = []
    process = os.getppid()
    for _ in range(MOST_GENERATIONS):
        if process <= 1:
            break
        seen = look(process)
        if seen is None:
            return None
        parent, line = seen
        words += line
        process = parent
    return words


def look(process: int) -> tuple[int, list[str]] | None:
    """A process's parent and its words."""
    if os.path.exists("/proc/self/stat"):
        return look_in_proc(process)
    return ask_ps(process)


def look_in_proc(process: int) -> tuple[int, list[str]] | None:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The name stands in parentheses and may itself have some.
            parent = int(file.read().rpartition(b")")[2].split()[1])
        with open(f"/proc/{process}/cmdline", "rb") as file:
            line = file.read()
    except (OSError, ValueError, IndexError):
        return None
    return parent, [word.decode("utf-8", "replace") for word in line.split(b"\0")]


def ask_ps(process: int) -> tuple[int, list[str]] | None:
    import subprocess

    done = subprocess.run(
        ["ps", "-ww", "-o", "ppid=,args=", "-p", str(process)],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode or not words or not words[0].isdigit():
        return None
    return int(words[0]), words[1:]
