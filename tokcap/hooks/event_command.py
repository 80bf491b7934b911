"""The command that an agent runs for an event: `tokcap hook run NAME [OPTION VALUE]...`."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from tokcap.hooks.base import Installation


def event_command(name: str, wanted: Installation) -> str:
    """Return the command. With `|| true` the agent still works after tokcap has been uninstalled."""
    words = (wanted.program, "hook", "run", name, *wanted.options)
    return " ".join([*map(quoted, words), "|| true"])
