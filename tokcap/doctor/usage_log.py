"""Check the usage log that `tokcap stats` reads. Calls do not report it if they cannot write to it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from tokcap.cli.values import decide
from tokcap.core.units import count_of, size_of
from tokcap.doctor.files import READ_AND_WRITTEN, check_files, size_below
from tokcap.doctor.finding import Finding, note, ok, wrong
from tokcap.errors import UsageError
from tokcap.system.quoting import quoted
from tokcap.usage.usage_log import DIRECTORY, LARGEST_DAY_BYTES, SUFFIX, day_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.environment import Environment


def check(env: Environment) -> Iterator[Finding]:
    """Check whether the log is turned on, exists, and can be written to."""
    if not is_turned_on(env):
        yield ok("account", "turned off: calls are not logged (--account)")
    path = os.path.join(env.data_dir(), DIRECTORY)
    try:
        found = os.lstat(path)
    except OSError:
        yield ok("lines", "none yet; the first call creates the directory")
        return
    if not stat.S_ISDIR(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a directory"
        remedy = f"mv {quoted(path)} {quoted(path + '.moved')}"
        yield wrong("lines", f"{path} is {what}: the log is neither written nor read", remedy)
        return
    yield ok("lines", f"{count_of(len(days_in(path)), 'day')}, {size_of(size_below(path))}")
    findings = [*check_files(path, READ_AND_WRITTEN)]
    yield from findings
    if all(finding.status == "ok" for finding in findings):
        yield from check_today(path, env)


def is_turned_on(env: Environment) -> bool:
    try:
        return bool(decide((), "run", env)["account"])
    except UsageError:
        # The check of the configuration reports this error.
        return True


def days_in(path: str) -> list[str]:
    try:
        return [name for name in os.listdir(path) if name.endswith(SUFFIX)]
    except OSError:
        return []


def check_today(path: str, env: Environment) -> Iterator[Finding]:
    """Check whether the next call can be logged."""
    if not os.access(path, os.W_OK | os.X_OK):
        # The mode has been checked already, so the file system itself is read-only.
        yield wrong("today", f"{path} cannot be written to", f"findmnt --target {quoted(path)}")
        return
    file = os.path.join(path, day_of(env.now()) + SUFFIX)
    try:
        found = os.lstat(file)
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        yield wrong(
            "today", f"{file} is not a regular file, so calls are not logged", f"rm -r {quoted(file)}"
        )
    elif found.st_size >= LARGEST_DAY_BYTES:
        yield note("today", f"the log is full ({size_of(found.st_size)}): no more calls are logged today")
