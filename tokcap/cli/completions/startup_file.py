"""The marked block in a start-up file of a shell that loads the completion: add it, find it, remove it.

Works on the bytes of the file. Adding a block and removing it gives the same bytes again.
"""

from __future__ import annotations

import re

from tokcap.cli.completions.stamp import stamped, unstamped
from tokcap.lean.record import Record

BEGIN = b"# >>> tokcap completion >>>\n"
BLOCK = re.compile(re.escape(BEGIN) + rb".*?\[[0-9a-f]{16} [0-9]{1,3}\]\n", re.DOTALL)


class Removal(Record):
    """A start-up file without our block."""

    data: bytes
    # Directories and files that were created for the block.
    created: int


def with_block(data: bytes, lines: str, created: int) -> bytes:
    """Return a file with a block at its end, where everything else has been set up already."""
    # One newline before it, whether or not the file ends with one.
    return data + b"\n" + stamped(BEGIN + lines.encode(), "#", created)


def has_block(data: bytes) -> bool:
    """Return whether a block begins there, edited or not."""
    return BEGIN in data


def without_block(data: bytes) -> Removal | None:
    """Return a file without its block; None if it has no block, or an edited one."""
    found = BLOCK.search(data)
    known = unstamped(found[0]) if found else None
    if found is None or known is None:
        return None
    before, after = data[: found.start()], data[found.end() :]
    # The newline before the block is ours, unless it now ends a line that others follow.
    if before.endswith(b"\n") and (before == b"\n" or before.endswith(b"\n\n") or not after):
        before = before[:-1]
    return Removal(before + after, known.created)
