"""The real shells that tokcap runs. Their arguments are passed on unchanged, and none of them is tokcap."""

from __future__ import annotations

import os
import sys

from tokcap.errors import CommandNotFound, UsageError
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping, Sequence

DEFAULT_SHELL = "/bin/sh"
OWN_NAMES = ("tokcap", "tokcap-sh", "tokcap-bash", "tokcap-zsh")
# What the scripts of these names import, in `bin/`.
OWN_MODULES = (b"tokcap.cli.shell_entry", b"tokcap.__main__")
SCRIPT_BYTES = 4096
SCRIPT_START = b"#!"
# How many ancestors of a process may have its very command line. A script can call itself in good order.
MAX_SAME_ANCESTORS = 8
# The id of a process, and how often it has become a shell. Children inherit it.
BECAME = "TOKCAP_BECAME"
# Where a shell is searched for after PATH.
SHELL_DIRECTORIES = ("/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")


class Shell(Record):
    """A real shell: the file to execute, and the name that it is called by, its `$0`."""

    path: str
    name: str


def shell_of(variables: Mapping[str, str]) -> str:
    """Return the shell that `TOKCAP_SHELL` names. `SHELL` is not used: it may be tokcap itself."""
    named = variables.get("TOKCAP_SHELL")
    if not named:
        return DEFAULT_SHELL
    path = named if "/" in named else next(found_on(variables.get("PATH"), named), named)
    if is_own(named) or leads_to_tokcap(path):
        raise UsageError(f"TOKCAP_SHELL: {named} would call itself without end; name a real shell")
    return named


def find_shell(name: str, variables: Mapping[str, str]) -> Shell:
    """Return the real `bash` or `zsh`: `TOKCAP_SHELL` if it names one, else the first that is not tokcap."""
    search_path = variables.get("PATH")
    named = variables.get("TOKCAP_SHELL", "")
    if os.path.basename(named) == name:
        shell = shell_of(variables)
        return Shell(next(found_on(search_path, shell), shell) if "/" not in shell else shell, shell)
    found = [*found_on(search_path, name), *found_in(SHELL_DIRECTORIES, name)]
    # Any script may call tokcap, so one is taken only if there is no program.
    for path in sorted(found, key=is_script):
        if not leads_to_tokcap(path):
            # As in a call by name. The shell searches for itself in the same way.
            return Shell(path, name if path == found[0] else path)
    raise CommandNotFound(f"{name}: command not found; set TOKCAP_SHELL to its path")


def found_on(search_path: str | None, name: str) -> Iterator[str]:
    """Yield the programs of this name on a search path, in order. `shutil.which` would load many modules."""
    return found_in((search_path or os.defpath).split(os.pathsep), name)


def found_in(directories: Sequence[str], name: str) -> Iterator[str]:
    for directory in directories:
        path = os.path.join(directory, name)
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            yield path


def own_program(name: str, variables: Mapping[str, str]) -> str:
    """Return the path of a program of tokcap, `tokcap-bash` for example; empty if it is not found."""
    # Installers put all programs into one directory.
    beside = (os.path.dirname(os.path.abspath(sys.argv[0])), os.path.dirname(sys.executable))
    path = next(found_in(beside, name), "") or next(found_on(variables.get("PATH"), name), "")
    return path and os.path.abspath(path)


def is_own(path: str) -> bool:
    return os.path.basename(path) in OWN_NAMES


def leads_to_tokcap(path: str) -> bool:
    """Return whether a shell is tokcap under any name, or a script that has called tokcap again and again."""
    if is_own(os.path.realpath(path)):
        return True
    start = start_of(path)
    if not start.startswith(SCRIPT_START):
        return False
    return any(module in start for module in OWN_MODULES) or calls_itself()


def is_script(path: str) -> bool:
    return start_of(path).startswith(SCRIPT_START)


def start_of(path: str) -> bytes:
    """Return the first bytes of a program; none if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read(SCRIPT_BYTES)
    except OSError:
        # The message about a shell that cannot be started comes later.
        return b""


def calls_itself() -> bool:
    """Return whether many ancestors of this process have the same command line as this process."""
    from tokcap.system.proc import parent_and_command_line

    process, own = parent_and_command_line(os.getpid())
    same = 0
    while process > 1 and own and same < MAX_SAME_ANCESTORS:
        process, line = parent_and_command_line(process)
        same += line == own
    return same >= MAX_SAME_ANCESTORS


def note_becoming(variables: MutableMapping[str, str]) -> None:
    """Note that this process becomes a shell; `UsageError` if that has become tokcap again and again."""
    pid, _, times = variables.get(BECAME, "").partition(":")
    number = int(times) if pid == str(os.getpid()) and times.isdecimal() else 0
    if number >= MAX_SAME_ANCESTORS:
        raise UsageError("the shell would call itself without end; set TOKCAP_SHELL to a real shell")
    variables[BECAME] = f"{os.getpid()}:{number + 1}"


def shell_argv(
    string_and_args: Sequence[str], flags: Sequence[str], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command that runs a string; `flags` include the `-c`."""
    return (shell_of(variables), *flags, *string_and_args)
