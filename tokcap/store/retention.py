"""What is kept how long: entries by age and total size, left-overs of those who died. Part of storing."""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING, Record
from tokcap.store.drafts import lock_directory, remove_directory
from tokcap.store.shelf import names_in
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcap.store.shelf import Listed, Shelf

DAY_SECONDS = 24 * 60 * 60
# What was read within this time is kept, whatever its age.
READ_SECONDS = 60 * 60
# A directory without a lock that is younger may belong to somebody who is about to lock it.
LEFT_OVER_SECONDS = 60

# Cleaning looks at every entry, so it is done once in a while, or when much was stored since.
CLEAN_SECONDS = 10 * 60
CLEAN_SHARE = 16
CLEANED = ".cleaned"


class Retention(Record):
    """How much is kept."""

    days: int
    total_bytes: int


class Cleaned(Record):
    """What cleaning did."""

    removed: tuple[Listed, ...]
    kept: int
    kept_bytes: int
    left_overs: int


def clean(shelf: Shelf, retention: Retention, now: float) -> Cleaned:
    """Remove what is too old, then the oldest until the rest is small enough."""
    kept, removed = sorted_out((settled(entry, now) for entry in shelf.entries()), retention, now)
    gone = [entry for entry in removed if removes(shelf, entry, now)]
    # What was taken up meanwhile, or cannot be removed, is still there.
    rest = [entry for entry in removed if entry not in gone]
    total = sum(entry.size for entry in (*kept, *rest))
    return Cleaned(tuple(gone), len(kept) + len(rest), total, remove_left_overs(shelf, now))


def sorted_out(
    entries: Iterable[Listed], retention: Retention, now: float
) -> tuple[list[Listed], list[Listed]]:
    """What is kept, and what is too old or too much."""
    kept: list[Listed] = []
    removed: list[Listed] = []
    for entry in sorted(entries, key=lambda entry: entry.stored_at):
        expired = now - entry.stored_at > retention.days * DAY_SECONDS
        (removed if expired and not in_use(entry, now) else kept).append(entry)
    total = sum(entry.size for entry in kept)
    for entry in list(kept):
        if total <= retention.total_bytes:
            break
        if not in_use(entry, now):
            kept.remove(entry)
            removed.append(entry)
            total -= entry.size
    return kept, removed


def removes(shelf: Shelf, entry: Listed, now: float) -> bool:
    """Remove one entry, unless it is in use by now."""
    try:
        return shelf.remove(entry.directory, unless=lambda found: in_use(found, now))
    except StoreError:
        return False


def in_use(entry: Listed, now: float) -> bool:
    """Whether it was stored or read just now: somebody may be in the midst of paging through it."""
    return now - max(entry.read_at, entry.stored_at) < READ_SECONDS


def settled(entry: Listed, now: float) -> Listed:
    """The entry with times that are not in the future: a clock that was wrong must not keep it for ever."""
    if max(entry.stored_at, entry.read_at) <= now + LEFT_OVER_SECONDS:
        return entry
    try:
        for path in (os.path.join(entry.directory, "out"), entry.directory):
            os.utime(path, (now, now), follow_symlinks=False)
    except OSError:
        pass
    return entry.but(stored_at=min(entry.stored_at, now), read_at=min(entry.read_at, now))


def remove_left_overs(shelf: Shelf, now: float) -> int:
    """Remove directories and files that somebody was writing who is gone; how many there were."""
    removed = 0
    for path in unattended(shelf, now):
        if not os.path.isdir(path) or os.path.islink(path):
            try:
                os.unlink(path)
                removed += 1
            except OSError:
                pass
            continue
        lock = lock_directory(path)
        if lock >= 0:
            remove_directory(path)
            os.close(lock)
            removed += not os.path.lexists(path)
    return removed


def unattended(shelf: Shelf, now: float) -> Iterator[str]:
    """Whatever is still being written there, or was when its writer died; the lock on it tells which."""
    for path in [*temporary(shelf)]:
        try:
            if abs(now - os.lstat(path).st_mtime) >= LEFT_OVER_SECONDS:
                yield path
        except OSError:
            continue


def temporary(shelf: Shelf) -> Iterator[str]:
    """What has a temporary name: drafts, and in every directory that is written to, half a file."""
    for name in names_in(shelf.spill):
        if name.startswith(private.TEMPORARY_PREFIX):
            yield os.path.join(shelf.spill, name)
    # The data directory may be there for others too: of all that is in it, only files that we have named.
    for directory in (os.path.dirname(shelf.spill), *shelf.places()):
        for name in names_in(directory):
            path = os.path.join(directory, name)
            if private.is_temporary(name) and not os.path.isdir(path):
                yield path


def clean_if_due(shelf: Shelf, retention: Retention, stored_bytes: int, now: float) -> None:
    """Clean once in a while. Whoever stores pays for it in turn; what fails is left to the next."""
    path = os.path.join(shelf.spill, CLEANED)
    try:
        words = private.read_file(path, 100).split()
        cleaned_at, since = int(words[0]), int(words[1])
    except FileNotFoundError:
        cleaned_at, since = int(now), 0
    except (StoreError, ValueError, IndexError):
        cleaned_at, since = 0, 0
    since += stored_bytes
    due = not 0 <= now - cleaned_at < CLEAN_SECONDS or since * CLEAN_SHARE > retention.total_bytes
    try:
        # Written first, so that others who store meanwhile do not clean as well.
        private.overwrite_file(path, b"%020d %020d\n" % ((int(now), 0) if due else (cleaned_at, since)))
    except StoreError:
        # What cannot be written down is done once too often rather than never.
        pass
    try:
        if due:
            clean(shelf, retention, now)
    except StoreError:
        pass
