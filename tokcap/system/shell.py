"""The real shell that runs strings, as `TOKCAP_SHELL` names it. Its arguments are passed on unchanged."""

from __future__ import annotations

import os

from tokcap.errors import UsageError
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

DEFAULT_SHELL = "/bin/sh"
OWN_NAMES = ("tokcap", "tokcap-sh")
# What the scripts import that installers write for these names.
OWN_MODULES = (b"tokcap.cli.shell_entry", b"tokcap.__main__")
SCRIPT_BYTES = 4096
# How many ancestors of a process may have its very command line. A script can call itself in good order.
MAX_SAME_ANCESTORS = 8


def shell_of(variables: Mapping[str, str]) -> str:
    """Return the shell that `TOKCAP_SHELL` names. `SHELL` is not used: it may be tokcap itself."""
    named = variables.get("TOKCAP_SHELL")
    if not named:
        return DEFAULT_SHELL
    if leads_to_tokcap(named, variables.get("PATH")):
        raise UsageError(f"TOKCAP_SHELL: {named} would call itself without end; name a real shell")
    return named


def leads_to_tokcap(named: str, search_path: str | None) -> bool:
    """Return whether a shell is tokcap under any name, or a script that has called tokcap again and again."""
    import shutil

    path = os.path.realpath(shutil.which(named, path=search_path) or named)
    if {os.path.basename(named), os.path.basename(path)}.intersection(OWN_NAMES):
        return True
    try:
        with open(path, "rb") as file:
            start = file.read(SCRIPT_BYTES)
    except OSError:
        # The message about a shell that cannot be started comes later.
        return False
    if not start.startswith(b"#!"):
        return False
    return any(module in start for module in OWN_MODULES) or calls_itself()


def calls_itself() -> bool:
    """Return whether many ancestors of this process have the same command line as this process."""
    from tokcap.system.proc import parent_and_command_line

    process, own = parent_and_command_line(os.getpid())
    same = 0
    while process > 1 and own and same < MAX_SAME_ANCESTORS:
        process, line = parent_and_command_line(process)
        same += line == own
    return same >= MAX_SAME_ANCESTORS


def shell_argv(
    string_and_args: Sequence[str], flags: Sequence[str], variables: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the command that runs a string; `flags` include the `-c`."""
    return (shell_of(variables), *flags, *string_and_args)
