"""Gemini CLI: `BeforeTool` on the tool `run_shell_command`, in `settings.json` of the user or of a project.

Documented: `hookSpecificOutput.tool_input` is merged into the arguments; exit 2 blocks, and other failures
only warn. Not documented is whether policies see the original or the rewritten command: older versions
decide first, newer ones run the hook first. Concluded: both forms have to get the same answer. A command is
rewritten only where the tool is allowed as a whole, no policy file and no rule for shell commands is there,
and the command has nothing (redirection, substitution) for which Gemini CLI asks in spite of that.
"""

from __future__ import annotations

import os

from tokcap.hooks import commandline
from tokcap.hooks.agent import Agent, Doubt, files_in, load_settings, table, words
from tokcap.hooks.rewrite import rewritten
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from tokcap.hooks.agent import Place
    from tokcap.hooks.rewrite import Launch

TOOL = "run_shell_command"
NAMES = (TOOL, "ShellTool")

FLAGS_WITH_RULES = ("--policy", "--admin-policy")


class Rules(Record):
    """What the settings say of shell commands."""

    # Whether all of them are allowed.
    allowed: bool
    # What could make a difference between two commands, one line each.
    by_text: tuple[str, ...]


def answer(event: dict[str, Any], launch: Launch, place: Place) -> dict[str, Any] | None:
    """The rewritten argument, or nothing."""
    given = event.get("tool_input")
    if event.get("hook_event_name") != "BeforeTool" or event.get("tool_name") != TOOL:
        return None
    if not isinstance(given, dict) or not isinstance(command := given.get("command"), str):
        return None
    if given.get("is_background") or not is_plain(command):
        return None
    rules = read_rules(place)
    if not rules.allowed or rules.by_text or came_with_rules(place):
        return None
    shell = "" if place.variables.get("TOKCAP_SHELL") else commandline.find_program("bash", launch.path)
    text = rewritten(command, launch.but(shell=shell))
    if text is None:
        return None
    return {"hookSpecificOutput": {"hookEventName": "BeforeTool", "tool_input": {"command": text}}}


def is_plain(command: str) -> bool:
    """Whether it is a list of simple commands that nothing is asked about once the tool is allowed."""
    return not any(ch in command for ch in "<>`$\n\\") and commandline.simple_commands(command) is not None


def read_rules(place: Place) -> Rules:
    """The rules of every settings file that Gemini CLI reads; `Doubt` if one cannot be read."""
    allowed = False
    by_text: list[str] = []
    for path in settings_files(place):
        settings = load_settings(path)
        tools = table(settings, "tools", path)
        allowed = allowed or not set(NAMES).isdisjoint(
            words(tools, "allowed", path) + words(settings, "allowedTools", path)
        )
        for keys, key in (
            (tools, "exclude"),
            (tools, "core"),
            (tools, "confirmationRequired"),
            (settings, "excludeTools"),
            (settings, "coreTools"),
        ):
            named = [rule for rule in words(keys, key, path) if rule.startswith(NAMES)]
            by_text += [f"{path} has the rule {rule} in {key}" for rule in named if rule not in NAMES]
            if key == "confirmationRequired" and named:
                by_text.append(f"{path} has {named[0]} in {key}")
        for key in ("policyPaths", "adminPolicyPaths"):
            if settings.get(key):
                by_text.append(f"{path} names policy files")
        if table(settings, "security", path).get("enableConseca"):
            by_text.append(f"{path} has commands judged by their text")
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


def came_with_rules(place: Place) -> bool:
    given = place.command_lines()
    if given is None:
        raise Doubt("the command line of Gemini CLI cannot be seen")
    return any(word.partition("=")[0] in FLAGS_WITH_RULES for word in given)


def objections(place: Place) -> list[str]:
    """Why a hook would be unsafe here."""
    try:
        rules = read_rules(place)
    except Doubt as doubt:
        return [f"its rules cannot be read: {doubt}"]
    return [
        f"{reason}, and Gemini CLI may hold it against the rewritten command only" for reason in rules.by_text
    ]


GEMINI = Agent(
    name="gemini",
    title="Gemini CLI",
    effect="caps plain commands while tools.allowed has run_shell_command and there are no policy files",
    event="BeforeTool",
    matcher=TOOL,
    timeout=10_000,
    project_variable="GEMINI_PROJECT_DIR",
    user_settings=lambda place: f"{place.home}/.gemini/settings.json",
    project_settings=lambda place: f"{place.project}/.gemini/settings.json",
    answer=answer,
    objections=objections,
    silence=b"{}\n",
)
