"""Examine the data directory: where it is and why, whether it can be used, its permissions and its size."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.core.units import size_of
from tokcap.doctor.files import size_below
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.system.quoting import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment

USE_ANOTHER = "export TOKCAP_DATA_DIR=~/tokcap-data"
OTHERS_WRITE, OTHERS_READ = 0o022, 0o055


def check(env: Environment) -> Iterator[Finding]:
    """Check the home directory, and the place, permissions and size of the data directory."""
    yield check_home(env)
    path = env.data_dir()
    source = "XDG_DATA_HOME" if os.path.isabs(env.variables.get("XDG_DATA_HOME", "")) else "HOME"
    if env.variables.get("TOKCAP_DATA_DIR"):
        source = "TOKCAP_DATA_DIR"
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        yield check_creatable(path, source)
        return
    except OSError as error:
        yield wrong("place", f"{path} ({source}) cannot be examined: {error.strerror}", USE_ANOTHER)
        return
    if stat.S_ISLNK(found.st_mode):
        real = quoted(os.path.realpath(path))
        yield wrong(
            "place",
            f"{path} ({source}) is a symbolic link, which tokcap does not follow",
            f"export TOKCAP_DATA_DIR={real}",
        )
    elif not stat.S_ISDIR(found.st_mode):
        moved = f"mv {quoted(path)} {quoted(path + '.moved')}"
        yield wrong("place", f"{path} ({source}) is not a directory", moved)
    elif found.st_uid != os.geteuid():
        yield wrong("place", f"{path} ({source}) belongs to another user", USE_ANOTHER)
    else:
        yield ok("place", f"{path} ({source})")
        yield check_permissions(path, stat.S_IMODE(found.st_mode))
        yield ok("size", f"{size_of(size_below(path))} in total")


def check_home(env: Environment) -> Finding:
    """Check the directory that has all files of tokcap unless variables name others."""
    path = env.home()
    if not os.path.isdir(path):
        why = "is not a directory" if os.path.lexists(path) else "does not exist"
        return note("home", f"HOME: {path} {why}", 'export HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"')
    if not env.variables.get("HOME"):
        return note("home", f"HOME is not set; tokcap uses {path}", f"export HOME={quoted(path)}")
    return ok("home", path)


def check_creatable(path: str, source: str) -> Finding:
    """Check that the directory can be created when the first output is stored."""
    above = path
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        why = "a broken symlink" if os.path.islink(above) else "not a directory"
        return wrong("place", f"{path} ({source}) cannot be created: {above} is {why}", USE_ANOTHER)
    if not os.access(above, os.W_OK | os.X_OK):
        return wrong("place", f"{path} ({source}) cannot be created: {above} is not writable", USE_ANOTHER)
    return ok("place", f"{path} ({source}), created when something is first stored")


def check_permissions(path: str, mode: int) -> Finding:
    """Check what others may do there. Other programs may share the directory; tokcap's parts are private."""
    shown = f"{mode:04o}"
    if mode & OTHERS_WRITE:
        return wrong("permissions", f"{shown}: others can create files there", f"chmod go-w {quoted(path)}")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return wrong("permissions", f"{shown}: nothing can be stored", f"chmod u+rwx {quoted(path)}")
    if mode & OTHERS_READ:
        return note("permissions", f"{shown}: others can list its files", f"chmod go= {quoted(path)}")
    return ok("permissions", shown)
