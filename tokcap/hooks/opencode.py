"""opencode: `shell` in `opencode.json` names the shell of its bash tool.

opencode does not tell the model the exit status of a command. A plug-in adds it, and with `--tools` it caps
the results of other tools.
"""

from __future__ import annotations

import os

from tokcap.environment import Frame
from tokcap.hooks.base import AS_SHELL, Installation, Place, ShellAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.base import Cap
    from tokcap.hooks.own_files import OwnFile


class OpenCode(ShellAgent):
    name = "opencode"
    title = "opencode"
    program = "opencode"
    way = AS_SHELL
    effect = "caps every bash command, and adds its exit status if it is not 0"
    tried = "1.18.33"
    # The exit status, which the plug-in adds.
    frame = Frame(tokens=24, cut=1000, size=51_000, lines=1_990)
    sent = (46, 20_625)
    # Tools of MCP servers are named SERVER_TOOL.
    tools = ("read", "grep", "glob", "list", "webfetch", ".+_.+")
    keys = ("shell",)
    shells = ("bash", "zsh")

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("XDG_CONFIG_HOME") or f"{place.home}/.config"
        names = [f"{base}/{self.program}/{self.program}.{form}" for form in ("json", "jsonc")]
        return next((name for name in reversed(names) if os.path.exists(name)), names[0])

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json

        own = [f"{place.project}/{self.program}.{form}" for form in ("json", "jsonc")]
        return model_in_json((*own, self.user_settings(place)), "model")

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import plugin_file

        plugin = os.path.join(os.path.dirname(path), "plugin", "tokcap.js")
        return [*super().files(path, wanted), plugin_file(plugin, "opencode.js", self.name, wanted)]

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        from tokcap.hooks.tool_result import capped_text

        return capped_text(event, cap)


OPENCODE = OpenCode()
