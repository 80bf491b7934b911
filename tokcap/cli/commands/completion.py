"""`tokcap completion …`: print the completion script of a shell, or install it where the shell looks."""

from __future__ import annotations

from tokcap import exits
from tokcap.cli.completions import SHELLS, script_for
from tokcap.cli.description import Argument, Group, command
from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokcap.cli.completions import Shell
    from tokcap.cli.completions.installing import Outcome
    from tokcap.cli.description import Command
    from tokcap.environment import Environment

GROUP = Group("completion", "Complete the words of tokcap in bash, zsh and fish.")

MAN = "man"
WHAT = Argument(
    "WHAT",
    "the shell, or man for the man pages",
    required=False,
    choices=(*SHELLS, MAN),
)


def printing(shell: Shell) -> Command:
    """Return the command that prints the script of one shell."""

    @command("completion", shell, examples=((f"tokcap completion {shell}", f"the script for {shell}"),))
    def print_script(env: Environment) -> int:
        env.write_stdout(script(shell))
        return exits.OK

    return print_script.but(summary=f"Print the completion script for {shell}.")


@command(
    "completion",
    "install",
    arguments=(WHAT,),
    examples=(
        ("tokcap completion install", "for your shell, and the man pages if man does not find them"),
        ("tokcap completion install zsh", "for zsh"),
    ),
    danger="writes",
    no="a file of that name is not tokcap's or was edited, or the program does not find what was installed",
)
def install(env: Environment, *, what: str | None) -> int:
    """Make a shell complete tokcap: save the script where it looks, and ask the shell whether it finds it.

    Without WHAT: for the shell that SHELL names, and the man pages if man does not find them. If a shell has
    no such place, a marked block in its start-up file loads the script. Asks nothing, can be repeated, and
    changes nothing if the shell completes tokcap already.
    """
    from tokcap.cli.completions import installing
    from tokcap.cli.completions.asking import ASKING
    from tokcap.cli.completions.targets import TARGETS

    if env.variables.get(ASKING):
        # A start-up file called it, in a shell that tokcap has started to ask.
        return exits.OK
    names = [what or users_shell(env)]
    if not what and is_program(MAN, env):
        names.append(MAN)
    for name in names:
        if not is_program(name, env):
            env.tell(f"completion: {name} was not found on PATH")
            return exits.NO
    return report([installing.install(TARGETS[name], env) for name in names], env)


@command(
    "completion",
    "uninstall",
    arguments=(WHAT,),
    examples=(("tokcap completion uninstall", "remove all that tokcap completion install wrote"),),
    danger="writes",
    no="nothing is installed, or a file or block was edited and is kept",
)
def uninstall(env: Environment, *, what: str | None) -> int:
    """Remove what tokcap completion install wrote, and nothing else; without WHAT, all of it."""
    from tokcap.cli.completions import installing
    from tokcap.cli.completions.targets import TARGETS

    outcome = installing.uninstall([TARGETS[what]] if what else [*TARGETS.values()], env)
    if not outcome.messages:
        outcome = outcome.but(messages=("nothing is installed by tokcap completion install",))
    return report([outcome], env)


COMMANDS = (*(printing(shell) for shell in SHELLS), install, uninstall)


def script(shell: Shell) -> bytes:
    """Return the script of this version."""
    return script_for(shell).encode()


def users_shell(env: Environment) -> str:
    """Return the shell that SHELL names, or that of the user's login."""
    named = env.variables.get("SHELL") or login_shell()
    name = named.rpartition("/")[2]
    if name not in SHELLS:
        shown = f"{named} is not one of {', '.join(SHELLS)}" if named else "SHELL is not set"
        raise UsageError(f"{shown}; name the shell: tokcap completion install {'|'.join(SHELLS)}")
    return name


def login_shell() -> str:
    import os
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_shell
    except KeyError:
        return ""


def is_program(name: str, env: Environment) -> bool:
    import shutil

    return shutil.which(name, path=env.variables.get("PATH")) is not None


def report(outcomes: Sequence[Outcome], env: Environment) -> int:
    """Write what was done, and return the exit status."""
    for outcome in outcomes:
        for message in outcome.messages:
            env.tell(f"completion: {message}")
    return exits.OK if all(outcome.succeeded for outcome in outcomes) else exits.NO
