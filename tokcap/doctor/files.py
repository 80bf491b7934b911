"""Files as they lie below a directory of ours: open to others, of another owner, links, and how large."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, ok, some_of, wrong
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

OTHERS = 0o077
OF_DIRECTORIES, READ, READ_AND_WRITTEN = 0o700, 0o400, 0o600


def check_files(directory: str, of_files: int = READ) -> Iterator[Finding]:
    """One finding for each thing that can be wrong with any of them. `of_files`: the mode that files need."""
    links: list[str] = []
    strangers: list[str] = []
    open_ones: list[str] = []
    closed_ones: list[str] = []
    number = 0
    for path, status in everything(directory):
        number += 1
        mode = stat.S_IMODE(status.st_mode)
        needed = OF_DIRECTORIES if stat.S_ISDIR(status.st_mode) else of_files
        if stat.S_ISLNK(status.st_mode):
            links.append(path)
        elif status.st_uid != os.geteuid():
            strangers.append(path)
        elif mode & OTHERS:
            open_ones.append(path)
        elif mode & needed != needed:
            closed_ones.append(path)
    place = quoted(directory)
    if links:
        removal = f"rm {' '.join(map(quoted, links))}"
        yield wrong("links", f"no link is followed here: {shown(links, directory)}", removal)
    if strangers:
        taken = f"sudo chown -R {os.geteuid()} {place}"
        yield wrong("owner", f"of another user: {shown(strangers, directory)}", taken)
    if open_ones:
        closing = f"chmod -R go= {place}"
        yield wrong("permissions", f"open to others: {shown(open_ones, directory)}", closing)
    elif closed_ones:
        opening = f"chmod -R u+rwX {place}"
        yield wrong("permissions", f"closed to yourself: {shown(closed_ones, directory)}", opening)
    elif number:
        yield ok("permissions", "open to nobody else")


def everything(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """All that lies there, the directory first; what vanishes meanwhile, or cannot be seen, is left out."""
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
    """Bytes of all that lies there, as far as it can be seen."""
    return sum(status.st_size for _, status in everything(directory) if not stat.S_ISDIR(status.st_mode))


def shown(paths: list[str], directory: str) -> str:
    """They are named by what distinguishes them."""
    base = os.path.dirname(directory)
    return some_of([os.path.relpath(path, base) for path in paths])
