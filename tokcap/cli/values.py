"""Decide the value of every option: from its flag, variable, config key or default, in this order."""

from __future__ import annotations

import os

from tokcap.cli.options import options_of
from tokcap.cli.words import decoded
from tokcap.core.request import DEFAULTS
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokcap.cli.kinds import Kind
    from tokcap.cli.options import Form, Option
    from tokcap.core.request import TokenizerMatch, Value
    from tokcap.environment import Environment
    from tokcap.tokens.models import Model


class Config(Record):
    """What the config file sets."""

    values: Mapping[str, Value]
    models: Mapping[str, Model]


NO_CONFIG = Config({}, {})


def decide(
    given: Sequence[tuple[Option, str]],
    form: Form,
    env: Environment,
    usual: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Merge the four sources of values; `UsageError` for the first bad value.

    `usual` has values that a program uses instead of the defaults.
    """
    from_flags = {option.key: read_value(option.kind, raw, option.flag) for option, raw in given}
    if from_flags.get("ledger"):
        from tokcap.cli.ledger import refuse_password

        refuse_password(str(from_flags["ledger"]))
    config = config_of(env)
    chosen: dict[str, Value] = {}
    if config.values or any(name.startswith("TOKCAP_") for name in env.variables):
        for option in options_of(form):
            if option.key in from_flags:
                continue
            if (raw := option.text_in(env.variables)) is not None:
                chosen[option.key] = read_value(option.kind, decoded(raw), option.variable)
            elif option.key in config.values:
                chosen[option.key] = config.values[option.key]
    return completed({**(usual or {}), **chosen, **from_flags}, form, config.models, env)


def completed(
    chosen: Mapping[str, Value], form: Form, models: Mapping[str, Model], env: Environment | None = None
) -> dict[str, Value]:
    """Return the chosen values, completed by what is known of the model and by the defaults."""
    if chosen.get("model"):
        from tokcap.tokens.models import find_model, is_here

        # A context window or tokenizer that was chosen explicitly overrides that of the model.
        model = find_model(str(chosen["model"]), models)
        if chosen.get("tokenizer") is None and not is_here(model, env):
            model = model.but(tokenizer=None)
        match = tokenizer_match(model, chosen.get("tokenizer"))
        chosen = {"tokenizer_match": match, **model.known(), **chosen}
    return {**defaults_of(form), **chosen}


def tokenizer_match(model: Model, chosen: Value) -> TokenizerMatch:
    """Return how the tokenizer relates to the model; `chosen` is None if the caller named none."""
    if chosen is None:
        return "own" if model.tokenizer else "substitute"
    return "own" if chosen == model.tokenizer else "chosen"


def defaults_of(form: Form) -> dict[str, Value]:
    """Return the default of every option that one form of a call takes."""
    return {option.key: DEFAULTS[option.key] for option in options_of(form)}


def read_value(kind: Kind, raw: str, origin: str) -> Value:
    """Return the value that a text stands for; `UsageError` names the flag or variable it came from."""
    try:
        return kind.read(raw)
    except ValueError as error:
        raise UsageError(f"{origin}: {error}") from None


def config_of(env: Environment) -> Config:
    """Return what the config file sets."""
    if not may_have_config(env):
        return NO_CONFIG
    from tokcap.cli.config.file import read_file

    found = read_file(env)
    return Config(found.values, found.models) if found else NO_CONFIG


def may_have_config(env: Environment) -> bool:
    """Return whether a config file has to be read. If not, the modules that read it are not loaded."""
    try:
        os.stat(env.config_file())
    except (FileNotFoundError, NotADirectoryError):
        # A file that is named explicitly must exist.
        return bool(env.variables.get("TOKCAP_CONFIG"))
    except OSError:
        pass  # reported when the file is read
    return True
