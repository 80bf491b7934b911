"""Split JSON pointers (RFC 6901) into steps, and write keys as steps."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Python refuses to convert several thousand digits, and no index has this many.
MOST_DIGITS = 18


def steps_of(pointer: str) -> Sequence[str]:
    """Return the keys and indexes of a pointer that begins with a slash."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer[1:].split("/")]


def as_step(key: str) -> str:
    """Return a key as one step of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def has_bad_escape(pointer: str) -> bool:
    """Return whether a `~` is followed by neither 0 nor 1."""
    return any(part[:1] not in ("0", "1") for part in pointer.split("~")[1:])


def index_of(step: str) -> int:
    """Return the index that a step names, written without leading zeros; -1 if it is not an index."""
    plain = step.isascii() and step.isdigit() and len(step) <= MOST_DIGITS
    return int(step) if plain and (step == "0" or step[0] != "0") else -1
