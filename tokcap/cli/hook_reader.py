"""Choose the tokenizer of a hook: that of the model which reads what the agent sends."""

from __future__ import annotations

from tokcap.cli.arguments import config_of
from tokcap.core.request import DEFAULTS
from tokcap.errors import UsageError
from tokcap.hooks import AGENTS
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.tokens.models import find_model, is_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Value
    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Place
    from tokcap.tokens.models import Model

# What the user may have configured instead.
KEYS = ("tokenizer", "model")


class Reader(Record):
    """The model that reads what an agent sends, and its tokenizer."""

    model: str
    # None: it is not known.
    tokenizer: str | None
    # Whether the tokenizer can be used here; a published vocabulary has to be added first.
    is_here: bool
    # Whether the agent's settings name the model; else it is the one that this agent usually has.
    is_named: bool


def reader_of(agent: Agent, place: Place, models: Mapping[str, Model], env: Environment) -> Reader | None:
    """Return the model of an agent; None if it is not known. `models` is the user's own table."""
    named = agent.model(place)
    for model in filter(None, (named, agent.usual_model)):
        try:
            found = find_model(model, models)
        except UsageError:
            # Agents take more names than are known here.
            continue
        return Reader(model, found.tokenizer, is_here(found, env), model == named)
    return None


def with_reader(
    name: str, place: Place, options: Mapping[str, Value], env: Environment
) -> tuple[dict[str, Value], str]:
    """Return the options of a hook with a tokenizer instead of a model, and what the user should know.

    A tokenizer that is named or configured is left as it is. Without a model, that of the agent's settings
    decides, or the one that the agent usually has.
    """

    chosen = {key: value for key, value in options.items() if key != "model"}
    named = options.get("model")
    if chosen.get("tokenizer") is not None or (name not in AGENTS and not named):
        return chosen, ""
    config = config_of(env)
    reader: Reader | None
    if named:
        model = find_model(str(named), config.models)
        reader = Reader(str(named), model.tokenizer, is_here(model, env), True)
    elif any(env.variables.get(f"TOKCAP_{key.upper()}") or config.values.get(key) for key in KEYS):
        return chosen, ""
    else:
        reader = reader_of(AGENTS[name], place, config.models, env)
    default = f"; it counts with {DEFAULTS['tokenizer']}, because"
    if reader is None or not (reader.is_here or reader.is_named):
        return chosen, f"{default} its model is not known: --model names it"
    if reader.tokenizer is None:
        return chosen, f"{default} the tokenizer of {reader.model} is not known"
    if not reader.is_here:
        add = f"tokcap tokenizer add {reader.tokenizer} FILE"
        return chosen, f"; the vocabulary of {reader.model} was not added ({add}), so it counts as configured"
    chosen["tokenizer"] = reader.tokenizer
    who = f"the model {reader.model}" if reader.is_named else "its usual models: --model names another"
    return chosen, f"; it counts with {reader.tokenizer}, for {who}"
