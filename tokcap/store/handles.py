"""Handles: short names for digests, and the search for the handle that a user has typed."""

from __future__ import annotations

from tokcap.errors import NotFound
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HANDLE_DIGITS = 12
# In the rare case that another output has the same first digits, a handle gets this many more.
MORE_DIGITS = 8
LEAST_DIGITS = 4
HEXADECIMAL = frozenset("0123456789abcdef")

CANDIDATES_SHOWN = 5
MOST_STEP_DIGITS = 9


def shortest_handle(digest: str, digest_at: Callable[[str], str | None]) -> str:
    """Return the first digits of a digest that no other output has as its handle.

    `digest_at` returns the digest that is stored under a handle: None if there is no such output, empty
    if its record is damaged. Then it is almost certainly the same output, and storing it again repairs it.
    """
    digits = HANDLE_DIGITS
    while digits < len(digest):
        handle = digest[:digits]
        stored = digest_at(handle)
        if not stored or stored == digest:
            return handle
        digits += MORE_DIGITS
    return digest


def is_handle(text: str) -> bool:
    return bool(text) and HEXADECIMAL.issuperset(text)


def steps_back(name: str) -> int | None:
    """Return 0 for `@last`, 2 for `@last-2`; None for other names."""
    if name == LATEST:
        return 0
    latest, _, digits = name.partition("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= MOST_STEP_DIGITS
    return int(digits) if latest == LATEST and is_number else None


def nth_last(steps: int, handles: Sequence[str], latest: Callable[[], Sequence[str]]) -> str:
    """Return the handle that `@last` or `@last-N` names, the latest first; `NotFound` if there are fewer."""
    if not handles:
        raise NotFound("nothing has been stored yet")
    if steps < len(handles):
        return handles[steps]
    known = "only one output is" if len(handles) == 1 else f"only {len(handles)} outputs are"
    raise NotFound(f"there is no {LATEST}-{steps}: {known} known{suggestion(latest())}")


def removed(name: str, handle: str, latest: Sequence[str]) -> NotFound:
    """Return the error for `@last` or `@last-N` if that output has been removed."""
    what = f"{name}, {handle}," if steps_back(name) else "that was stored last"
    return NotFound(f"the output {what} has been removed{suggestion(latest)}")


def match_handle(name: str, handles: Iterable[str], latest: Callable[[], Sequence[str]]) -> str:
    """Return the one handle that starts with `name`; `NotFound` otherwise.

    `latest` returns the handles of the outputs stored last; the error message suggests them.
    """
    if len(name) < LEAST_DIGITS or not is_handle(name):
        raise NotFound(
            f"{name[:40]!r} is not a handle: give at least {LEAST_DIGITS} of the digits 0-9a-f, or {LATEST}"
            + suggestion(latest())
        )
    matches = [handle for handle in handles if handle.startswith(name)]
    if name in matches:
        return name
    if len(matches) == 1:
        return matches[0]
    if not matches:
        raise NotFound(f"no stored output has the handle {name[:80]}{suggestion(latest())}")
    shown = ", ".join(sorted(matches)[:CANDIDATES_SHOWN])
    more = f" and {len(matches) - CANDIDATES_SHOWN} more" if len(matches) > CANDIDATES_SHOWN else ""
    raise NotFound(f"{name} could be any of {shown}{more}; give more digits")


def suggestion(latest: Sequence[str]) -> str:
    shown = ", ".join(latest[:CANDIDATES_SHOWN])
    if not shown:
        return "; nothing is stored"
    return f"; the latest {'are' if len(latest) > 1 else 'is'} {shown}"
