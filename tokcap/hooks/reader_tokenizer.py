"""Which tokenizer counts for the model of an agent."""

from __future__ import annotations

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.tokens.models import find_model, is_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.environment import Environment
    from tokcap.hooks.base import Agent, Place
    from tokcap.tokens.models import Model


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
