"""What `tokcap hook list`, `install`, `remove` and `print` do, for any agent of the table."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

from tokcap.core.spelling import nearest
from tokcap.errors import HookRefused
from tokcap.hooks import AGENTS
from tokcap.hooks.base import Installation, Place
from tokcap.hooks.handler import own_program
from tokcap.hooks.rewrite import REPEAT
from tokcap.hooks.unsupported import UNSUPPORTED
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent

# Parts of paths whose programs do not last: caches of `uvx` and `pipx run`, build environments.
TEMPORARY = ("/.cache/", "/uv/archive", "/uv/cache", "/pipx/.cache/")


def list_lines(place: Place) -> Iterator[str]:
    """Yield one line per agent: where the hook is installed, or why there is none."""
    for agent in agents():
        found = [path for path in settings_paths(agent, place) if is_installed(agent, path)]
        where = f"installed in {', '.join(found)}" if found else "not installed"
        yield f"{agent.name}: {where}; {agent.effect}"
        for objection in agent.objections(place):
            yield f"{agent.name}: {objection}"
    for name, reason in UNSUPPORTED.items():
        yield f"{name}: unsupported: {reason}"


def install(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Install an agent's hook and return a message. `HookRefused` if that is not safe."""
    agent = agent_named(name)
    if objections := agent.objections(place):
        raise HookRefused(f"{agent.title}: {objections[0]}")
    path = settings_path(agent, place, project=project)
    wanted = wanted_installation(options, project=project)
    changed = agent.install(path, wanted)
    message = f"installed in {path}; {agent.effect}" if changed else f"already installed in {path}"
    return message + what_is_missing(wanted)


def what_is_missing(wanted: Installation) -> str:
    """Return what the hook still needs before it has an effect."""
    text = ""
    if not {"--token-limit", "--session"}.intersection(wanted.options):
        text += "; the limit comes from TOKCAP_TOKEN_LIMIT or config.toml: without one, nothing is capped"
    if REPEAT in wanted.options and "--session" not in wanted.options:
        text += "; --repeat has an effect only while TOKCAP_SESSION names a session"
    if wanted.program == "tokcap" and shutil.which("tokcap") is None:
        text += "; tokcap is not on PATH: the hook has no effect until it is"
    return text


def remove(name: str, place: Place, *, project: bool) -> str | None:
    """Remove an agent's hook and return a message, or None if it is not installed."""
    agent = agent_named(name)
    path = settings_path(agent, place, project=project)
    return f"removed from {path}" if agent.remove(path) else None


def printed(name: str, options: tuple[str, ...], *, project: bool) -> str:
    """Return what `install` would write to an empty settings file."""
    return agent_named(name).printed(wanted_installation(options, project=project))


def wanted_installation(options: tuple[str, ...], *, project: bool) -> Installation:
    # Other machines read a project's settings too, so these name no path.
    return Installation("tokcap" if project else lasting_program(sys.argv[0]), options)


def lasting_program(argument: str) -> str:
    """Return the full path of this program, or its name if the path is temporary."""
    program = own_program(argument)
    temporary = (*TEMPORARY, os.path.realpath(tempfile.gettempdir()) + "/", tempfile.gettempdir() + "/")
    return "tokcap" if any(part in program for part in temporary) else program


def agents() -> Iterator[Agent]:
    """Yield every supported agent."""
    for name in AGENTS:
        yield AGENTS[name]


def agent_named(name: str) -> Agent:
    if name in AGENTS:
        return AGENTS[name]
    if name in UNSUPPORTED:
        raise HookRefused(f"there is no hook for {name}: {UNSUPPORTED[name]}")
    near = nearest(name, (*AGENTS, *UNSUPPORTED))
    hint = f"did you mean {near}?" if near else "see tokcap hook list"
    raise HookRefused(f"unknown agent {name!r}; {hint}")


def settings_path(agent: Agent, place: Place, *, project: bool) -> str:
    return agent.project_settings(place) if project else agent.user_settings(place)


def settings_paths(agent: Agent, place: Place) -> list[str]:
    """Return the user's and the project's settings file, or one path if they are the same file."""
    both = [agent.user_settings(place), agent.project_settings(place)]
    return both if os.path.realpath(both[0]) != os.path.realpath(both[1]) else both[:1]


def is_installed(agent: Agent, path: str) -> bool:
    """Return whether the hook is in a file. A file that cannot be read counts as one without it."""
    try:
        return agent.installation(path) is not None
    except HookRefused:
        return False


def place_here(env: Environment) -> Place:
    """Return the user's home and the current directory."""
    try:
        return Place(env.home(), os.getcwd(), env.variables)
    except OSError:
        raise HookRefused("the current directory no longer exists; change to another one") from None
