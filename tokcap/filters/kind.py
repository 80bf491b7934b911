"""A kind of secret: how it is found, and how it is masked."""

from __future__ import annotations

import re

from tokcap.filters.secret_judges import always
from tokcap.filters.secret_values import MASK
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Judge: TypeAlias = Callable[[re.Match[bytes]], bool]

# A name in quotes and a colon, as in JSON.
QUOTED_NAME = re.compile(rb"""(\\{0,3}["'])[ \t]*:[ \t]*\Z""")
NUMBER = re.compile(rb"\d[\d.eE+-]*\Z")


def mask_of(match: re.Match[bytes]) -> bytes:
    """Return the mask, in quotes if it replaces a number in JSON."""
    name = QUOTED_NAME.search(match.string, match.start(), match.start("secret"))
    return name[1] + MASK + name[1] if name and NUMBER.match(match["secret"]) else MASK


class Kind(Record):
    """A kind of secret. Each match begins with one of its landmarks, which are quick to find."""

    name: str
    # Without landmarks, each match is a line or begins one.
    landmarks: tuple[bytes, ...]
    # Matches at a landmark. The group `secret` is masked.
    pattern: re.Pattern[bytes]
    # Returns whether a match is a secret.
    judge: Judge
    # Whether landmarks, which are in lower case then, and the pattern ignore case.
    any_case: bool = False
    # Matches too wherever the pattern does. Kinds that share it are skipped together.
    gate: re.Pattern[bytes] | None = None
    # Whether the pattern matches the text before the landmark.
    behind: bool = False
    # Matches the rest of a secret that is longer than the pattern looks; None: by its quotes.
    rest: re.Pattern[bytes] | None = None
    mask: Callable[[re.Match[bytes]], bytes] = mask_of

    def accepts(self, match: re.Match[bytes]) -> bool:
        """Return whether a match is a secret that was not masked earlier."""
        # A kind with its own mask may mask only some parts. It recognizes those that were masked before.
        return (self.mask is not mask_of or MASK not in match["secret"]) and self.judge(match)


def kind(
    name: str,
    landmarks: bytes,
    pattern: bytes,
    judge: Judge = always,
    *,
    any_case: bool = False,
    gate: re.Pattern[bytes] | None = None,
    behind: bool = False,
    rest: re.Pattern[bytes] | None = None,
    mask: Callable[[re.Match[bytes]], bytes] = mask_of,
) -> Kind:
    flags = re.VERBOSE | re.IGNORECASE if any_case else re.VERBOSE
    return Kind(
        name, tuple(landmarks.split()), re.compile(pattern, flags), judge, any_case, gate, behind, rest, mask
    )
