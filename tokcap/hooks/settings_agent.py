"""Agents whose hook is an entry in a JSON settings file: `{"hooks": {EVENT: [{"matcher", "hooks"}]}}`.

The settings editor is imported only to install, remove or look up a hook, never to answer an event.
"""

from __future__ import annotations

from tokcap.hooks.base import Agent, Installation
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


class SettingsAgent(Agent):
    """An agent that runs `tokcap hook run NAME` before each of its shell commands."""

    # The key below "hooks".
    event: str
    # The tool that the hook is for.
    matcher: str
    # In the agent's own unit.
    timeout: int

    def command(self, wanted: Installation) -> str:
        """Return the command of the entry."""
        from tokcap.system.quoting import quoted

        # With `|| true` the agent still works after tokcap has been uninstalled.
        words = (wanted.program, "hook", "run", self.name, *wanted.options)
        return " ".join([*map(quoted, words), "|| true"])

    def entry(self, command: str) -> dict[str, Any]:
        """Return the entry for the settings file."""
        hook = {"type": "command", "command": command, "timeout": self.timeout}
        return {"matcher": self.matcher, "hooks": [hook]}

    def command_in(self, event: dict[str, Any]) -> str | None:
        """Return the shell command of an event; None if the event is not about one."""
        if event.get("hook_event_name") != self.event or event.get("tool_name") != self.matcher:
            return None
        given = event.get("tool_input")
        command = given.get("command") if isinstance(given, dict) else None
        return command if isinstance(command, str) else None

    def installation(self, path: str) -> Installation | None:
        from tokcap.hooks import settings, settings_file

        command = settings.installed_command(path, settings_file.read(path), self)
        return None if command is None else installation_in(command)

    def install(self, path: str, wanted: Installation) -> bool:
        from tokcap.hooks import settings

        return settings.install(path, self, self.command(wanted))

    def remove(self, path: str) -> bool:
        from tokcap.hooks import settings

        return settings.remove(path, self)

    def printed(self, wanted: Installation) -> str:
        from tokcap.hooks import settings

        return settings.with_hook("", None, self, self.command(wanted)).decode()


def installation_in(command: str) -> Installation:
    """Read back what `SettingsAgent.command` wrote: `PROGRAM hook run NAME [OPTION VALUE]... || true`."""
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    options = words[4:]
    if "||" in options:
        options = options[: options.index("||")]
    return Installation(words[0] if words else "", tuple(options))
