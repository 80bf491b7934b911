"""The data directory: where it is and why, whether it can be used, who else can, and what it holds."""

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

ELSEWHERE = "export TOKCAP_DATA_DIR=~/tokcap-data"
OTHERS_WRITE, OTHERS_READ = 0o022, 0o055


def check(env: Environment) -> Iterator[Finding]:
    """Its place, its permissions, its size."""
    yield home(env)
    path = env.data_dir()
    source = next(
        (name for name in ("TOKCAP_DATA_DIR", "XDG_DATA_HOME") if env.variables.get(name, "").strip()), "HOME"
    )
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        yield not_made_yet(path, source)
        return
    except OSError as error:
        yield wrong("place", f"{path} ({source}) cannot be looked at: {error.strerror}", ELSEWHERE)
        return
    if stat.S_ISLNK(found.st_mode):
        real = quoted(os.path.realpath(path))
        yield wrong(
            "place",
            f"{path} ({source}) is a symbolic link, and none is followed there",
            f"export TOKCAP_DATA_DIR={real}",
        )
    elif not stat.S_ISDIR(found.st_mode):
        moved = f"mv {quoted(path)} {quoted(path + '.moved')}"
        yield wrong("place", f"{path} ({source}) is no directory", moved)
    elif found.st_uid != os.geteuid():
        yield wrong("place", f"{path} ({source}) belongs to another user", ELSEWHERE)
    else:
        yield ok("place", f"{path} ({source})")
        yield permissions(path, stat.S_IMODE(found.st_mode))
        yield ok("size", f"{size_of(size_below(path))} in all")


def home(env: Environment) -> Finding:
    """What everything is below, unless variables say otherwise."""
    path = env.home()
    if not os.path.isdir(path):
        why = "is no directory" if os.path.lexists(path) else "is not there"
        return note("home", f"HOME: {path} {why}", 'export HOME="$(getent passwd "$(id -u)" | cut -d: -f6)"')
    if not env.variables.get("HOME"):
        return note("home", f"HOME is not set; taken for it: {path}", f"export HOME={quoted(path)}")
    return ok("home", path)


def not_made_yet(path: str, source: str) -> Finding:
    """Whether it could be made when the first output is stored."""
    above = path
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        why = "a link that leads nowhere" if os.path.islink(above) else "no directory"
        return wrong("place", f"{path} ({source}) cannot be made: {above} is {why}", ELSEWHERE)
    if not os.access(above, os.W_OK | os.X_OK):
        return wrong("place", f"{path} ({source}) cannot be made: {above} cannot be written to", ELSEWHERE)
    return ok("place", f"{path} ({source}), made when something is first stored")


def permissions(path: str, mode: int) -> Finding:
    """What others may do there. The directory may serve other things too; what is ours in it is closed."""
    shown = f"{mode:04o}"
    if mode & OTHERS_WRITE:
        return wrong("permissions", f"{shown}: others can put things there", f"chmod go-w {quoted(path)}")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return wrong("permissions", f"{shown}: nothing can be stored", f"chmod u+rwx {quoted(path)}")
    if mode & OTHERS_READ:
        return note("permissions", f"{shown}: others can see its names", f"chmod go= {quoted(path)}")
    return ok("permissions", shown)
