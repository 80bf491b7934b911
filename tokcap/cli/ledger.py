"""Which ledger a subcommand uses: from its flag, the variables or the config file, in this order."""

from __future__ import annotations

from tokcap.budget import FILE_VARIABLE, VARIABLE
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.environment import Environment


def with_ledger(env: Environment, given: str | None = None) -> Environment:
    """Return the environment with the ledger in its variables. `given` is the value of the flag."""
    if given:
        refuse_password(given)
        return env.but(variables={**env.variables, VARIABLE: given})
    if env.variables.get(VARIABLE) or env.variables.get(FILE_VARIABLE):
        return env
    from tokcap.cli.values import config_of

    config = config_of(env).values
    chosen = {
        variable: str(config[key])
        for variable, key in ((VARIABLE, "ledger"), (FILE_VARIABLE, "ledger_file"))
        if config.get(key)
    }
    return env.but(variables={**env.variables, **chosen}) if chosen else env


def refuse_password(url: str) -> None:
    """Refuse a URL with a password on the command line. The URL is not repeated in the message."""
    login, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if (at and ":" in login) or "password=" in url:
        raise UsageError(
            "--ledger: every user can see a password in the list of processes; use TOKCAP_LEDGER, a file"
            " (--ledger-file), or the engine's own way: PGPASSFILE, REDISCLI_AUTH"
        )
