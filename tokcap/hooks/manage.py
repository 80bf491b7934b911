"""What `tokcap hook list`, `install`, `remove`, `print` and `test` do, for any agent of the table."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from re import fullmatch

from tokcap.core.spelling import nearest
from tokcap.errors import HookRefused
from tokcap.hooks import AGENTS
from tokcap.hooks.base import OF_AGENT, RESULTS, Installation, Place
from tokcap.hooks.handler import own_program
from tokcap.hooks.unsupported import RULES, UNSUPPORTED
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Capping

# Parts of paths whose programs do not last: caches of `uvx` and `pipx run`, build environments.
TEMPORARY = ("/.cache/", "/uv/archive", "/uv/cache", "/pipx/.cache/")


def list_lines(place: Place) -> Iterator[str]:
    """Yield one line per agent: whether and where the hook is installed, the way, the version tried."""
    for agent in agents():
        found = [path for path in settings_paths(agent, place) if is_installed(agent, path)]
        here = "available" if agent.is_present(place) else "not found here"
        where = f"installed in {', '.join(found)}" if found else here
        tried = f"tried with version {agent.tried}" if agent.tried else "not tried with the real agent"
        tools = f"; --tools: {', '.join(agent.tools)}" if agent.tools else ""
        yield f"{agent.name}: {where}; {agent.effect}; way: {agent.way}; {tried}{tools}"
        for objection in agent.objections(place):
            yield f"{agent.name}: {objection}"
    for name, reason in UNSUPPORTED.items():
        yield f"{name}: unsupported: {reason}"


def install(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Install an agent's hook and return a message. `HookRefused` if that is not possible."""
    agent = agent_named(name)
    path = settings_path(agent, place, project=project)
    wanted = wanted_installation(options)
    refuse_options(agent, wanted)
    changed = agent.install(path, wanted)
    message = f"installed in {path}; {agent.effect}" if changed else f"already installed in {path}"
    message += "; running sessions do not change" if changed else ""
    return message + what_is_missing(agent, path, place, wanted)


def refuse_options(agent: Agent, wanted: Installation) -> None:
    """Refuse tools whose results the agent does not let anybody replace, and a session without a name."""
    if wanted.option("--session") == OF_AGENT and not agent.session_variable:
        raise HookRefused(
            f"--session {OF_AGENT}: {agent.title} does not tell commands the name of its session"
        )
    for tool in filter(None, wanted.option("--tools").split(",")):
        if not any(tool == known or fullmatch(known, tool) for known in agent.tools):
            known = ", ".join(agent.tools)
            reason = f"not one of {known}" if known else "the results of its tools cannot be replaced"
            raise HookRefused(f"--tools {tool}: {agent.title}: {reason}")


def what_is_missing(agent: Agent, path: str, place: Place, wanted: Installation) -> str:
    """Return what the hook still needs before it has an effect."""
    text = f"; {needed}" if (needed := how_to_start(agent, path)) else ""
    for objection in agent.objections(place):
        text += f"; no effect here: {objection}"
    if "--repeat" in wanted.options and "--session" not in wanted.options:
        text += "; --repeat has an effect only while TOKCAP_SESSION names a session"
    if wanted.program == "tokcap" and shutil.which("tokcap") is None:
        text += "; tokcap is not on PATH: the hook has no effect until it is"
    return text


def how_to_start(agent: Agent, path: str) -> str:
    """Return how an agent must be started; empty if as usual."""
    _, variables = agent.shell_words(path, "")
    return agent.then.format(quoted(variables.get("BASH_ENV", "")))


def remove(name: str, place: Place, *, project: bool) -> str | None:
    """Remove an agent's hook and return a message, or None if it is not installed."""
    agent = agent_named(name)
    path = settings_path(agent, place, project=project)
    return f"removed from {path}" if agent.remove(path) else None


def printed(name: str, place: Place, options: tuple[str, ...], *, project: bool) -> str:
    """Return what `install` would write; for an agent without a way in, a paragraph for its rules file."""
    wanted = wanted_installation(options)
    if name in UNSUPPORTED:
        return RULES.format(limit=wanted.option("--token-limit") or "4000")
    agent = agent_named(name)
    refuse_options(agent, wanted)
    return agent.printed(settings_path(agent, place, project=project), wanted)


def installed_agents(place: Place) -> Iterator[tuple[Agent, str, Installation]]:
    """Yield every installed hook: the agent, its settings file, and what is installed."""
    for agent in agents():
        for path in settings_paths(agent, place):
            found = agent.installation(path)
            if found is not None:
                yield agent, path, found


def planned_lines(
    place: Place, command: str, capping_for: Callable[[Installation], Capping], only: str | None = None
) -> Iterator[str]:
    """Yield what each installed agent, or only one, would do with a command. Nothing runs."""
    for agent, path, found in installed_agents(place):
        if only not in (None, agent.name):
            continue
        words, variables = agent.shell_words(path, command)
        capping = capping_for(found)
        limit = f"{capping.limit_tokens} tokens ({capping.tokenizer})"
        capped = f"output over {limit} is stored and cut (--keep {capping.keep})"
        if words and agent.way != RESULTS:
            shown = [*(f"{name}={quoted(value)}" for name, value in variables.items()), *map(quoted, words)]
            yield f"{agent.name}: runs {' '.join(shown)}; {capped}"
        else:
            yield f"{agent.name}: runs the command unchanged; {capped}"


def wanted_installation(options: tuple[str, ...]) -> Installation:
    return Installation(lasting_program(sys.argv[0]), options)


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
    path = agent.project_settings(place) if project else agent.user_settings(place)
    if not path:
        raise HookRefused(f"{agent.title} has no settings for one user in one project; leave out --project")
    return path


def settings_paths(agent: Agent, place: Place) -> list[str]:
    """Return the user's and the project's settings file, or one path if they are the same file."""
    both = [agent.user_settings(place), agent.project_settings(place)]
    differ = both[1] and os.path.realpath(both[0]) != os.path.realpath(both[1])
    return both if differ else both[:1]


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
