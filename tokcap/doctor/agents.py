"""Check coding agents: which are present, whether the hook is installed, and whether it can be called."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from tokcap.cli.arguments import config_of
from tokcap.cli.hook_reader import reader_of
from tokcap.core.request import DEFAULTS
from tokcap.doctor.examination import Finding, fact, note, wrong
from tokcap.errors import HookRefused, TokcapError
from tokcap.hooks import manage
from tokcap.hooks.base import Place
from tokcap.system.quoting import quoted
from tokcap.tokens.models import find_model, is_here

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.cli.arguments import Config
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Installation


def check(env: Environment) -> Iterator[Finding]:
    """Check every supported agent."""
    place = place_of(env)
    for agent in manage.agents():
        yield from check_agent(agent, place, env)


def place_of(env: Environment) -> Place:
    """Return the place that `tokcap hook` uses, even if the current directory no longer exists."""
    try:
        return manage.place_here(env)
    except HookRefused:
        return Place(env.home(), env.home(), env.variables)


def check_agent(agent: Agent, place: Place, env: Environment) -> Iterator[Finding]:
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
            yield from check_program(agent, path, installation, place)
            yield from check_tokenizer(agent, path, installation, place, env)
    if installed:
        for objection in agent.objections(place):
            yield note(agent.name, f"the hook does not cap commands: {objection}", "tokcap hook list")
    elif agent.is_present(place):
        yield fact(agent.name, f"found without a hook; to install it: tokcap hook install {agent.name}")


def check_program(agent: Agent, path: str, installation: Installation, place: Place) -> Iterator[Finding]:
    """Check whether the program that an installed hook calls exists."""
    program = installation.program
    if program and shutil.which(program, path=place.variables.get("PATH")):
        yield fact(agent.name, f"hook installed in {path}")
        return
    message = f"the hook in {path} calls {program or 'nothing'}, which does not exist"
    yield wrong(agent.name, message, install_command(agent, path, place, installation.options))


def install_command(agent: Agent, path: str, place: Place, options: Sequence[str]) -> str:
    """Return the command that installs a hook again, with these options."""
    where = ["--project"] if path == agent.project_settings(place) else []
    return " ".join(map(quoted, ["tokcap", "hook", "install", agent.name, *where, *options]))


def check_tokenizer(
    agent: Agent, path: str, installation: Installation, place: Place, env: Environment
) -> Iterator[Finding]:
    """Compare the tokenizer of a hook with that of the model that the agent uses."""
    try:
        config = config_of(env)
        counts_with = installation.option("--tokenizer") or configured_tokenizer(config, env)
        reader = reader_of(agent, place, config.models, env)
    except TokcapError:
        # Reported where the settings are checked.
        return
    if reader is None or reader.tokenizer in (None, counts_with):
        return
    message = f"counts with {counts_with}, but its model {reader.model} has the tokenizer {reader.tokenizer}"
    if not reader.is_here:
        if reader.is_named:
            add = f"tokcap tokenizer add {reader.tokenizer} FILE"
            yield note(agent.name, f"{message}, whose vocabulary was not added", add)
        return
    pairs = zip(installation.options[::2], installation.options[1::2], strict=True)
    others = [word for flag, value in pairs if flag != "--tokenizer" for word in (flag, value)]
    options = [*others, "--tokenizer", str(reader.tokenizer)]
    yield note(agent.name, message, install_command(agent, path, place, options))


def configured_tokenizer(config: Config, env: Environment) -> str:
    """Return the tokenizer that variables, the config file or the default choose."""
    named = env.variables.get("TOKCAP_TOKENIZER") or config.values.get("tokenizer")
    model = env.variables.get("TOKCAP_MODEL") or config.values.get("model")
    if not named and model:
        found = find_model(str(model), config.models)
        named = found.tokenizer if is_here(found, env) else None
    return str(named or DEFAULTS["tokenizer"])
