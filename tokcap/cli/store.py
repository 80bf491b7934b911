"""Which store a subcommand uses: from its flag, the variable or the config file, in this order."""

from __future__ import annotations

from tokcap.lean.record import TYPE_CHECKING
from tokcap.store import VARIABLE

if TYPE_CHECKING:
    from tokcap.environment import Environment


def with_store(env: Environment, given: str | None = None) -> Environment:
    """Return the environment with the store in its variables. `given` is the value of the flag."""
    if not given and not env.variables.get(VARIABLE):
        from tokcap.cli.values import config_of

        given = str(config_of(env).values.get("store") or "")
    return env.but(variables={**env.variables, VARIABLE: given}) if given else env
