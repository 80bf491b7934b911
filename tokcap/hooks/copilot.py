"""Copilot CLI: a `postToolUse` hook in `~/.copilot/hooks/tokcap.json` replaces the results of tools.

A long output is in a file that the result names; the hook caps the whole of it.
"""

from __future__ import annotations

import os
import re

from tokcap.environment import Frame
from tokcap.hooks.base import RESULTS, Agent, Installation, Place
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.base import Cap
    from tokcap.hooks.own_files import OwnFile

TEXT = "textResultForLlm"
SHELLS = ("bash",)
SAVED = re.compile(r"\AOutput too large[^\n]*Saved to: (/[^\n]+)")
ENDING = re.compile(r"\n?<shellId: [^\n>]*>\s*\Z")
# A busy machine may take long to start a program, and without an answer the result is not capped.
TIMEOUT_SECONDS = 60


class Copilot(Agent):
    name = "copilot"
    title = "Copilot CLI"
    program = "copilot"
    way = RESULTS
    effect = "caps the result of every bash command"
    tried = "1.0.102"
    # The name of the shell, and the exit status.
    frame = Frame(tokens=30, cut=1000, characters=20_400)
    sent = (218, 491)
    # Tools of MCP servers are named SERVER-TOOL.
    tools = ("view", "rg", "grep", "glob", "web_fetch", ".+-.+")

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("COPILOT_HOME") or f"{place.home}/.copilot"
        return f"{base}/hooks/tokcap.json"

    def home_directory(self, place: Place) -> str:
        return os.path.dirname(os.path.dirname(self.user_settings(place)))

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json, model_in_variable

        named = model_in_variable(place.variables, "COPILOT_MODEL")
        return named or model_in_json((f"{self.home_directory(place)}/config.json",), "model")

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        import json

        from tokcap.hooks.own_files import OwnFile, event_command, marked

        hook = {"type": "command", "bash": event_command(self.name, wanted), "timeoutSec": TIMEOUT_SECONDS}
        whole = {"version": 1, "hooks": {"postToolUse": [hook]}}
        # JSON has no comments. The command is read back from this one, which the shell ignores.
        hook["bash"] = f"{hook['bash']} # {marked(wanted)}"
        return [OwnFile(path, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")]

    def installation(self, path: str) -> Installation | None:
        from tokcap.hooks import own_files

        text = own_files.read(path)
        if text is None or own_files.MARK not in text:
            return None
        line = text.partition(own_files.MARK)[2].partition('"')[0]
        return own_files.installation_in(own_files.MARK + line.replace("\\\\", "\\"))

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        """Return the result with its text capped, or None."""
        from tokcap.hooks.tool_result import is_named, whole_text

        result, name = event.get("toolResult"), event.get("toolName")
        text = result.get(TEXT) if isinstance(result, dict) else None
        if not isinstance(result, dict) or not isinstance(text, str):
            return None
        if not (name in SHELLS or is_named(str(name), wanted)) or is_page(event):
            return None
        ending = ENDING.search(text) if name in SHELLS else None
        body = text[: ending.start()] if ending else text
        saved = SAVED.match(body)
        body = whole_text(body, saved[1] if saved else "")
        capped = cap(body).rstrip("\n") + (ending[0] if ending else "")
        same = capped.rstrip("\n") == text.rstrip("\n")
        return None if same else {"modifiedResult": {**result, TEXT: capped}}

    def sample_event(self, text: str) -> dict[str, Any]:
        return {"toolName": "bash", "toolArgs": {"command": "x"}, "toolResult": {TEXT: text}}

    def text_of_answer(self, answer: dict[str, Any]) -> str:
        return str(answer["modifiedResult"][TEXT])


def is_page(event: dict[str, Any]) -> bool:
    """Return whether the command itself is tokcap, which has capped its output."""
    given = event.get("toolArgs")
    return bool(re.search(r"\btokcap show\b", str(given)))


COPILOT = Copilot()
