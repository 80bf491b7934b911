"""Claude Code: a `PreToolUse` hook on the tool `Bash`, in `settings.json` of the user or of a project.

Documented: hooks run before the permission rules; `updatedInput` replaces the whole input; without
`permissionDecision` the normal permission flow follows. It sees the *rewritten* command, so deny rules
written for the original do not match (anthropics/claude-code#65393, #89448). The working directory is kept
from one command to the next; variables are not.

Therefore the hook never gives a decision, and rewrites a command only if all Bash commands are allowed and
no deny or ask rule can match the original.
"""

from __future__ import annotations

from tokcap.hooks import claude_rules, commandline
from tokcap.hooks.rewrite import rewritten
from tokcap.hooks.rule_files import RulesUnreadable, started_with_any
from tokcap.hooks.settings_agent import SettingsAgent
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.base import Launch, Place

# In these modes a rule that allows all of Bash allows every command. Other modes judge a command by its text.
ASKING_MODES = ("default", "acceptEdits", "dontAsk")
FREE_MODE = "bypassPermissions"

# Flags that can add rules which are in no file.
FLAGS_WITH_RULES = ("--disallowedTools", "--disallowed-tools", "--settings", "--agents", "--tools")

# Claude Code asks about some removals in every mode, and about writing to some files even if they are
# allowed. There is no fixed list of these. Such commands print little, so none of them is rewritten.
REMOVERS_AND_WRITERS = commandline.word_set(
    "rm rmdir unlink shred srm -delete tee cp mv ln touch mkdir sed dd truncate install patch chmod chown"
)
HARMLESS_REDIRECTIONS = (">&1", ">&2", "> /dev/null", ">/dev/null")


class ClaudeCode(SettingsAgent):
    name = "claude-code"
    title = "Claude Code"
    effect = "caps commands if all Bash commands are allowed (by the rule Bash, or in mode bypassPermissions)"
    project_variable = "CLAUDE_PROJECT_DIR"
    event = "PreToolUse"
    matcher = "Bash"
    timeout = 10

    def user_settings(self, place: Place) -> str:
        return f"{claude_rules.user_directory(place)}/settings.json"

    def project_settings(self, place: Place) -> str:
        return f"{place.project}/.claude/settings.json"

    def objections(self, place: Place) -> list[str]:
        try:
            rules = claude_rules.read_rules(place)
        except RulesUnreadable as error:
            return [f"its permission rules cannot be read: {error}"]
        return [
            f"{path} has the rule {rule}, which Claude Code checks against the text of a shell command; "
            "a rewritten command would bypass it"
            for rule, path in rules.against_rewriting()
        ]

    def answer(self, event: dict[str, Any], launch: Launch, place: Place) -> dict[str, Any] | None:
        """Return the rewritten input, or None."""
        command = self.command_in(event)
        if command is None:
            return None
        given = event["tool_input"]
        # Claude Code reads the output of a background command while it runs; a cap would delay it.
        if given.get("run_in_background") or given.get("dangerouslyDisableSandbox"):
            return None
        # A subagent can have rules that are in no settings file.
        if event.get("agent_id") or event.get("agent_type"):
            return None
        mode, directory = str(event.get("permission_mode")), str(event.get("cwd", ""))
        if not is_allowed_whatever_its_text(command, mode, directory, place):
            return None
        text = rewritten(command, launch.but(shell=shell_of(place), keeps_directory=True))
        if text is None:
            return None
        changed = {**given, "command": text}
        return {"hookSpecificOutput": {"hookEventName": self.event, "updatedInput": changed}}


def is_allowed_whatever_its_text(command: str, mode: str, directory: str, place: Place) -> bool:
    """Return whether Claude Code runs the command, and its rewritten form, without checking their text."""
    rules = claude_rules.read_rules(place)
    if mode != FREE_MODE and not (mode in ASKING_MODES and rules.shell_is_allowed):
        return False
    if rules.could_stop(command):
        return False
    if any(claude_rules.could_match(pattern, command) for pattern in rules.outside_sandbox):
        return False
    if removes_or_writes(command) or names_hidden_file(command) or "/." in directory:
        return False
    return not started_with_any(FLAGS_WITH_RULES, place, CLAUDE_CODE.title)


def removes_or_writes(command: str) -> bool:
    """Return whether a command may remove or write a file that its text names."""
    for redirection in HARMLESS_REDIRECTIONS:
        command = command.replace(redirection, "")
    programs = {word.rpartition("/")[2] for word in commandline.bare_words(command)}
    return ">" in command or not REMOVERS_AND_WRITERS.isdisjoint(programs)


def names_hidden_file(command: str) -> bool:
    """Return whether a word, or a part of it after `/`, `=`, `:` or `~`, is a name that starts with a dot."""
    for word in commandline.bare_words(command):
        for part in word.replace("=", "/").replace(":", "/").replace("~", "/").split("/"):
            if part.startswith(".") and part.strip("."):
                return True
    return False


def shell_of(place: Place) -> str:
    """Return the shell that Claude Code uses; empty if that is uncertain or TOKCAP_SHELL names one."""
    if place.variables.get("TOKCAP_SHELL"):
        return ""
    shell = place.variables.get("CLAUDE_CODE_SHELL") or place.variables.get("SHELL") or ""
    known = shell.startswith("/") and shell.rpartition("/")[2] in ("bash", "zsh")
    return shell if known else ""


CLAUDE_CODE = ClaudeCode()
