"""Clean the local store: remove outputs by age and total size, and leftovers of interrupted runs."""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import Cleaned
from tokcap.store.local_layout import lock_directory, names_in, remove_directory
from tokcap.store.retention import in_use, split_by_retention
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tokcap.store.base import ListedOutput, Retention
    from tokcap.store.local_layout import Layout

# A younger directory without a lock may belong to a process that is about to lock it.
LEFT_OVER_SECONDS = 60

# Cleaning looks at every output. So it is done once in this time, or when this share of the total was stored.
CLEAN_SECONDS = 10 * 60
CLEAN_SHARE = 16
CLEANED = ".cleaned"


def clean(layout: Layout, retention: Retention, now: float) -> Cleaned:
    """Remove what is too old, then the oldest until the rest is small enough, then leftovers."""
    layout.check_owner()
    listed = filter(None, map(layout.listed, layout.directories()))
    kept, expired = split_by_retention((correct_times(layout, one, now) for one in listed), retention, now)
    removed = [output for output in expired if remove_unused(layout, output, now)]
    # These were used since they were listed, or cannot be removed.
    remaining = [output for output in expired if output not in removed]
    total = sum(output.size_bytes for output in (*kept, *remaining))
    return Cleaned(tuple(removed), len(kept) + len(remaining), total, remove_left_overs(layout, now))


def clean_if_due(layout: Layout, retention: Retention, stored_bytes: int, now: float) -> None:
    """Clean from time to time, as a part of storing. After a failure, the next call tries again."""
    path = os.path.join(layout.root, CLEANED)
    try:
        words = private.read_file(path, 100).split()
        cleaned_at, since_bytes = int(words[0]), int(words[1])
    except FileNotFoundError:
        cleaned_at, since_bytes = int(now), 0
    except (StoreError, ValueError, IndexError):
        cleaned_at, since_bytes = 0, 0
    since_bytes += stored_bytes
    due = not 0 <= now - cleaned_at < CLEAN_SECONDS or since_bytes * CLEAN_SHARE > retention.total_bytes
    try:
        # Written first, so that other processes do not clean at the same time.
        private.overwrite_file(path, b"%020d %020d\n" % ((int(now), 0) if due else (cleaned_at, since_bytes)))
    except StoreError:
        # Cleaning too often is better than never.
        pass
    try:
        if due:
            clean(layout, retention, now)
    except StoreError:
        pass


def remove_unused(layout: Layout, output: ListedOutput, now: float) -> bool:
    """Remove one output unless it is in use now. Return whether it is gone."""
    try:
        return layout.remove(layout.directory_of(output.handle), unless=lambda found: in_use(found, now))
    except StoreError:
        return False


def correct_times(layout: Layout, output: ListedOutput, now: float) -> ListedOutput:
    """Replace times in the future: a clock that was wrong must not keep an output forever."""
    if max(output.stored_at, output.read_at) <= now + LEFT_OVER_SECONDS:
        return output
    directory = layout.directory_of(output.handle)
    try:
        for path in (os.path.join(directory, "out"), directory):
            os.utime(path, (now, now), follow_symlinks=False)
    except OSError:
        pass
    return output.but(stored_at=min(output.stored_at, now), read_at=min(output.read_at, now))


def remove_left_overs(layout: Layout, now: float) -> int:
    """Remove directories and files whose writer is gone. Return how many there were."""
    removed = 0
    for path in old_temporary_paths(layout, now):
        if not is_real_directory(path):
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


def left_overs(layout: Layout, now: float) -> list[str]:
    """Return the names of directories and files whose writer is gone."""
    found = []
    for path in old_temporary_paths(layout, now):
        if is_real_directory(path):
            lock = lock_directory(path)
            if lock < 0:
                continue
            os.close(lock)
        found.append(os.path.basename(path))
    return found


def is_real_directory(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def old_temporary_paths(layout: Layout, now: float) -> Iterator[str]:
    """Return temporary paths that are not new. A lock on a directory shows that its writer still runs."""
    for path in [*temporary_paths(layout)]:
        try:
            if abs(now - os.lstat(path).st_mtime) >= LEFT_OVER_SECONDS:
                yield path
        except OSError:
            continue


def temporary_paths(layout: Layout) -> Iterator[str]:
    """Return what has a temporary name: drafts, and incomplete files in any directory."""
    for name in names_in(layout.root):
        if name.startswith(private.TEMPORARY_PREFIX):
            yield os.path.join(layout.root, name)
    # Other programs may use the data directory too, so only files with exactly our kind of name count.
    for directory in (layout.data_dir, *layout.directories()):
        for name in names_in(directory):
            path = os.path.join(directory, name)
            if private.is_temporary(name) and not os.path.isdir(path):
                yield path
