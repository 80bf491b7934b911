"""Claude Code: `PreToolUse` on the tool `Bash`, in `settings.json` of the user or of a project.

Documented: hooks run before the permission rules; `updatedInput` replaces the whole input; without
`permissionDecision` the normal flow goes on. It does so with the *rewritten* command (deny rules written
for the original do not match it: anthropics/claude-code#65393, #89448), the working directory is kept from
one command to the next, variables are not. Concluded: no decision is ever given, and a command is rewritten
only where Bash is allowed as a whole and no deny or ask rule could have met the original.
"""

from __future__ import annotations

from tokcap.hooks import claude_rules, commandline
from tokcap.hooks.agent import Agent, Doubt
from tokcap.hooks.rewrite import rewritten
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tokcap.hooks.agent import Place
    from tokcap.hooks.rewrite import Launch

# In these modes a rule that allows Bash as a whole lets every command through. Others judge by its text.
ASKING_MODES = ("default", "acceptEdits", "dontAsk")
FREE_MODE = "bypassPermissions"

# Flags that bring rules along which stand in no file.
FLAGS_WITH_RULES = ("--disallowedTools", "--disallowed-tools", "--settings", "--agents", "--tools")

# Claude Code asks about some removals in every mode, and about writing to some files in spite of any allow
# rule. Which ones is no fixed list; commands of this kind print little, so none of them is touched.
REMOVERS_AND_WRITERS = commandline.word_set(
    "rm rmdir unlink shred srm -delete tee cp mv ln touch mkdir sed dd truncate install patch chmod chown"
)
HARMLESS_REDIRECTIONS = (">&1", ">&2", "> /dev/null", ">/dev/null")


def answer(event: dict[str, Any], launch: Launch, place: Place) -> dict[str, Any] | None:
    """The rewritten input, or nothing."""
    given = event.get("tool_input")
    if event.get("hook_event_name") != "PreToolUse" or event.get("tool_name") != "Bash":
        return None
    if not isinstance(given, dict) or not isinstance(command := given.get("command"), str):
        return None
    # Output in the background is streamed by its id; a cap would hold it back.
    if given.get("run_in_background") or given.get("dangerouslyDisableSandbox"):
        return None
    # A subagent can have rules of its own, which stand in no settings file.
    if event.get("agent_id") or event.get("agent_type"):
        return None
    if not text_decides_nothing(command, str(event.get("permission_mode")), str(event.get("cwd", "")), place):
        return None
    shell = shell_of(place)
    text = rewritten(command, launch.but(shell=shell, keeps_directory=True))
    if text is None:
        return None
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {**given, "command": text}}}


def text_decides_nothing(command: str, mode: str, directory: str, place: Place) -> bool:
    """Whether the command, and its rewritten form, run without any question being asked of their text."""
    rules = claude_rules.read_rules(place)
    if mode != FREE_MODE and not (mode in ASKING_MODES and rules.shell_is_allowed):
        return False
    if rules.could_stop(command):
        return False
    if any(claude_rules.could_match(pattern, command) for pattern in rules.outside_sandbox):
        return False
    if removes_or_writes(command) or names_hidden_file(command) or "/." in directory:
        return False
    return not came_with_rules(place)


def removes_or_writes(command: str) -> bool:
    """Whether it may remove or write a file that its text names."""
    for redirection in HARMLESS_REDIRECTIONS:
        command = command.replace(redirection, "")
    programs = {word.rpartition("/")[2] for word in commandline.bare_words(command)}
    return ">" in command or not REMOVERS_AND_WRITERS.isdisjoint(programs)


def names_hidden_file(command: str) -> bool:
    """Whether a word in it, or what follows `/`, `=` or `:` in one, begins with a dot and goes on."""
    for word in commandline.bare_words(command):
        for part in word.replace("=", "/").replace(":", "/").replace("~", "/").split("/"):
            if part.startswith(".") and part.strip("."):
                return True
    return False


def came_with_rules(place: Place) -> bool:
    given = place.command_lines()
    if given is None:
        raise Doubt("the command line of Claude Code cannot be seen")
    return any(word.partition("=")[0] in FLAGS_WITH_RULES for word in given)


def shell_of(place: Place) -> str:
    """The shell that Claude Code uses, if that is certain and the user has not named one for tokcap."""
    if place.variables.get("TOKCAP_SHELL"):
        return ""
    shell = place.variables.get("CLAUDE_CODE_SHELL") or place.variables.get("SHELL") or ""
    known = shell.startswith("/") and shell.rpartition("/")[2] in ("bash", "zsh")
    return shell if known else ""


def objections(place: Place) -> list[str]:
    """Why a hook would be of no use here, or unsafe."""
    try:
        rules = claude_rules.read_rules(place)
    except Doubt as doubt:
        return [f"its permission rules cannot be read: {doubt}"]
    return [
        f"{path} has the rule {rule}, which Claude Code holds against the text of a shell command; "
        "a rewritten command would slip past it"
        for rule, path in rules.against_rewriting()
    ]


CLAUDE_CODE = Agent(
    name="claude-code",
    title="Claude Code",
    effect="caps commands while Bash is allowed as a whole (the rule Bash, or bypassPermissions)",
    event="PreToolUse",
    matcher="Bash",
    timeout=10,
    project_variable="CLAUDE_PROJECT_DIR",
    user_settings=lambda place: f"{claude_rules.user_directory(place)}/settings.json",
    project_settings=lambda place: f"{place.project}/.claude/settings.json",
    answer=answer,
    objections=objections,
)
