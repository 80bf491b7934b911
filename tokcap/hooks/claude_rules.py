"""Claude Code's permission rules, read only as far as one question needs: could this rule match that command?

A yes that should be a no costs one command its cap. A no that should be a yes would let it slip past a rule.
"""

from __future__ import annotations

from tokcap.hooks import commandline
from tokcap.hooks.agent import Doubt, files_in, load_settings, table, words
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.hooks.agent import Place

# Tools whose rules no shell command can meet. Rules of all others count as if they could.
ELSEWHERE = ("mcp__", "Web", "Agent", "Task", "Skill", "SlashCommand", "Todo", "PowerShell", "AskUser", "LSP")
SHELL = "Bash"


class Rules(Record):
    """All rules that were found, each with its file."""

    allow: tuple[tuple[str, str], ...]
    ask: tuple[tuple[str, str], ...]
    deny: tuple[tuple[str, str], ...]
    # What is run outside the sandbox by its text; inside it a rewritten command would fail.
    outside_sandbox: tuple[str, ...]

    @property
    def shell_is_allowed(self) -> bool:
        """Whether every shell command is allowed, whatever its text."""
        return any(is_whole_shell(rule) for rule, _ in self.allow)

    def against_rewriting(self) -> Iterator[tuple[str, str]]:
        """Rules that could match any command: beside these nothing is rewritten."""
        for rule, path in (*self.deny, *self.ask):
            if not is_elsewhere(rule) and (specifier(rule) is None or is_whole_shell(rule)):
                yield rule, path

    def could_stop(self, command: str) -> bool:
        """Whether a deny or ask rule could match the command as it is."""
        named = [specifier(rule) for rule, _ in (*self.deny, *self.ask) if not is_elsewhere(rule)]
        return any(pattern is None or could_match(pattern, command) for pattern in named)


def read_rules(place: Place) -> Rules:
    """The rules of every settings file that Claude Code reads; `Doubt` if one cannot be read."""
    found: dict[str, list[tuple[str, str]]] = {"allow": [], "ask": [], "deny": []}
    outside: list[str] = []
    only_managed = False
    if any(files_in(place.at_root("Library", "Managed Preferences"), "com.anthropic.claudecode.plist")):
        raise Doubt("a profile of the organization has rules for Claude Code")
    for managed, path in settings_files(place):
        settings = load_settings(path)
        permissions = table(settings, "permissions", path)
        only_managed = only_managed or bool(managed and settings.get("allowManagedPermissionRulesOnly"))
        for kind, rules in found.items():
            # Managed files come first. What others deny is honoured even where it does not count.
            if managed or not only_managed or kind != "allow":
                rules += [(rule.strip(), path) for rule in words(permissions, kind, path)]
        outside += words(table(settings, "sandbox", path), "excludedCommands", path)
    return Rules(tuple(found["allow"]), tuple(found["ask"]), tuple(found["deny"]), tuple(outside))


def settings_files(place: Place) -> Iterator[tuple[bool, str]]:
    """Every file that can hold rules, and whether it is managed: those first."""
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
    """What stands in the parentheses of a rule for the shell; None for every other rule."""
    tool, opened, rest = rule.partition("(")
    return rest[:-1] if tool == SHELL and opened and rest.endswith(")") else None


def is_whole_shell(rule: str) -> bool:
    return rule == SHELL or specifier(rule) in ("*", ":*", "**")


def is_elsewhere(rule: str) -> bool:
    return rule.startswith(ELSEWHERE)


def could_match(pattern: str, command: str) -> bool:
    """Whether `Bash(pattern)` could match the command, or any part of it, however it is spelled.

    Claude Code splits a command, takes off wrappers and assignments, and compares what is left. Whatever
    it does, the pattern's own text has to be found; quotes and backslashes are taken out of both.
    """
    needed = [word for part in pattern.removesuffix(":*").split("*") for word in words_of(part)]
    if "$'" in command or '$"' in command:
        return True  # the text is spelled in escapes
    if any("/" in word for word in needed) and any(ch in command for ch in "$~"):
        return True  # a path can be spelled in more ways than one
    # Beside a star a word may be part of a longer one; as part of the text it is found all the same.
    text = " ".join(words_of(command))
    return all(word in text for word in needed)


def words_of(text: str) -> list[str]:
    return commandline.bare_words(text.casefold())
