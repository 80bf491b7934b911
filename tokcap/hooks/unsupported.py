"""Agents that cannot have a hook, each with the reason in one line.

Most of them let a hook rewrite a command. They are refused because their documentation does not guarantee
that the rewritten command is checked against the same rules as the original, or because a rewrite also
approves the command. To support one of them, write its module, add it to `AGENTS`, and delete its line here.
"""

from __future__ import annotations

UNDOCUMENTED = "does not document whether its rules see the command before or after a rewrite"
CHECKS_REWRITTEN = "checks its rules against the rewritten command, so a deny rule would not match"
ONLY_BLOCKS = "has hooks that can only block a command, not rewrite it"

UNSUPPORTED = {
    # Rules: developers.openai.com/codex/rules. Hooks accept `updatedInput` only together with
    # `permissionDecision: allow` (openai/codex#20527), and prefix rules and the check for dangerous
    # commands see the rewritten one.
    "codex": "Codex CLI accepts a rewrite only together with an approval, and checks its rules and its list "
    "of dangerous commands against the rewritten command",
    # docs.github.com, Copilot CLI hooks reference: `modifiedArgs`.
    "copilot": f"Copilot CLI {UNDOCUMENTED}",
    # cursor.com/docs/hooks: `preToolUse` has `updated_input`, `beforeShellExecution` has not.
    "cursor": f"Cursor {UNDOCUMENTED}",
    # Qwen Code, hooks.md: `permissionDecision` is required, and `allow` skips the question.
    "qwen": "Qwen Code accepts a rewrite only together with an approval, so the user is not asked",
    # docs.factory.ai: commandAllowlist and commandDenylist in settings.json.
    "droid": f"Factory Droid {UNDOCUMENTED}",
    # anomalyco/opencode#35882.
    "opencode": f"OpenCode {CHECKS_REWRITTEN}",
    # charmbracelet/crush, docs/hooks: applied before permission checks; commands run in its own interpreter.
    "crush": "Crush blocks commands inside its own shell, and a rewritten command would run outside it",
    # mistralai/mistral-vibe#849.
    "vibe": f"Mistral Vibe {CHECKS_REWRITTEN}",
    # ampcode.com/manual/plugin-api.
    "amp": "Amp has TypeScript plug-ins instead of hooks, and calls their interface experimental",
    # docs.windsurf.com/windsurf/cascade/hooks: a pre-hook answers by its exit status.
    "windsurf": f"Windsurf {ONLY_BLOCKS}",
    # docs.cline.bot/features/hooks/hook-reference: `cancel`, `contextModification`, `errorMessage`.
    "cline": f"Cline {ONLY_BLOCKS}",
    # kiro.dev/docs/cli/hooks: a hook answers by its exit status.
    "kiro": f"Kiro {ONLY_BLOCKS}",
    # MoonshotAI/kimi-cli#1963 proposes it.
    "kimi": f"Kimi CLI {ONLY_BLOCKS}",
}
