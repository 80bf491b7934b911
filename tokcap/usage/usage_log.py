"""Append one line per call to the usage log, which `tokcap stats` reads. Lines have sizes, never content.

Every call loads this module, so it imports almost nothing. Errors are raised; callers decide to ignore them.
"""

from __future__ import annotations

import os
import time

from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Literal

DIRECTORY = "account"
SUFFIX = ".jsonl"
# The first call of a day removes files that are older.
KEEP_DAYS = 90
DAY_SECONDS = 24 * 60 * 60
# Room for about 300,000 calls. Later calls of that day are not logged.
LARGEST_DAY_BYTES = 64 << 20
# With every character escaped, a line with three names of this length is below 4 KiB, so one write is enough.
LONGEST_NAME = 80

FOLLOW_NO_LINKS = os.O_NOFOLLOW | os.O_CLOEXEC


class UsageLine(Record):
    """One call. None means unknown, because it was not counted."""

    kind: Literal["run", "show"]
    tokenizer: str
    status: int
    # The size of the output, and of what was written to the caller.
    output_bytes: int
    shown_bytes: int
    program: str | None = None
    handle: str | None = None
    session: str | None = None
    shown_tokens: int | None = None
    total_tokens: int | None = None
    # Without an exact total: its estimate. With `stderr_tokens`, the total is known once stdout is counted.
    estimated_tokens: int | None = None
    stderr_tokens: int | None = None

    def members(self) -> dict[str, int | str | None]:
        """Return the members of the line in the log, in order."""
        return {
            "kind": self.kind,
            "command": self.program,
            "status": self.status,
            "handle": self.handle,
            "shown": self.shown_tokens,
            "total": self.total_tokens,
            "estimate": self.estimated_tokens,
            "stderr": self.stderr_tokens,
            "bytes": self.output_bytes,
            "shown_bytes": self.shown_bytes,
            "session": self.session,
            "tokenizer": self.tokenizer,
        }


def append_line(line: UsageLine, data_dir: str, now: float) -> None:
    """Append a line to the file of today."""
    members = {"at": int(now), **line.members()}
    texts = [f'"{name}":{json_text(value)}' for name, value in members.items() if value is not None]
    # It starts with a newline, so that a line that a full disk cut off does not damage this one.
    append_bytes(data_dir, day_of(now) + SUFFIX, f"\n{{{','.join(texts)}}}\n".encode(), now)


def day_of(seconds: float) -> str:
    """Return the local day of a time, such as `2026-11-16`."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def json_text(value: int | str) -> str:
    """Return a number or a name as JSON. Long names are cut."""
    if isinstance(value, int):
        return str(value)
    name = value[:LONGEST_NAME]
    if name.isascii() and name.isprintable() and not ('"' in name or "\\" in name):
        return f'"{name}"'
    from tokcap.lean.plainjson import dumps

    return dumps(name.encode("utf-8", "replace").decode())


def append_bytes(data_dir: str, name: str, data: bytes, now: float) -> None:
    """Append to a private file in a private directory, with one write: parallel calls do not mix lines."""
    try:
        directory = open_own_directory(os.path.join(data_dir, DIRECTORY), data_dir)
    except FileNotFoundError:
        from tokcap.system import private_files as private

        private.make_directory(data_dir, restrict=False)
        private.make_directory(os.path.join(data_dir, DIRECTORY))
        directory = open_own_directory(os.path.join(data_dir, DIRECTORY), data_dir)
    try:
        # O_NONBLOCK: if the file is a pipe, do not wait for its reader.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | FOLLOW_NO_LINKS
        file = os.open(name, flags, 0o600, dir_fd=directory)
        try:
            found = os.fstat(file)
            if found.st_uid != os.geteuid() or found.st_mode >> 12 != 0o10:
                return
            if not found.st_size:
                # The umask may have removed the owner's permissions.
                os.fchmod(file, 0o600)
                remove_old_days(directory, now)
            if found.st_size < LARGEST_DAY_BYTES:
                os.write(file, data)
        finally:
            os.close(file)
    finally:
        os.close(directory)


def open_own_directory(path: str, parent: str) -> int:
    """Open a directory without following links; raise `PermissionError` if another user owns it."""
    upper = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NO_LINKS)
    try:
        directory = os.open(
            os.path.basename(path), os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NO_LINKS, dir_fd=upper
        )
    finally:
        os.close(upper)
    if os.fstat(directory).st_uid != os.geteuid():
        os.close(directory)
        raise PermissionError(path)
    return directory


def remove_old_days(directory: int, now: float) -> None:
    """Remove the files that are older than `KEEP_DAYS`."""
    oldest = day_of(now - KEEP_DAYS * DAY_SECONDS)
    for name in os.listdir(directory):
        if name.endswith(SUFFIX) and name < oldest:
            os.unlink(name, dir_fd=directory)
