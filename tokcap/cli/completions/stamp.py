"""The last line of all that `tokcap completion install` writes. By it, removal recognizes what is ours.

It has a digest of all lines above it, so a text that somebody edited is never taken for ours. It also has the
number of directories and files that had to be created for it, so that removal leaves none of them behind.
"""

from __future__ import annotations

import hashlib
import re

from tokcap.lean.record import Record

WORDS = "Written by tokcap completion install; tokcap completion uninstall removes it, unless it was edited."
STAMP = re.compile(rb"[^\n]*" + re.escape(WORDS.encode()) + rb" \[([0-9a-f]{16}) ([0-9]{1,3})\]\n\Z")


class Stamped(Record):
    """A text of ours, as it is without its stamp."""

    text: bytes
    created: int


def stamped(text: bytes, comment: str, created: int) -> bytes:
    """Return a text with a stamp below it. `comment` begins a comment in its language."""
    line = f"{comment} {WORDS} [{digest(text, created)} {created}]\n"
    return text + line.encode()


def unstamped(data: bytes) -> Stamped | None:
    """Return a text without its stamp; None if it has none, or was edited."""
    found = STAMP.search(data)
    if found is None:
        return None
    text, created = data[: found.start()], int(found[2])
    return Stamped(text, created) if digest(text, created) == found[1].decode() else None


def digest(text: bytes, created: int) -> str:
    return hashlib.blake2b(text, digest_size=8, salt=str(created).encode()).hexdigest()
