"""The Typer application: one module per subcommand. The wrapper form never comes here."""

from __future__ import annotations

from tokcap.errors import TokcapError, UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shortage import shortage_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.environment import Environment


def run_subcommand(name: str, arguments: Sequence[str], env: Environment) -> int:
    """Hand a subcommand to the application and return its exit status."""
    if name == "hook" and arguments[:1] == ("run",):
        # An agent waits for it before each of its commands: Typer would take longer than all the rest.
        from tokcap.hooks.handler import run as answer_agent

        return answer_agent(arguments[1:], env, lambda options: would_refuse(options, env))
    if name == "completion" and arguments[:1] == ("--list",):
        # Somebody has pressed TAB.
        from tokcap.cli.listing import run as list_names

        return list_names(arguments[1:], env)
    import signal

    # Compiled modules are loaded there. An interrupt in the midst of that can crash them: orjson dies of it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        from tokcap.cli.application import run
    except ImportError as error:
        if shortage_of(error):
            raise
        raise TokcapError(
            f"{error.name or error} cannot be loaded; install tokcap again: python3 -m pip install tokcap"
        ) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return run(name, arguments, env)


def would_refuse(options: Sequence[str], env: Environment) -> bool:
    """Whether a command with these options, and all that is configured, would not be run."""
    from tokcap.cli.arguments import parse

    try:
        parse([*options, "--", "true"], env)
    except UsageError:
        return True
    return False
