"""Read Claude Code's permission rules, and decide which of them could match a command.

If in doubt, a rule matches: a false match leaves one command uncapped, a missed match would bypass the rule.
"""

from __future__ import annotations

from tokcap.hooks import commandline
from tokcap.hooks.rule_files import RulesUnreadable, files_in, load_settings, object_at, strings_at
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.hooks.base import Place

# Tools whose rules never apply to shell commands. Rules of all other tools are treated as if they could.
OTHER_TOOLS = (
    "mcp__",
    "Web",
    "Agent",
    "Task",
    "Skill",
    "SlashCommand",
    "Todo",
    "PowerShell",
    "AskUser",
    "LSP",
)
SHELL = "Bash"


class Rules(Record):
    """All rules found, each with the file that contains it."""

    allow: tuple[tuple[str, str], ...]
    ask: tuple[tuple[str, str], ...]
    deny: tuple[tuple[str, str], ...]
    # Patterns of commands that run outside the sandbox. If rewritten, they would run inside it and fail.
    outside_sandbox: tuple[str, ...]

    @property
    def shell_is_allowed(self) -> bool:
        """Return whether every shell command is allowed."""
        return any(is_whole_shell(rule) for rule, _ in self.allow)

    def against_rewriting(self) -> Iterator[tuple[str, str]]:
        """Yield the rules that could match any command. If there is one, no command is rewritten."""
        for rule, path in (*self.deny, *self.ask):
            if not is_for_other_tool(rule) and (specifier(rule) is None or is_whole_shell(rule)):
                yield rule, path

    def could_stop(self, command: str) -> bool:
        """Return whether a deny or ask rule could match the original command."""
        named = [specifier(rule) for rule, _ in (*self.deny, *self.ask) if not is_for_other_tool(rule)]
        return any(pattern is None or could_match(pattern, command) for pattern in named)


def read_rules(place: Place) -> Rules:
    """Return the rules of every settings file that Claude Code reads."""
    found: dict[str, list[tuple[str, str]]] = {"allow": [], "ask": [], "deny": []}
    outside: list[str] = []
    only_managed = False
    if any(files_in(place.at_root("Library", "Managed Preferences"), "com.anthropic.claudecode.plist")):
        raise RulesUnreadable("a profile of the organization has rules for Claude Code")
    for managed, path in settings_files(place):
        settings = load_settings(path)
        permissions = object_at(settings, "permissions", path)
        only_managed = only_managed or bool(managed and settings.get("allowManagedPermissionRulesOnly"))
        for kind, rules in found.items():
            # Managed files come first. Ask and deny rules of other files are respected even if
            # Claude Code ignores them.
            if managed or not only_managed or kind != "allow":
                rules += [(rule.strip(), path) for rule in strings_at(permissions, kind, path)]
        outside += strings_at(object_at(settings, "sandbox", path), "excludedCommands", path)
    return Rules(tuple(found["allow"]), tuple(found["ask"]), tuple(found["deny"]), tuple(outside))


def settings_files(place: Place) -> Iterator[tuple[bool, str]]:
    """Yield every file that can contain rules, and whether it is managed. Managed files come first."""
    for base in (
        place.at_root("etc", "claude-code"),
        place.at_root("Library", "Application Support", "ClaudeCode"),
    ):
        yield True, f"{base}/managed-settings.json"
        for path in files_in(f"{base}/managed-settings.d", ".json"):
            yield True, path
    user = user_directory(place)
    yield True, f"{user}/remote-settings.json"
    for directory in (user, f"{place.project}/.claude"):
        yield False, f"{directory}/settings.json"
        yield False, f"{directory}/settings.local.json"


def user_directory(place: Place) -> str:
    return place.variables.get("CLAUDE_CONFIG_DIR") or f"{place.home}/.claude"


def specifier(rule: str) -> str | None:
    """Return the text in the parentheses of `Bash(...)`; None for any other rule."""
    tool, opened, rest = rule.partition("(")
    return rest[:-1] if tool == SHELL and opened and rest.endswith(")") else None


def is_whole_shell(rule: str) -> bool:
    return rule == SHELL or specifier(rule) in ("*", ":*", "**")


def is_for_other_tool(rule: str) -> bool:
    return rule.startswith(OTHER_TOOLS)


def could_match(pattern: str, command: str) -> bool:
    """Return whether `Bash(pattern)` could match the command or a part of it, however the command is quoted.

    Claude Code splits a command, removes wrappers and assignments, and compares the rest. In any case the
    words of the pattern must occur in the command once quotes and backslashes are removed from both.
    """
    needed = [word for part in pattern.removesuffix(":*").split("*") for word in words_of(part)]
    if "$'" in command or '$"' in command:
        return True  # the text may be written in escapes
    if any("/" in word for word in needed) and any(ch in command for ch in "$~"):
        return True  # a path can be written in several ways
    # Next to a star, a word of the pattern may be part of a longer word; a search in the text finds it too.
    text = " ".join(words_of(command))
    return all(word in text for word in needed)


def words_of(text: str) -> list[str]:
    return commandline.bare_words(text.casefold())
