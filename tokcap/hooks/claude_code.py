"""Claude Code: `CLAUDE_CODE_SHELL` under `env` of `settings.json` names the shell of its Bash tool.

Its path must contain `bash` or `zsh`. Permission rules see the command as the model wrote it. With `--tools`,
a `PostToolUse` hook replaces results of other tools: `updatedToolOutput` must have the form of the result.
"""

from __future__ import annotations

from tokcap.hooks.base import AS_SHELL, Installation, Place
from tokcap.hooks.file_agent import UserShellAgent
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from tokcap.hooks.base import Cap
    from tokcap.hooks.settings import Addition

EVENT = "PostToolUse"
TIMEOUT_SECONDS = 20


class ClaudeCode(UserShellAgent):
    name = "claude-code"
    title = "Claude Code"
    way = AS_SHELL
    effect = "caps every Bash command, also in plan mode"
    tried = "2.1.326"
    tools = ("Read", "Grep", "Glob", "WebFetch", "mcp__.*")
    keys = ("env", "CLAUDE_CODE_SHELL")

    def user_settings(self, place: Place) -> str:
        base = place.variables.get("CLAUDE_CONFIG_DIR") or f"{place.home}/.claude"
        return f"{base}/settings.json"

    def project_settings(self, place: Place) -> str:
        # The other settings of a project are shared with people whose tokcap is elsewhere.
        return f"{place.project}/.claude/settings.local.json"

    def additions(self, path: str, wanted: Installation) -> Sequence[Addition]:
        from tokcap.hooks.settings_entry import HookEntry

        names = wanted.option("--tools").replace(",", "|")
        return [
            *super().additions(path, wanted),
            HookEntry(self.name, EVENT, names, TIMEOUT_SECONDS, self.command(wanted) if names else ""),
            # Older versions rewrote commands.
            HookEntry(self.name, "PreToolUse", "Bash", TIMEOUT_SECONDS),
        ]

    def command(self, wanted: Installation) -> str:
        from tokcap.hooks.event_command import event_command

        return event_command(self.name, wanted)

    def answer(self, event: dict[str, Any], wanted: Installation, cap: Cap) -> dict[str, Any] | None:
        """Return the result of a tool with its longest text capped, or None."""
        from tokcap.hooks.tool_result import capped_result

        if event.get("hook_event_name") != EVENT or event.get("tool_name") == "Bash":
            return None
        changed = capped_result(event.get("tool_response"), cap)
        if changed is None:
            return None
        return {"hookSpecificOutput": {"hookEventName": EVENT, "updatedToolOutput": changed}}


CLAUDE_CODE = ClaudeCode()
