"""Check coding agents: which are present, whether the hook is installed, and whether it can be called."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import HookRefused
from tokcap.hooks import manage
from tokcap.hooks.base import Place
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Installation


def check(env: Environment) -> Iterator[Finding]:
    """Check every supported agent."""
    place = place_of(env)
    for agent in manage.agents():
        yield from check_agent(agent, place)


def place_of(env: Environment) -> Place:
    """Return the place that `tokcap hook` uses, even if the current directory no longer exists."""
    try:
        return manage.place_here(env)
    except HookRefused:
        return Place(env.home(), env.home(), env.variables)


def check_agent(agent: Agent, place: Place) -> Iterator[Finding]:
    """Check the user's and the project's settings of an agent."""
    installed = False
    for path in manage.settings_paths(agent, place):
        try:
            installation = agent.installation(path)
        except HookRefused as error:
            yield note(agent.name, str(error), f'"${{EDITOR:-vi}}" {quoted(path)}')
            installed = True
            continue
        if installation is not None:
            installed = True
            yield check_installation(agent, path, installation, place)
    if installed:
        for objection in agent.objections(place):
            yield note(agent.name, f"the hook does not cap commands: {objection}", "tokcap hook list")
    elif agent.is_present(place):
        yield ok(agent.name, f"found, no hook installed; to install it: tokcap hook install {agent.name}")
    else:
        yield ok(agent.name, "not found")


def check_installation(agent: Agent, path: str, installation: Installation, place: Place) -> Finding:
    """Check whether the program that an installed hook calls exists."""
    program = installation.program
    found = program and shutil.which(program, path=place.variables.get("PATH"))
    if found:
        return ok(agent.name, f"installed in {path}, calls {found}")
    where = ["--project"] if path == agent.project_settings(place) else []
    words = ["tokcap", "hook", "install", agent.name, *where, *installation.options]
    message = f"the hook in {path} calls {program or 'nothing'}, which does not exist"
    return wrong(agent.name, message, " ".join(map(quoted, words)))
