"""Examine the files below a directory of tokcap: permissions, owners, symlinks and size."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, ok, some_of, wrong
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = 0o077
DIRECTORY_MODE, READ, READ_AND_WRITTEN = 0o700, 0o400, 0o600


def check_files(directory: str, of_files: int = READ) -> Iterator[Finding]:
    """Return one finding for each kind of problem. `of_files`: the mode bits that every file needs."""
    links: list[str] = []
    of_others: list[str] = []
    open_to_others: list[str] = []
    closed_to_owner: list[str] = []
    number = 0
    for path, status in walk(directory):
        number += 1
        mode = stat.S_IMODE(status.st_mode)
        needed = DIRECTORY_MODE if stat.S_ISDIR(status.st_mode) else of_files
        if stat.S_ISLNK(status.st_mode):
            links.append(path)
        elif status.st_uid != os.geteuid():
            of_others.append(path)
        elif mode & OTHERS:
            open_to_others.append(path)
        elif mode & needed != needed:
            closed_to_owner.append(path)
    place = quoted(directory)
    if open_to_others:
        # One finding about permissions at a time; the other one is reported by the next examination.
        closed_to_owner = []
    for name, paths, problem, remedy in (
        ("links", links, "tokcap does not follow symbolic links", f"rm {' '.join(map(quoted, links))}"),
        ("owner", of_others, "owned by another user", f"sudo chown -R {os.geteuid()} {place}"),
        ("permissions", open_to_others, "accessible to others", f"chmod -R go= {place}"),
        ("permissions", closed_to_owner, "not accessible to you", f"chmod -R u+rwX {place}"),
    ):
        if paths:
            yield wrong(name, f"{problem}: {shown(paths, directory)}", remedy)
    if number and not open_to_others and not closed_to_owner:
        yield ok("permissions", "private")


def walk(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Return the directory and everything below it, except what disappears or cannot be examined."""
    try:
        status = os.lstat(directory)
    except OSError:
        return
    yield directory, status
    left = [directory] if stat.S_ISDIR(status.st_mode) else []
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    yield entry.path, found
                    if stat.S_ISDIR(found.st_mode):
                        left.append(entry.path)
        except OSError:
            continue


def size_below(directory: str) -> int:
    """Return the bytes of all files below a directory, as far as they can be examined."""
    return sum(status.st_size for _, status in walk(directory) if not stat.S_ISDIR(status.st_mode))


def shown(paths: list[str], directory: str) -> str:
    """Return some of the paths, relative to the parent of the directory."""
    base = os.path.dirname(directory)
    return some_of([os.path.relpath(path, base) for path in paths])
