"""Claude Code: `CLAUDE_CODE_SHELL` under `env` of `settings.json` names the shell of its Bash tool.

Its path must contain `bash` or `zsh`. Permission rules see the command as the model wrote it. With `--tools`,
a `PostToolUse` hook replaces results of other tools: `updatedToolOutput` must have the form of the result.
"""

from __future__ import annotations

from tokcap.environment import Frame
from tokcap.hooks.base import AS_SHELL, Installation, Place, ShellAgent
from tokcap.startup.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.base import Cap
    from tokcap.hooks.settings import Addition

EVENT = "PostToolUse"
TIMEOUT_SECONDS = 20
# What no rule can change about a file: its lines come without gaps, from the first on.
FROM_THE_HEAD = {"keep": "head", "shape": "text", "focus": "", "fields": "", "mode": "raw"}


class ClaudeCode(ShellAgent):
    name = "claude-code"
    title = "Claude Code"
    program = "claude"
    way = AS_SHELL
    effect = "caps every Bash command, also in plan mode"
    tried = "2.1.326"
    session_variable = "CLAUDE_CODE_SESSION_ID"
    usage_files = "projects/*/{}.jsonl"
    # The exit status, and where the shell is.
    frame = Frame(tokens=12, cut=1000, characters=30_000, failed=10_000)
    sent = (467, 5_671)
    tools = ("Read", "Grep", "Glob", "WebFetch", "mcp__.*")
    keys = ("env", "CLAUDE_CODE_SHELL")
    shells = ("bash", "zsh")
    usual_model = "claude"

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("CLAUDE_CONFIG_DIR") or f"{place.home}/.claude"
        return f"{base}/settings.json"

    def project_settings(self, place: Place) -> str:
        # The other settings of a project are shared with people whose tokcap is elsewhere.
        return f"{place.project}/.claude/settings.local.json"

    def model(self, place: Place) -> str:
        from tokcap.hooks.settings import model_in_json, model_in_variable

        shared = f"{place.project}/.claude/settings.json"
        paths = (self.project_settings(place), shared, self.user_settings(place))
        return (
            model_in_variable(place.variables, "ANTHROPIC_MODEL")
            or model_in_json(paths, "env", "ANTHROPIC_MODEL")
            or model_in_json(paths, "model")
        )

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.json_settings import HookEntry
        from tokcap.hooks.own_files import event_command

        names = wanted.option("--tools").replace(",", "|")
        command = event_command(self.name, wanted) if names else ""
        return [
            *super().additions(path, wanted),
            HookEntry(command, self.name, EVENT, names, TIMEOUT_SECONDS),
        ]

    def written_by_model(self, line: dict[str, Any]) -> tuple[str, int] | None:
        return str(line["message"]["id"]), int(line["message"]["usage"]["output_tokens"])

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        """Return the result of a tool with its longest text capped, or None."""
        from tokcap.hooks.tool_result import capped_result

        result, tool = event.get("tool_response"), event.get("tool_name")
        if event.get("hook_event_name") != EVENT or tool == "Bash":
            return None
        changed = capped_file(result, cap) if is_file(result) else capped_result(result, cap)
        if changed is None:
            return None
        return {"hookSpecificOutput": {"hookEventName": EVENT, "updatedToolOutput": changed}}


def is_file(result: Any) -> bool:
    """Return whether a result is that of Read, with the lines of a text."""
    file = result.get("file") if isinstance(result, dict) else None
    return isinstance(file, dict) and isinstance(file.get("content"), str) and "startLine" in file


def capped_file(result: Any, cap: Cap) -> dict[str, Any] | None:
    """Return the first lines of a file that fit; None if all of them do.

    Claude Code puts the number before each line, by counting. So no line in between may be left out, and the
    numbers cost tokens. They are part of what is stored, and so of the next page.
    """
    file = result["file"]
    lines = file["content"].split("\n")
    numbered = "".join(f"{number}\t{line}\n" for number, line in enumerate(lines, file["startLine"]))
    capped = cap(numbered, **FROM_THE_HEAD)
    if capped == numbered:
        return None
    shown = [without_number(line) for line in capped.removesuffix("\n").split("\n")]
    return {**result, "file": {**file, "content": "\n".join(shown), "numLines": len(shown)}}


def without_number(line: str) -> str:
    number, tab, rest = line.partition("\t")
    return rest if tab and number.isdecimal() else line


CLAUDE_CODE = ClaudeCode()
