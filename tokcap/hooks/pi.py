"""pi: `shellPath` in its `settings.json` names the shell of its bash tool.

With `--tools`, an extension caps the results of other tools.
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


class Pi(ShellAgent):
    name = "pi"
    title = "pi"
    program = "pi"
    way = AS_SHELL
    effect = "caps every shell command"
    tried = "0.87.1"
    # The exit status.
    frame = Frame(tokens=24, cut=1000, size=51_000, lines=1_990)
    sent = (50, 20_627)
    tools = ("read", "grep", "find", "ls")
    keys = ("shellPath",)

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("PI_CODING_AGENT_DIR") or f"{place.home}/.pi/agent"
        return f"{base}/settings.json"

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json

        return model_in_json((self.user_settings(place),), "defaultModel")

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        from tokcap.hooks.own_files import plugin_file

        files = [*super().files(path, wanted)]
        if wanted.option("--tools"):
            extension = os.path.join(os.path.dirname(path), "extensions", "tokcap.js")
            files.append(plugin_file(extension, "pi.js", self.name, wanted))
        return files

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        from tokcap.hooks.tool_result import capped_text

        return capped_text(event, cap)


PI = Pi()
