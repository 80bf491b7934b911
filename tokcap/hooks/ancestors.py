"""Read the command lines of the ancestor processes: an agent's flags can contain rules that no file has."""

from __future__ import annotations

import os

MAX_GENERATIONS = 12


def command_lines() -> list[str] | None:
    """Return the words of all ancestors of the same user; None if one of them hides its command line."""
    words: list[str] = []
    process = os.getppid()
    for _ in range(MAX_GENERATIONS):
        if not process or not is_ours(process):
            break
        parent, line = parent_and_words(process)
        if line is None:
            return None
        words += line
        process = parent
    return words


def is_ours(process: int) -> bool:
    """Tell whether a process belongs to this user, as an agent that runs this hook does."""
    if not os.path.exists("/proc/self"):
        return process > 1
    try:
        return os.stat(f"/proc/{process}").st_uid == os.geteuid()
    except OSError:
        return False


def parent_and_words(process: int) -> tuple[int, list[str] | None]:
    """Return a process's parent and the words of its command line."""
    return from_proc(process) if os.path.exists("/proc/self") else from_ps(process)


def from_proc(process: int) -> tuple[int, list[str] | None]:
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            # The program's name is in parentheses and may itself contain some.
            parent = int(file.read().rpartition(b")")[2].split()[1])
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return parent, words_in(file.read())
    except (OSError, ValueError, IndexError):
        return 0, None


def words_in(line: bytes) -> list[str] | None:
    """Split the contents of a `cmdline` file; None if the process has overwritten its command line."""
    # A title set by the process is shorter than the original words, and zeros fill the rest.
    if not line.endswith(b"\0") or line.endswith(b"\0\0"):
        return None
    return [word.decode("utf-8", "replace") for word in line[:-1].split(b"\0")]


def from_ps(process: int) -> tuple[int, list[str] | None]:
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
