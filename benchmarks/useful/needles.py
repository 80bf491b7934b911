"""The rule that decides whether a needle is in what is shown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# How far from its first text the other texts of a needle may be.
NEAR_CHARACTERS = 600

ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating system commands: titles, links
    r"|\x1b[ -/]*[0-~]"
)
BLANKS = re.compile(r"\s+")


def plain(text: str) -> str:
    """Return a text without escape sequences. Every run of blanks and line ends becomes one blank."""
    return BLANKS.sub(" ", ESCAPE.sub("", text))


def is_found(needle: Sequence[str], shown: str) -> bool:
    """Return whether the first text is in `shown` (which is plain), and all others are near that place."""
    first, *others = map(plain, needle)
    at = shown.find(first)
    while at >= 0:
        near = shown[max(at - NEAR_CHARACTERS, 0) : at + len(first) + NEAR_CHARACTERS]
        if all(other in near for other in others):
            return True
        at = shown.find(first, at + 1)
    return False
