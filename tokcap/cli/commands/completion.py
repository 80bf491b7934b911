"""`tokcap completion SHELL`: print the completion script for a shell."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.completions import SHELLS, script_for
from tokcap.cli.description import Argument, command
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcap.cli.completions import Shell
    from tokcap.environment import Environment


@command(
    "completion",
    arguments=(Argument("SHELL", "the shell to complete in", choices=SHELLS),),
    examples=(("tokcap completion fish > ~/.config/fish/completions/tokcap.fish", "install it for fish"),),
)
def completion(env: Environment, *, shell: Shell) -> int:
    """Print a completion script; source it, or save it where the shell looks for completions."""
    env.write_stdout(script(shell))
    return exits.OK


COMMANDS = (completion,)


def script(shell: Shell) -> bytes:
    """Return the script of this version."""
    return script_for(shell).encode()
