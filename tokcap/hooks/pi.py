"""pi: `shellPath` in its `settings.json` names the shell of its bash tool."""

from __future__ import annotations

from tokcap.hooks.base import AS_SHELL, Place
from tokcap.hooks.file_agent import ShellAgent


class Pi(ShellAgent):
    name = "pi"
    title = "pi"
    way = AS_SHELL
    effect = "caps every shell command"
    tried = "0.73.1"
    keys = ("shellPath",)

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("PI_CODING_AGENT_DIR") or f"{place.home}/.pi/agent"
        return f"{base}/settings.json"


PI = Pi()
