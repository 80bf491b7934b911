"""The account that `tokcap stats` reads. Calls say nothing where they cannot write it, so it is told here."""

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
    """Whether lines are wanted, can be written, and are there."""
    if not is_wanted(env):
        yield ok("account", "is turned off: calls write no line (--account)")
    path = os.path.join(env.data_dir(), DIRECTORY)
    try:
        found = os.lstat(path)
    except OSError:
        yield ok("lines", "there are none; the first call makes the directory")
        return
    if not stat.S_ISDIR(found.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "no directory"
        away = f"mv {quoted(path)} {quoted(path + '.moved')}"
        yield wrong("lines", f"{path} is {what}: no line is written, and none is read", away)
        return
    days = days_in(path)
    yield ok("lines", f"{count_of(len(days), 'day')}, {size_of(size_below(path))}")
    findings = [*check_files(path, READ_AND_WRITTEN)]
    yield from findings
    if all(finding.status == "ok" for finding in findings):
        yield from today(path, env)


def is_wanted(env: Environment) -> bool:
    try:
        return bool(decide((), "run", env)["account"])
    except UsageError:
        # Told of the configuration; no call gets as far as writing a line.
        return True


def days_in(path: str) -> list[str]:
    try:
        return [name for name in os.listdir(path) if name.endswith(SUFFIX)]
    except OSError:
        return []


def today(path: str, env: Environment) -> Iterator[Finding]:
    """Whether the next call can write its line."""
    if not os.access(path, os.W_OK | os.X_OK):
        # Its mode is as it should be: the file system itself is read-only.
        yield wrong("today", f"{path} cannot be written to", f"findmnt --target {quoted(path)}")
        return
    file = os.path.join(path, day_of(env.now()) + SUFFIX)
    try:
        found = os.lstat(file)
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        yield wrong("today", f"{file} is no file, so no line is written", f"rm -r {quoted(file)}")
    elif found.st_size >= LARGEST_DAY_BYTES:
        yield note("today", f"{size_of(found.st_size)} are full: later calls of this day are not written")
