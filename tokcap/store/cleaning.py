"""Decide which outputs are kept, by age and total size, and clean the local store."""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store import running
from tokcap.store.base import Cleaned
from tokcap.store.local_layout import lock_directory, names_in, remove_all
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tokcap.store.base import ListedOutput, Retention
    from tokcap.store.local_layout import Layout

DAY_SECONDS = 24 * 60 * 60
# An output that was stored or read within this time is kept in any case.
READ_SECONDS = 60 * 60

# A younger directory without a lock may belong to a process that is about to lock it.
LEFT_OVER_SECONDS = 60


def split_by_retention(
    outputs: Iterable[ListedOutput], retention: Retention, now: float
) -> tuple[list[ListedOutput], list[ListedOutput]]:
    """Return what to keep, and what to remove: outputs that are too old, then the oldest above the total."""
    kept: list[ListedOutput] = []
    removed: list[ListedOutput] = []
    for output in sorted(outputs, key=lambda output: output.stored_at):
        expired = now - output.stored_at > retention.days * DAY_SECONDS
        (removed if expired and not in_use(output, now) else kept).append(output)
    total = sum(output.size_bytes for output in kept)
    for output in list(kept):
        if total <= retention.total_bytes:
            break
        if not in_use(output, now):
            kept.remove(output)
            removed.append(output)
            total -= output.size_bytes
    return kept, removed


def in_use(output: ListedOutput, now: float) -> bool:
    """Return whether it was stored or read recently: a reader may be paging through it."""
    return now - max(output.read_at, output.stored_at) < READ_SECONDS


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
    return output.replace(stored_at=min(output.stored_at, now), read_at=min(output.read_at, now))


def remove_left_overs(layout: Layout, now: float) -> int:
    """Remove old directories and files whose writer is gone. Return how many there were."""
    removed = 0
    needed = running.clean(layout.root, now)
    for path in [*temporary_paths(layout)]:
        if path in needed:
            # Its writer was killed. What it has written can be read for a while.
            continue
        try:
            if abs(now - os.lstat(path).st_mtime) < LEFT_OVER_SECONDS:
                continue
        except OSError:
            continue
        is_directory = os.path.isdir(path) and not os.path.islink(path)
        lock = lock_directory(path) if is_directory else -1
        if lock >= 0 or not is_directory:
            remove_all(path)
            removed += not os.path.lexists(path)
        if lock >= 0:
            os.close(lock)
    return removed


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
