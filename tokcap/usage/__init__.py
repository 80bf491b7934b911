"""The usage log: what was run, shown, withheld and saved. Each day is a file, each call is a line.

Lines have sizes, never content. `report` reads all lines, adds them up and shows the sums.
Every call loads this module, so it imports almost nothing. Errors are raised; callers decide to ignore them.
"""

from __future__ import annotations

import os
import time

from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.system import private_files as private

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
    # Without an exact total: its estimate.
    estimated_tokens: int | None = None

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
            "bytes": self.output_bytes,
            "shown_bytes": self.shown_bytes,
            "session": self.session,
            "tokenizer": self.tokenizer,
        }


def append_line(line: UsageLine, data_dir: str, now: float) -> None:
    """Append a line to the file of today."""
    members = {"at": int(now), **line.members()}
    texts = [f'"{name}":{json_text(value)}' for name, value in members.items() if value is not None]
    # The line starts with a newline, so that one that a full disk cut off does not damage it.
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
    from tokcap.startup.plainjson import dumps

    return dumps(name.encode("utf-8", "replace").decode())


def append_bytes(data_dir: str, name: str, data: bytes, now: float) -> None:
    """Append to a private file in a private directory, with one write: parallel calls do not mix lines."""
    directory = os.path.join(data_dir, DIRECTORY)
    if not (private.is_own_directory(data_dir) and private.is_own_directory(directory)):
        private.make_directory(data_dir, restrict=False)
        private.make_directory(directory)
    path = os.path.join(directory, name)
    try:
        is_full = os.lstat(path).st_size >= LARGEST_DAY_BYTES
    except FileNotFoundError:
        is_full = False
    if not is_full and private.write_line(path, data) == len(data):
        remove_old_days(directory, now)


def remove_old_days(directory: str, now: float) -> None:
    """Remove the files that are older than `KEEP_DAYS`."""
    oldest = day_of(now - KEEP_DAYS * DAY_SECONDS)
    for name in os.listdir(directory):
        if name.endswith(SUFFIX) and name < oldest:
            os.unlink(os.path.join(directory, name))
