"""Mistral Vibe: a `post_tool` hook in `~/.vibe/hooks.toml` replaces the results of tools.

Vibe runs commands in zsh or bash, whatever the user's shell is. It gives the model a result as JSON, so a
plain text in its place costs less. It saves a longer text in a file, and shows the model little of it.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import RESULTS, Agent, Installation, Place
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.base import Cap
    from tokcap.hooks.own_files import OwnFile
    from tokcap.hooks.settings import Addition

EVENT = "post_tool"
SHELL = "bash"
TIMEOUT_SECONDS = 60
# What is shorter stays as it is: JSON of this size has few tokens more.
FEW_CHARACTERS = 300


class Vibe(Agent):
    name = "vibe"
    title = "Mistral Vibe"
    program = "vibe"
    way = RESULTS
    effect = "caps the result of every bash command"
    tried = "3.0.2"
    # The exit status, and whether something is missing.
    frame = Frame(tokens=24, cut=1800, characters=15_500)
    sent = (1_815, 5_943)
    # Tools of MCP servers are named SERVER_TOOL.
    tools = ("read_file", ".+_.+")

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("VIBE_HOME") or f"{place.home}/.vibe"
        return f"{base}/hooks.toml"

    def files(self, path: str, wanted: Installation) -> Sequence[OwnFile]:
        return []

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.line_settings import TomlTable
        from tokcap.hooks.own_files import event_command

        names = [SHELL, *filter(None, wanted.option("--tools").split(","))]
        rest: dict[str, str | int] = {
            "name": "tokcap",
            "type": EVENT,
            "match": SHELL if len(names) == 1 else f"re:({'|'.join(names)})",
            "timeout": TIMEOUT_SECONDS,
        }
        return [TomlTable(self.name, "hooks", rest, event_command(self.name, wanted))]

    def installation(self, path: str) -> Installation | None:
        from tokcap.hooks import settings
        from tokcap.hooks.own_files import installation_of

        [addition] = self.additions(path, Installation("tokcap"))
        command = settings.found(path, settings.read(path), addition)
        return None if command is None else installation_of(command)

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        """Return the text that takes the place of a result, or None."""
        from tokcap.hooks.tool_result import is_named

        result, tool = event.get("tool_output"), str(event.get("tool_name")).rpartition(".")[2]
        if event.get("hook_event_name") != EVENT or not isinstance(result, dict):
            return None
        if tool == SHELL:
            text, ending = text_of_command(result)
        elif is_named(tool, wanted):
            text, ending = str(event.get("tool_output_text") or ""), ""
        else:
            return None
        given = event.get("tool_input")
        # tokcap has capped a page.
        capped = text if tool == SHELL and "tokcap show " in str(given) else cap(text)
        if capped == text and len(str(result)) <= FEW_CHARACTERS:
            # A text of few characters has few tokens, in any form.
            return None
        return {"decision": "deny", "reason": capped.rstrip("\n") + ending}

    def sample_event(self, text: str) -> dict[str, Any]:
        result = {"command": "x", "stdout": text, "stderr": "", "returncode": 0}
        return {"hook_event_name": EVENT, "tool_name": SHELL, "tool_output": result}

    def text_of_answer(self, answer: dict[str, Any]) -> str:
        return str(answer["reason"])


def text_of_command(result: dict[str, Any]) -> tuple[str, str]:
    """Return both streams of a command, and what else the model has to know about it."""
    out, err = str(result.get("stdout") or ""), str(result.get("stderr") or "")
    if out and err and not out.endswith("\n"):
        out += "\n"
    ending = ""
    if result.get("was_truncated"):
        ending += "\n[Vibe kept only a part of this output]"
    if result.get("timed_out"):
        ending += "\n[timed out]"
    if result.get("returncode"):
        ending += f"\n[exit status {result['returncode']}]"
    return out + err, ending


VIBE = Vibe()
