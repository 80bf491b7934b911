"""opencode: `shell` in `opencode.json` names the shell of its bash tool.

opencode does not tell the model the exit status of a command. A plug-in adds it, and with `--tools` it caps
the results of other tools.
"""

from __future__ import annotations

import os

from tokcap.hooks.base import AS_SHELL, Installation, Place
from tokcap.hooks.file_agent import UserShellAgent
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.hooks.own_files import OwnFile

SOURCE = os.path.join(os.path.dirname(__file__), "data", "opencode.js")


class OpenCode(UserShellAgent):
    name = "opencode"
    title = "opencode"
    way = AS_SHELL
    effect = "caps every bash command, and adds its exit status if it is not 0"
    tried = "1.18.33"
    tools = ("read", "grep", "glob", "list", "webfetch")
    keys = ("shell",)

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("XDG_CONFIG_HOME") or f"{place.home}/.config"
        names = [f"{base}/opencode/{name}" for name in ("opencode.json", "opencode.jsonc")]
        return next((name for name in reversed(names) if os.path.exists(name)), names[0])

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        import json

        from tokcap.hooks.own_files import OwnFile, marked

        with open(SOURCE, encoding="utf-8") as file:
            text = file.read()
        tools = [name for name in wanted.option("--tools").split(",") if name]
        options = [word for word in wanted.options if word not in ("--tools", wanted.option("--tools"))]
        if "--token-limit" not in options:
            options += ["--token-limit", "4000"]
        if "--keep" not in options:
            options += ["--keep", "auto"]
        text = text.replace('"@tools@"', json.dumps(tools)).replace(
            '"@words@"', json.dumps([wanted.program, *options])
        )
        plugin = os.path.join(os.path.dirname(path), "plugin", "tokcap.js")
        return [*super().files(path, wanted), OwnFile(plugin, f"// {marked(wanted)}\n{text}")]


OPENCODE = OpenCode()
