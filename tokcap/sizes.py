"""How much a directory holds, and how that is told."""

from __future__ import annotations

import os

UNITS = ("B", "K", "M", "G", "T")


def size_below(path: str) -> int:
    """Bytes of all files below a directory, as far as they can be seen. No link is followed."""
    total = 0
    left = [path]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total


def size_of(count: float) -> str:
    """Bytes in the largest unit that fits: `1.5M`."""
    unit = 0
    while count >= 1024 and unit < len(UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return f"{count:.0f}{UNITS[unit]}" if unit == 0 or count >= 10 else f"{count:.1f}{UNITS[unit]}"
