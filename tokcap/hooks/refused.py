"""Agents for which no hook is installed, and why, in one line each.

Most of them can rewrite a command. They are refused because what they document does not guarantee that the
rewritten command meets the same rules as the original, or because the rewrite is an approval as well.
"""

from __future__ import annotations

UNDOCUMENTED = "does not document whether its rules see the command before or after a rewrite"
BLOCKS_ONLY = "can only block a command, not rewrite it"

REFUSED = {
    # Rules: developers.openai.com/codex/rules. Hooks accept `updatedInput` only together with
    # `permissionDecision: allow` (openai/codex#20527), and prefix rules and the check for dangerous
    # commands see the rewritten one.
    "codex": "Codex CLI takes a rewrite only with an approval, and its rules and its check for dangerous "
    "commands judge the rewritten command",
    # docs.github.com, Copilot CLI hooks reference: `modifiedArgs`.
    "copilot": f"Copilot CLI {UNDOCUMENTED}",
    # cursor.com/docs/hooks: `preToolUse` has `updated_input`, `beforeShellExecution` has not.
    "cursor": f"Cursor {UNDOCUMENTED}",
    # Qwen Code, hooks.md: `permissionDecision` is required, and `allow` skips the question.
    "qwen": "Qwen Code takes a rewrite only with a decision, and its allow skips the question to the user",
    # docs.factory.ai: commandAllowlist and commandDenylist in settings.json.
    "droid": f"Factory Droid {UNDOCUMENTED}",
    # anomalyco/opencode#35882.
    "opencode": "OpenCode holds its rules against the rewritten command, so a deny rule would not match",
    # charmbracelet/crush, docs/hooks: applied before permission checks; commands run in its own interpreter.
    "crush": "Crush forbids commands inside its own shell, which a rewritten command would leave",
    # mistralai/mistral-vibe#849.
    "vibe": "Mistral Vibe holds its rules against the rewritten command, so a deny rule would not match",
    # ampcode.com/manual/plugin-api.
    "amp": "Amp has plug-ins in TypeScript instead of hooks, and calls their interface experimental",
    # docs.windsurf.com/windsurf/cascade/hooks: a pre-hook answers by its exit status.
    "windsurf": f"a hook of Windsurf {BLOCKS_ONLY}",
    # docs.cline.bot/features/hooks/hook-reference: `cancel`, `contextModification`, `errorMessage`.
    "cline": f"a hook of Cline {BLOCKS_ONLY}",
    # kiro.dev/docs/cli/hooks: a hook answers by its exit status.
    "kiro": f"a hook of Kiro {BLOCKS_ONLY}",
    # MoonshotAI/kimi-cli#1963 proposes it.
    "kimi": f"a hook of Kimi CLI {BLOCKS_ONLY}",
}
