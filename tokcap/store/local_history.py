"""Read which outputs were stored last, and by whom, for `@last`. `Layout.note_stored` writes the lines."""

from __future__ import annotations

import os

from tokcap.lean.digest import checksum
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.store.local_layout import LARGEST_LAST_BYTES, LAST, OLDER, session_key
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.store.base import Caller

# A call that starts a new file may be late, so a file can be a little larger.
MOST_BYTES = 2 * LARGEST_LAST_BYTES
WORDS = 5


class Stored(Record):
    """One line: an output that was stored."""

    handle: str
    stored_at: int
    terminal: int
    session: str


def handles(roots: Sequence[str], caller: Caller) -> Sequence[str]:
    """Return the handles that a caller means by `@last`, `@last-1`, ….

    They are those of its session; if that has stored nothing, those of its terminal; else all.
    """
    stored = [line for root in roots for line in read_lines(root)]
    if len(roots) > 1:
        stored.sort(key=lambda line: line.stored_at, reverse=True)
    session = session_key(caller.session)
    own = [line for line in stored if line.session == session] if caller.session else []
    if not own and caller.terminal:
        since = caller.terminal_since()
        own = [line for line in stored if line.terminal == caller.terminal and line.stored_at >= since]
    return [*dict.fromkeys(line.handle for line in own or stored)]


def read_lines(root: str) -> Iterator[Stored]:
    """Yield what was stored, the latest first. Damaged lines are left out."""
    for name in (LAST, OLDER):
        try:
            data = private.read_file(os.path.join(root, name), MOST_BYTES)
        except FileNotFoundError:
            continue
        for line in reversed(data.decode("ascii", "replace").splitlines()):
            if found := parsed(line):
                yield found


def parsed(line: str) -> Stored | None:
    words = line.split()
    body, _, seal = line.rpartition(" ")
    if len(words) != WORDS or seal != checksum(body.encode()).hex():
        return None
    return Stored(words[0], int(words[1]), int(words[2]), words[3])
