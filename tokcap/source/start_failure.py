"""Explain why a command could not be started. Loaded only when that happens."""

from __future__ import annotations

import errno
import os
import shutil

from tokcap.errors import CommandNotExecutable, CommandNotFound, TokcapError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.shortage import is_shortage

if TYPE_CHECKING:
    from tokcap.source.launch import Launch

NOT_FOUND_ERRORS = (errno.ENOENT, errno.ENOTDIR)


def needs_shell(launch: Launch, number: int) -> str:
    """Return the path of a script without `#!`, which shells run themselves; empty for other failures."""
    return path_of(launch) if number == errno.ENOEXEC else ""


def error_of(launch: Launch, number: int) -> TokcapError:
    """Return the error for a command that failed to start with this `errno`."""
    name = launch.argv[0]
    if not name:
        return CommandNotFound("the name of the command is empty: command not found")
    if is_shortage(number):
        return TokcapError(f"cannot start {name}: {os.strerror(number)}")
    path = path_of(launch)
    if number in NOT_FOUND_ERRORS and not (path and os.path.exists(path)):
        return CommandNotFound(f"{name}: command not found")
    if number in NOT_FOUND_ERRORS:
        return CommandNotExecutable(f"{name}: cannot be executed: its interpreter was not found")
    why = "it is a directory" if os.path.isdir(path) else os.strerror(number)
    return CommandNotExecutable(f"{name}: cannot be executed: {why}")


def path_of(launch: Launch) -> str:
    """Return the path of the command; empty if it is not found."""
    name = launch.path or launch.argv[0]
    return name if "/" in name else shutil.which(name, path=launch.variables.get("PATH")) or ""
