"""Twenty permission rules in the words of each agent, and ten commands that they decide.

A rule is a decision about all commands with a prefix. An agent without a word for `ask` asks for whatever no
rule allows; nobody answers in these runs, so it refuses.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from tests.support.agents.programs import BY_NAME, HERMES_SETTINGS, QUIET, VIBE_SETTINGS

COMMANDS = (
    "git status --short",
    "echo hello",
    "touch made.txt",
    "ls | head -1",
    "sed -n 1p build.py",
    "cat build.py > copy.txt",
    "echo a && touch b.txt",
    "rm -f nothing.txt",
    "X=1 python3 -c 'print(7)'",
    "cd . && git log",
)
RULES = {
    "reading": {
        "allow": ("echo", "git status", "ls", "head", "sed -n"),
        "ask": ("cat", "python3"),
        "deny": ("touch", "rm", "git log"),
    },
    "writing": {
        "allow": ("touch", "cat", "python3", "rm", "cd"),
        "ask": ("echo", "ls"),
        "deny": ("git", "sed", "head"),
    },
}
# What agents say about a command that they did not run.
REFUSED = re.compile(
    r"(?i)denied|rejected|not permitted|requires? approval|prevents you|was blocked|forbids|blocked:"
)


@dataclass(frozen=True)
class Start:
    """How an agent is started with rules: arguments, which replace its usual ones, and settings."""

    arguments: tuple[str, ...]
    files: dict[str, str] = field(default_factory=dict)


def claude_code(rules: dict[str, tuple[str, ...]]) -> Start:
    permissions = {decision: [f"Bash({p}:*)" for p in prefixes] for decision, prefixes in rules.items()}
    return Start(("-p", "go"), {".claude/settings.json": json.dumps({"permissions": permissions})})


def codex(rules: dict[str, tuple[str, ...]]) -> Start:
    words = {"allow": "allow", "ask": "prompt", "deny": "forbidden"}
    lines = [
        f'prefix_rule(pattern={json.dumps(prefix.split())}, decision="{words[decision]}")\n'
        for decision, prefixes in rules.items()
        for prefix in prefixes
    ]
    sandbox = "workspace-write" if "touch" in rules["allow"] else "read-only"
    arguments = ("exec", "--skip-git-repo-check", "--sandbox", sandbox, "go")
    return Start(arguments, {".codex/rules/default.rules": "".join(lines)})


def opencode(rules: dict[str, tuple[str, ...]]) -> Start:
    patterns = {f"{p}*": decision for decision, prefixes in rules.items() for p in prefixes}
    settings = {
        **BY_NAME["opencode"].files[".config/opencode/opencode.json"],
        "permission": {"bash": {"*": "ask", **patterns}},
        "experimental": {"continue_loop_on_deny": True},
    }
    return Start(("run", "go"), {".config/opencode/opencode.json": json.dumps(settings)})


def gemini(rules: dict[str, tuple[str, ...]]) -> Start:
    words = {"allow": "allow", "ask": "ask_user", "deny": "deny"}
    lines = [
        f'[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "{prefix}"\n'
        f'decision = "{words[decision]}"\npriority = {100 + place}\n'
        for place, (decision, prefixes) in enumerate(rules.items())
        for prefix in prefixes
    ]
    return Start(("-p", "go"), {".gemini/policies/rules.toml": "".join(lines)})


def qwen(rules: dict[str, tuple[str, ...]]) -> Start:
    permissions = {decision: [f"Bash({p} *)" for p in prefixes] for decision, prefixes in rules.items()}
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        **QUIET,
        # Else it sends requests of its own to the model.
        "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
        "permissions": permissions,
    }
    # It offers no shell in other modes if nobody can be asked.
    return Start(("-p", "go", "--yolo"), {".qwen/settings.json": json.dumps(settings)})


def copilot(rules: dict[str, tuple[str, ...]]) -> Start:
    words = {"allow": "--allow-tool", "deny": "--deny-tool"}
    given = [
        word
        for decision, flag in words.items()
        for prefix in rules[decision]
        for word in (flag, f"shell({prefix}:*)")
    ]
    return Start(("-p", "go", *given))


def vibe(rules: dict[str, tuple[str, ...]]) -> Start:
    # It asks about everything else.
    settings = f"""{VIBE_SETTINGS}
[tools.bash]
permission = "ask"
allowlist = {json.dumps(rules["allow"])}
denylist = {json.dumps(rules["deny"])}
"""
    return Start(("--trust", "-p", "go"), {".vibe/config.toml": settings})


def hermes(rules: dict[str, tuple[str, ...]]) -> Start:
    # It has patterns of commands that are denied, and asks about those that it takes for dangerous.
    denied = [f"{prefix}*" for prefix in rules["deny"]]
    settings = f"{HERMES_SETTINGS}approvals:\n  deny: {json.dumps(denied)}\n"
    return Start(("chat", "-Q", "-q", "go"), {".hermes/config.yaml": settings})


# pi and Cline have no rules about commands.
STARTS = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "gemini": gemini,
    "qwen": qwen,
    "copilot": copilot,
    "hermes": hermes,
    "vibe": vibe,
}


def decision(result: str, home: str) -> str:
    """Return `ran`, or what the agent said instead."""
    return result.replace(home, "HOME") if REFUSED.search(result) else "ran"
