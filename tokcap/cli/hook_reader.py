"""Choose the tokenizer of a hook: that of the model which reads what the agent sends."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Value
    from tokcap.environment import Environment
    from tokcap.hooks.base import Place


def with_reader(
    name: str, place: Place, options: Mapping[str, Value], env: Environment
) -> tuple[dict[str, Value], str]:
    """Return the options of a hook with a tokenizer instead of a model, and what the user should know.

    A tokenizer that is named or configured is left as it is. Without a model, that of the agent's settings
    decides, or the one that the agent usually has.
    """
    from tokcap.cli.values import config_of
    from tokcap.core.request import DEFAULTS
    from tokcap.hooks import AGENTS
    from tokcap.hooks.reader_tokenizer import Reader, reader_of
    from tokcap.tokens.models import find_model, is_here

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


# What the user may have configured instead.
KEYS = ("tokenizer", "model")
