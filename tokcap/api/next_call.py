"""Turn `meta.continue`, the words of the next command, into the keyword arguments of `show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.store.handles import split_offset

if TYPE_CHECKING:
    from collections.abc import Sequence

# What the functions call these options.
NAMES = {"token_offset": "offset", "token_limit": "limit"}
NUMBERS = ("token_offset", "token_limit", "context", "context_window")
SWITCHES = ("clean",)


def show_arguments(words: Sequence[str] | None) -> dict[str, Any] | None:
    """Return the arguments of `show` that give the next window; None if there is no stored output."""
    if not words or words[0] != "show":
        return None
    handle, offset = split_offset(words[1])
    found: dict[str, Any] = {"handle": handle, "offset": int(offset or 0)}
    rest = iter(words[2:])
    for word in rest:
        key = word.removeprefix("--").replace("-", "_")
        if key in SWITCHES:
            found[key] = True
        else:
            value = next(rest)
            found[NAMES.get(key, key)] = int(value) if key in NUMBERS else value
    return found
