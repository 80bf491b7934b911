"""The call of a tool that shows the next window, as words for a model and as arguments for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcap.store.handles import at_offset
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

# The arguments of the tools, by their names in the library. The server sets the others for all calls.
NAMES = {
    "handle": "handle",
    "offset": "offset",
    "stream": "stream",
    "pointer": "pointer",
    "grep": "pattern",
    "context": "context",
    "shape": "shape",
    "fields": "fields",
    "mode": "mode",
    "sentinel": "sentinel",
}


def tool_arguments(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the arguments of the next call: of `show`, or of `grep` if there is a pattern."""
    if found is None:
        return None
    return {name: found[key] for key, name in NAMES.items() if key in found}


def call_words(arguments: Mapping[str, Any]) -> str:
    """Return a call as a mark words it: `show handle=lake917365018@464`."""
    given = {**arguments, "handle": at_offset(arguments["handle"], arguments["offset"])}
    del given["offset"]
    words = [f"{name}={quoted(str(value))}" for name, value in given.items()]
    return " ".join(("grep" if "pattern" in arguments else "show", *words))
