"""`tokcap hook list`, `install`, `remove` and `print`: what they do, and the lines they say."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

from tokcap.errors import HookRefused
from tokcap.hooks import settings
from tokcap.hooks.agent import Place
from tokcap.hooks.claude_code import CLAUDE_CODE
from tokcap.hooks.gemini import GEMINI
from tokcap.hooks.handler import own_program
from tokcap.hooks.refused import REFUSED
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from tokcap.environment import Environment
    from tokcap.hooks.agent import Agent

AGENTS = {agent.name: agent for agent in (CLAUDE_CODE, GEMINI)}

# Parts of paths under which programs come and go: caches of `uvx` and `pipx run`, build environments.
PASSING = ("/.cache/", "/uv/archive", "/uv/cache", "/pipx/.cache/")


def list_lines(place: Place) -> list[str]:
    """One line for every agent: whether the hook is installed, or why it is not offered."""
    lines = []
    for agent in AGENTS.values():
        found = [path for path in paths(agent, place) if state(path, agent)]
        where = f"installed in {', '.join(found)}" if found else "not installed"
        lines.append(f"{agent.name}: {where}; {agent.effect}")
        lines += [f"{agent.name}: {state_problem}" for state_problem in agent.objections(place)]
    return lines + [f"{name}: not offered: {reason}" for name, reason in REFUSED.items()]


def install(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Install the hook of an agent; the line to say. `HookRefused` if that cannot be done safely."""
    agent = agent_named(name)
    if problems := agent.objections(place):
        raise HookRefused(f"{agent.title}: {problems[0]}")
    path = path_of(agent, place, project=project)
    command = hook_command(agent, options, project=project)
    done = settings.install(path, agent, command)
    said = f"installed in {path}; {agent.effect}" if done else f"already installed in {path}"
    return said + what_is_missing(command, options)


def what_is_missing(command: str, options: tuple[str, ...]) -> str:
    """What the hook still needs to be of use."""
    words = ""
    if not {"--token-limit", "--session"}.intersection(options):
        words += "; its limit is that of TOKCAP_TOKEN_LIMIT or config.toml: without one nothing is capped"
    if command.startswith("tokcap ") and shutil.which("tokcap") is None:
        words += "; tokcap is not on PATH: until it is, the hook does nothing"
    return words


def remove(name: str, place: Place, *, project: bool) -> str | None:
    """Remove the hook of an agent; the line to say, None if it was not there."""
    agent = agent_named(name)
    path = path_of(agent, place, project=project)
    return f"removed from {path}" if settings.remove(path, agent) else None


def shown(name: str, options: tuple[str, ...], *, project: bool) -> str:
    """What `install` would put into an empty settings file."""
    agent = agent_named(name)
    return settings.with_hook("", None, agent, hook_command(agent, options, project=project)).decode()


def hook_command(agent: Agent, options: tuple[str, ...], *, project: bool) -> str:
    """The command in the settings. Should tokcap be gone one day, the agent goes on without it."""
    program = "tokcap" if project else stable_program(sys.argv[0])
    return " ".join([*map(quoted, (program, "hook", "run", agent.name, *options)), "|| true"])


def stable_program(argument: str) -> str:
    """The full path of this program if it will still be there tomorrow, else its name.

    Settings of a project are read on other machines too; they get the name in any case.
    """
    program = own_program(argument)
    passing = (*PASSING, os.path.realpath(tempfile.gettempdir()) + "/", tempfile.gettempdir() + "/")
    return "tokcap" if any(part in program for part in passing) else program


def agent_named(name: str) -> Agent:
    if name in AGENTS:
        return AGENTS[name]
    if name in REFUSED:
        raise HookRefused(f"no hook is installed for {name}: {REFUSED[name]}")
    raise HookRefused(f"no agent {name!r} is known; see tokcap hook list")


def path_of(agent: Agent, place: Place, *, project: bool) -> str:
    return agent.project_settings(place) if project else agent.user_settings(place)


def paths(agent: Agent, place: Place) -> list[str]:
    both = [agent.user_settings(place), agent.project_settings(place)]
    return both if os.path.realpath(both[0]) != os.path.realpath(both[1]) else both[:1]


def state(path: str, agent: Agent) -> bool:
    """Whether the hook is in a file; a file that is not understood has none."""
    try:
        return settings.installed_command(path, settings.read(path), agent) is not None
    except HookRefused:
        return False


def place_here(env: Environment) -> Place:
    """The user's home, and the directory in which the command was given."""
    try:
        return Place(env.home(), os.getcwd(), env.variables)
    except OSError:
        raise HookRefused("the current directory is gone; change to one that is there") from None
