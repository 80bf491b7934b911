"""Handles: how they are spelled, with and without an offset, and the search for the one that a user typed.

A handle is a word of four letters and nine digits, `lake917365018`, made from the start of the digest. There
are 2,048 x 10^9 of them, almost 41 bits. They are cheap to read: with the blank before it, the word is one
token in `cl100k_base` and in `o200k_base`, and many tokenizers take three digits as one.

`lake917365018@464` is token 464 of an output.
"""

from __future__ import annotations

import os

from tokcap.errors import NotFound
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.base import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HANDLE_DIGITS = 9
# In the rare case that another output has the same handle, a handle gets this many digits more. With the most
# digits, it has all bits of the digest.
MORE_DIGITS, MOST_DIGITS = 6, 45
# All words, with a blank after each. The file never changes: an output that is stored again would get a
# second handle.
WORDS = os.path.join(os.path.dirname(__file__), "words.txt")
WORD_BITS = 11
LEAST_CHARACTERS = 4
DECIMAL = frozenset("0123456789")
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
# Between a handle and an offset. No shell needs quotes for it.
PLACE = "@"

CANDIDATES_SHOWN = 5
MOST_STEP_DIGITS = 9


def shortest_handle(digest: str, digest_at: Callable[[str], str | None]) -> str:
    """Return the shortest handle for a digest that no other output has.

    `digest_at` returns the digest that is stored under a handle: None if there is no such output, empty
    if its record is damaged. Then it is almost certainly the same output, and storing it again repairs it.
    """
    for digits in range(HANDLE_DIGITS, MOST_DIGITS, MORE_DIGITS):
        handle = spelled(digest, digits)
        if digest_at(handle) in (digest, "", None):
            return handle
    return spelled(digest, MOST_DIGITS)


def spelled(digest: str, digits: int) -> str:
    """Return the handle for a hexadecimal digest. With fewer digits it is the start of a longer one."""
    rest_bits = 4 * len(digest) - WORD_BITS
    number, rest = divmod(int(digest, 16), 1 << rest_bits)
    return f"{word(number)}{rest * 10**digits >> rest_bits:0{digits}d}"


def word(number: int) -> str:
    """Return the word with a number from 0 to 2,047."""
    with open(WORDS, "rb", buffering=0) as file:
        file.seek(number * (LEAST_CHARACTERS + 1))
        return file.read(LEAST_CHARACTERS).decode()


def is_handle_of(handle: str, digest: str) -> bool:
    """Return whether a handle is made from a digest."""
    return handle == spelled(digest, max(len(handle) - LEAST_CHARACTERS, 1))


def is_handle(text: str) -> bool:
    """Return whether a text is spelled as a handle, or as the start of one."""
    word, digits = text[:LEAST_CHARACTERS], text[LEAST_CHARACTERS:]
    return bool(text) and LETTERS.issuperset(word) and DECIMAL.issuperset(digits)


def is_whole_handle(text: str) -> bool:
    """Return whether a text is spelled as a handle with all its characters, not only as the start of one."""
    return is_handle(text) and len(text) >= LEAST_CHARACTERS + HANDLE_DIGITS


def at_offset(handle: str, offset: int | str) -> str:
    """Return the name of an output from a token on: `lake917365018@464`."""
    return f"{handle}{PLACE}{offset}"


def split_offset(name: str) -> tuple[str, str | None]:
    """Split `lake917365018@464` into the handle and the offset as it was typed; None if there is none."""
    handle, _, offset = name.rpartition(PLACE)
    # `@last` is a name, and `@last@464` has an offset.
    return (handle, offset) if handle else (name, None)


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
    if len(name) < LEAST_CHARACTERS or not is_handle(name):
        raise NotFound(
            f"{name[:40]!r} is not a handle: give {LEAST_CHARACTERS} or more characters of one, or {LATEST}"
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
    raise NotFound(f"{name} could be any of {shown}{more}; give more of it")


def suggestion(latest: Sequence[str]) -> str:
    shown = ", ".join(latest[:CANDIDATES_SHOWN])
    if not shown:
        return "; nothing is stored"
    return f"; the latest {'are' if len(latest) > 1 else 'is'} {shown}"
