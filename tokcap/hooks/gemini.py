"""Gemini CLI: a `BeforeTool` hook on the tool `run_shell_command`, in a user's or project's `settings.json`.

Documented: `hookSpecificOutput.tool_input` is merged into the arguments; exit status 2 blocks the command,
other failures only warn. Not documented: whether policies see the original or the rewritten command. Older
versions decide first, newer ones run the hook first.

Therefore a command is rewritten only if both forms get the same decision: the whole tool is allowed, there is
no policy file and no rule for single commands, and the command contains nothing (redirection, substitution)
that Gemini CLI asks about anyway.
"""

from __future__ import annotations

import os

from tokcap.hooks import commandline
from tokcap.hooks.rewrite import rewritten
from tokcap.hooks.rule_files import (
    RulesUnreadable,
    files_in,
    load_settings,
    object_at,
    started_with_any,
    strings_at,
)
from tokcap.hooks.settings_agent import SettingsAgent
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tokcap.hooks.base import Launch, Place

TOOL = "run_shell_command"
TOOL_NAMES = (TOOL, "ShellTool")

FLAGS_WITH_RULES = ("--policy", "--admin-policy")


class Gemini(SettingsAgent):
    name = "gemini"
    title = "Gemini CLI"
    effect = "caps simple commands if tools.allowed has run_shell_command and there are no policy files"
    project_variable = "GEMINI_PROJECT_DIR"
    no_answer = b"{}\n"
    event = "BeforeTool"
    matcher = TOOL
    timeout = 10_000

    def user_settings(self, place: Place) -> str:
        return f"{place.home}/.gemini/settings.json"

    def project_settings(self, place: Place) -> str:
        return f"{place.project}/.gemini/settings.json"

    def objections(self, place: Place) -> list[str]:
        try:
            rules = read_rules(place)
        except RulesUnreadable as error:
            return [f"its rules cannot be read: {error}"]
        return [
            f"{reason}, and Gemini CLI may check only the rewritten command against it"
            for reason in rules.by_text
        ]

    def answer(self, event: dict[str, Any], launch: Launch, place: Place) -> dict[str, Any] | None:
        """Return the rewritten argument, or None."""
        command = self.command_in(event)
        if command is None:
            return None
        if event["tool_input"].get("is_background") or not is_simple(command):
            return None
        rules = read_rules(place)
        if not rules.allowed or rules.by_text or started_with_any(FLAGS_WITH_RULES, place, self.title):
            return None
        shell = "" if place.variables.get("TOKCAP_SHELL") else commandline.find_program("bash", launch.path)
        text = rewritten(command, launch.but(shell=shell))
        if text is None:
            return None
        return {"hookSpecificOutput": {"hookEventName": self.event, "tool_input": {"command": text}}}


class Rules(Record):
    """What the settings say about shell commands."""

    # Whether all of them are allowed.
    allowed: bool
    # Rules and files that treat commands differently by their text, one line each.
    by_text: tuple[str, ...]


def is_simple(command: str) -> bool:
    """Return whether Gemini CLI runs the command without a question once the tool is allowed."""
    return not any(ch in command for ch in "<>`$\n\\") and commandline.simple_commands(command) is not None


def read_rules(place: Place) -> Rules:
    """Return the rules of every settings file that Gemini CLI reads."""
    allowed = False
    by_text: list[str] = []
    for path in settings_files(place):
        settings = load_settings(path)
        tools = object_at(settings, "tools", path)
        allowed = allowed or not set(TOOL_NAMES).isdisjoint(
            strings_at(tools, "allowed", path) + strings_at(settings, "allowedTools", path)
        )
        for keys, key in (
            (tools, "exclude"),
            (tools, "core"),
            (tools, "confirmationRequired"),
            (settings, "excludeTools"),
            (settings, "coreTools"),
        ):
            named = [rule for rule in strings_at(keys, key, path) if rule.startswith(TOOL_NAMES)]
            by_text += [f"{path} has the rule {rule} in {key}" for rule in named if rule not in TOOL_NAMES]
            if key == "confirmationRequired" and named:
                by_text.append(f"{path} has {named[0]} in {key}")
        for key in ("policyPaths", "adminPolicyPaths"):
            if settings.get(key):
                by_text.append(f"{path} names policy files")
        if object_at(settings, "security", path).get("enableConseca"):
            by_text.append(f"{path} turns on security.enableConseca, which judges commands by their text")
    by_text += [f"there is the policy file {path}" for path in policy_files(place)]
    return Rules(allowed, tuple(by_text))


def settings_files(place: Place) -> Iterator[str]:
    for base in system_directories(place):
        yield f"{base}/system-defaults.json"
        yield f"{base}/settings.json"
    for variable in ("GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"):
        if named := place.variables.get(variable):
            yield named
    yield f"{place.home}/.gemini/settings.json"
    yield f"{place.project}/.gemini/settings.json"


def policy_files(place: Place) -> Iterator[str]:
    for base in (*system_directories(place), f"{place.home}/.gemini", f"{place.project}/.gemini"):
        yield from files_in(f"{base}/policies", ".toml")
    for base in (place.home, place.project):
        for extension in files_in(f"{base}/.gemini/extensions", ""):
            yield from files_in(os.path.join(extension, "policies"), ".toml")


def system_directories(place: Place) -> tuple[str, str]:
    return (
        place.at_root("etc", "gemini-cli"),
        place.at_root("Library", "Application Support", "GeminiCli"),
    )


GEMINI = Gemini()
