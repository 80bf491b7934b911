"""The command lines of the processes above this one: an agent's flags can hold rules that no file has."""

from __future__ import annotations

import os

MOST_GENERATIONS = 12


def command_lines() -> list[str] | None:
    """All their words, up to the first process of another user; None if one of them hides its words."""
    words: list[str] = []
    process = os.getppid()
    for _ in range(MOST_GENERATIONS):
        if not process or not is_ours(process):
            break
        parent, line = look(process)
        if line is None:
            return None
        words += line
        process = parent
    return words


def is_ours(process: int) -> bool:
    """Whether it is a process of the same user: an agent runs its hooks as itself."""
    if not os.path.exists("/proc/self"):
        return process > 1
    try:
        return os.stat(f"/proc/{process}").st_uid == os.geteuid()
    except OSError:
        return False


def look(process: int) -> tuple[int, list[str] | None]:
    """A process's parent, and its words."""
    return look_in_proc(process) if os.path.exists("/proc/self") else ask_ps(process)


def look_in_proc(process: int) -> tuple[int, list[str] | None]:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The name stands in parentheses and may itself have some.
            parent = int(file.read().rpartition(b")")[2].split()[1])
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return parent, words_in(file.read())
    except (OSError, ValueError, IndexError):
        return 0, None


def words_in(line: bytes) -> list[str] | None:
    """The words of a command line as the system keeps it; None if the process has written over them."""
    # A title that a process gives itself is shorter than its words were, and zeros fill what is left.
    if not line.endswith(b"\0") or line.endswith(b"\0\0"):
        return None
    return [word.decode("utf-8", "replace") for word in line[:-1].split(b"\0")]


def ask_ps(process: int) -> tuple[int, list[str] | None]:
    import subprocess

    done = subprocess.run(
        ["ps", "-ww", "-o", "ppid=,args=", "-p", str(process)],
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    words = done.stdout.decode("utf-8", "replace").split()
    if done.returncode or not words or not words[0].isdigit():
        return 0, None
    return int(words[0]), words[1:]
