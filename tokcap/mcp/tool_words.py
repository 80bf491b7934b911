"""The arguments of the tool that shows the next window, from those of `show` in the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The arguments of the tools. The server sets the others for all calls.
ARGUMENTS = (
    "handle",
    "offset",
    "limit",
    "stream",
    "pointer",
    "pattern",
    "context",
    "shape",
    "fields",
    "mode",
    "sentinel",
)


def tool_arguments(found: Mapping[str, Any] | None, limit_tokens: int) -> dict[str, Any] | None:
    """Return the arguments of the tool that shows the next window: `show`, or `grep` with a pattern."""
    if found is None:
        return None
    named = {"pattern" if name == "grep" else name: value for name, value in found.items()}
    named["limit"] = limit_tokens
    return {name: named[name] for name in ARGUMENTS if name in named}
