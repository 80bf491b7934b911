"""`tokcap completion …`: print the script that completes tokcap in a shell, or install it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from tokcap import exits
from tokcap.cli.application import application
from tokcap.environment import Environment
from tokcap.errors import UsageError
from tokcap.system.private_files import change_file, contents_of
from tokcap.system.quoting import quoted

SCRIPTS = Path(__file__).parents[1] / "scripts"
# A script begins with `#compdef tokcap` or `# bash completion`.
SIGNATURE_BYTES = 14

app = application("Complete the words of tokcap in bash, zsh and fish.")


class Shell(NamedTuple):
    """Where a shell looks for the completion of a command."""

    script: str
    # Below a directory that this variable names, else below this directory of the home.
    variable: str
    directory: str
    place: str
    # What to do if the shell does not look there.
    remark: str


SHELLS = {
    "bash": Shell(
        "tokcap.bash",
        "XDG_DATA_HOME",
        ".local/share",
        "bash-completion/completions/tokcap",
        "without the package bash-completion, add this line to ~/.bashrc: . {path}",
    ),
    "zsh": Shell(
        "_tokcap",
        "XDG_DATA_HOME",
        ".local/share",
        "zsh/site-functions/_tokcap",
        "add this line to ~/.zshrc, before compinit: fpath=({directory} $fpath)",
    ),
    "fish": Shell(
        "tokcap.fish",
        "XDG_CONFIG_HOME",
        ".config",
        "fish/completions/tokcap.fish",
        "",
    ),
}

Name = Annotated[
    str | None, typer.Argument(metavar="|".join(SHELLS), help="the shell; default: the one that SHELL names")
]


def printing(name: str) -> Callable[[typer.Context], int]:
    """Return the command that prints the script of one shell."""

    def print_script(context: typer.Context) -> int:
        env: Environment = context.obj
        env.write_stdout(script_of(SHELLS[name]))
        return exits.OK

    return print_script


for each in SHELLS:
    app.command(each, help=f"Print the completion script for {each}.")(printing(each))


@app.command(epilog="Exit status 1: a file of that name is not tokcap's.")
def install(context: typer.Context, shell: Name = None) -> int:
    """Save the script where the shell looks for it, and print what else the shell may need."""
    env: Environment = context.obj
    name = named(shell, env)
    chosen, path = SHELLS[name], path_of(SHELLS[name], env)
    before = contents_of(path)
    if not is_ours(before, chosen):
        env.tell(f"completion: {path} is not tokcap's; move it away")
        return exits.NO
    # zsh refuses files that others can write to.
    change_file(path, before, script_of(chosen), 0o644)
    remark = chosen.remark.format(path=quoted(path), directory=quoted(os.path.dirname(path)))
    env.tell(f"completion: {name}: wrote {path}{remark and f'; {remark}'}")
    return exits.OK


@app.command(epilog="Exit status 1: nothing is installed, or a file of that name is not tokcap's.")
def uninstall(context: typer.Context, shell: Name = None) -> int:
    """Remove the script that install has saved."""
    env: Environment = context.obj
    name = named(shell, env)
    path = path_of(SHELLS[name], env)
    before = contents_of(path)
    if before is None or not is_ours(before, SHELLS[name]):
        env.tell(f"completion: {name}: {path} is not there, or not tokcap's")
        return exits.NO
    change_file(path, before, None)
    env.tell(f"completion: {name}: removed {path}")
    return exits.OK


def named(shell: str | None, env: Environment) -> str:
    """Return the name of the shell that is meant."""
    name = shell or os.path.basename(env.variables.get("SHELL", ""))
    if name not in SHELLS:
        raise UsageError(f"{name!r} is not one of {', '.join(SHELLS)}; name the shell")
    return name


def path_of(shell: Shell, env: Environment) -> str:
    """Return the place of the script of one shell."""
    root = env.variables.get(shell.variable) or os.path.join(env.home(), shell.directory)
    return os.path.join(root, shell.place)


def script_of(shell: Shell) -> bytes:
    return (SCRIPTS / shell.script).read_bytes()


def is_ours(data: bytes | None, shell: Shell) -> bool:
    """Return whether a file is not there, or begins as the script of every version of tokcap does."""
    return data is None or data.startswith(script_of(shell)[:SIGNATURE_BYTES])
