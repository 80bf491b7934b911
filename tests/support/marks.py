"""Read the mark of a cut answer as a reader does: what it says, and the command that it names."""

from __future__ import annotations

import re
import shlex

HANDLE = r"[a-z]{4}\d{9,}"
# The command in a mark: all of it, its handle, its offset, its options.
COMMAND = re.compile(rf"(?:\[TRUNCATED\]|;) (\S*tokcap show ({HANDLE})@(\d+)(.*))$".encode(), re.MULTILINE)
ANY_COMMAND = re.compile(r"(?:\[TRUNCATED\]|;) \S*tokcap (show .*)$", re.MULTILINE)


def way_in(text: str | bytes) -> list[str]:
    """Return the words after `tokcap` of the first command that a mark or a hint names; none: no words."""
    found = ANY_COMMAND.search(text if isinstance(text, str) else text.decode())
    return shlex.split(found[1]) if found else []
