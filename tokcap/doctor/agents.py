"""Coding agents: which are there, whether their hook is installed, and whether what it calls is there."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import HookRefused
from tokcap.hooks import manage, settings
from tokcap.hooks.agent import Place
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment
    from tokcap.hooks.agent import Agent


def check(env: Environment) -> Iterator[Finding]:
    """Each agent that a hook is offered for."""
    place = place_of(env)
    for agent in manage.AGENTS.values():
        yield from of_agent(agent, place)


def place_of(env: Environment) -> Place:
    """As `tokcap hook` has it, but a directory that is gone is no obstacle."""
    try:
        return manage.place_here(env)
    except HookRefused:
        return Place(env.home(), env.home(), env.variables)


def of_agent(agent: Agent, place: Place) -> Iterator[Finding]:
    """Its settings, the user's and the project's."""
    installed = False
    for path in manage.paths(agent, place):
        try:
            command = settings.installed_command(path, settings.read(path), agent)
        except HookRefused as error:
            yield note(agent.name, str(error), f'"${{EDITOR:-vi}}" {quoted(path)}')
            installed = True
            continue
        if command is not None:
            installed = True
            yield of_hook(agent, path, command, place)
    if installed:
        for problem in agent.objections(place):
            yield note(agent.name, f"the hook leaves commands alone: {problem}", "tokcap hook list")
    elif os.path.isdir(os.path.dirname(agent.user_settings(place))):
        yield ok(agent.name, f"is there, without a hook; to have one: tokcap hook install {agent.name}")
    else:
        yield ok(agent.name, "is not there")


def of_hook(agent: Agent, path: str, command: str, place: Place) -> Finding:
    """Whether the program that an installed hook calls can be called."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    program = words[0] if words else ""
    found = program and shutil.which(program, path=place.variables.get("PATH"))
    if found:
        return ok(agent.name, f"installed in {path}, calls {found}")
    # What was given at the installation stands between the agent's name and `|| true`.
    options = words[4 : words.index("||")] if "||" in words[4:] else words[4:]
    where = ["--project"] if path == agent.project_settings(place) else []
    again = " ".join(map(quoted, ["tokcap", "hook", "install", agent.name, *where, *options]))
    return wrong(agent.name, f"the hook in {path} calls {program or 'nothing'}, which cannot be found", again)
