"""The local store: stored outputs as plain files below the data directory.

Where the system forbids writing there (a sandbox), outputs are stored in the spare directory. Readers may be
outside of the sandbox, so both are read.
"""

from __future__ import annotations

import os

from tokcap.core.digest import checksum
from tokcap.core.payload import Spool
from tokcap.errors import StoreError
from tokcap.startup.record import TYPE_CHECKING, Record
from tokcap.store.base import ANYBODY, RECORD, Cleaned, StoredOutput, StoredRecord, missing_stream
from tokcap.store.handles import (
    CANDIDATES_SHOWN,
    match_handle,
    nth_last,
    removed,
    shortest_handle,
    steps_back,
)
from tokcap.store.local_layout import (
    LARGEST_LAST_BYTES,
    LARGEST_RECORD_BYTES,
    LAST,
    OLDER,
    Layout,
    LocalDraft,
    session_key,
)
from tokcap.store.running import find, is_name
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from mmap import mmap

    from tokcap.core.request import Stream
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Draft, ListedOutput, Retention
    from tokcap.store.running import Running
    from tokcap.store.shared_outputs import SharedOutputs

# A call that starts a new file `last` may be late, so a file can be a little larger.
MOST_LAST_BYTES = 2 * LARGEST_LAST_BYTES
LAST_WORDS = 5
# A larger index was not written by tokcap. An index grows with its payload.
LARGEST_INDEX_BYTES = 256 << 20


def open_local_store(env: Environment) -> LocalStore:
    """Return the store in the user's data directory, with the spare directory behind it."""
    return LocalStore(env.data_dir(), env.spare_data_dir())


class LocalStore:
    """All stored outputs below one data directory, and below the spare one if there is any."""

    def __init__(self, data_dir: str, spare_dir: str = "") -> None:
        """If the system forbids writing below `data_dir`, drafts are made below `spare_dir` instead."""
        # Where outputs are stored.
        self._target = Layout(data_dir)
        self._spare = Layout(spare_dir, is_shared=False) if spare_dir else None
        # Where they are read.
        self._layouts = [self._target]
        if self._spare and private.is_own_directory(spare_dir):
            self._layouts.append(self._spare)

    @property
    def shared(self) -> SharedOutputs | None:
        return None

    def draft(self, caller: Caller = ANYBODY) -> Draft:
        if self._spare and self._target.is_forbidden():
            try:
                private.make_directory(self._spare.data_dir)
                self._target = self._spare
            except StoreError:
                # The reason why the data directory cannot be written is reported.
                pass
        return LocalDraft(self._target, caller)

    def handle_for(self, digest: str) -> str:
        return shortest_handle(digest, self._target.digest_at)

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        steps = steps_back(name)
        if steps is not None:
            handle = nth_last(steps, self._history(caller), self._latest_handles)
            if not private.is_own_directory(self._directory_of(handle)):
                raise removed(name, handle, self._latest_handles())
            return handle
        if is_name(name):
            found = find([layout.root for layout in self._layouts], name, caller)
            found.note_read()
            return found.running.handle or found.running.name
        layouts, refusal = self._layouts_to_read()
        handles = {os.path.basename(one) for layout in layouts for one in layout.directories(name[:2])}
        if refusal and not any(handle.startswith(name) for handle in handles):
            raise refusal
        return match_handle(name, handles, self._latest_handles)

    def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> StoredOutput:
        return self._open_here(self.find(name, caller), stream)

    def _open_here(self, handle: str, stream: Stream) -> StoredOutput:
        if is_name(handle):
            found = find([layout.root for layout in self._layouts], handle, ANYBODY)
            output = LocalOutput(found.running.draft, writable=False, running=found.running)
        else:
            output = LocalOutput(self._directory_of(handle))
        if stream not in output.streams and not output.is_growing:
            output.close()
            raise missing_stream(output, stream)
        output.touch()
        return output

    def examine(self, handle: str) -> StoredOutput | None:
        directory = self._directory_of(handle)
        if not private.is_own_directory(directory):
            return None
        output = LocalOutput(directory, writable=False)
        # Removed while it was opened: what is missing is not damage.
        if not private.is_own_directory(directory):
            output.close()
            return None
        return output

    def outputs(self) -> Iterator[ListedOutput]:
        return (output for path in self._directories() if (output := self._target.listed(path)))

    def latest(self, most: int, beginning: str = "") -> list[ListedOutput]:
        # Sort first: then only the records of the outputs that are returned have to be read.
        directories = sorted(self._directories(beginning), key=stored_at, reverse=True)
        return [output for path in directories[:most] if (output := self._target.listed(path))]

    def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
        try:
            handles = self._history(caller)
        except StoreError:
            return None
        return self._target.listed(self._directory_of(handles[0])) if handles else None

    def remove(self, handle: str) -> None:
        for layout in self._layouts:
            layout.remove(layout.directory_of(handle))

    remove_here = remove

    def clean(self, retention: Retention, now: float) -> Cleaned:
        from tokcap.store import cleaning

        parts = [cleaning.clean(layout, retention, now) for layout in self._layouts]
        return Cleaned(
            tuple(output for part in parts for output in part.removed),
            sum(part.kept for part in parts),
            sum(part.kept_bytes for part in parts),
            sum(part.left_overs for part in parts),
        )

    def clean_if_due(self, retention: Retention, stored_bytes: int, now: float) -> None:
        if self._target.is_cleaning_due(retention.total_bytes, stored_bytes, now):
            from tokcap.store import cleaning

            try:
                cleaning.clean(self._target, retention, now)
            except StoreError:
                # A later call tries again.
                pass

    def local_path(self, handle: str) -> str:
        return self._target.directory_of(handle)

    def _layouts_to_read(self) -> tuple[list[Layout], StoreError | None]:
        """Return the layouts that can be trusted, and why another one cannot."""
        trusted, refusal = [], None
        for layout in self._layouts:
            try:
                layout.check_owner()
                trusted.append(layout)
            except StoreError as error:
                refusal = error
        return trusted, refusal

    def _directories(self, beginning: str = "") -> Iterator[str]:
        layouts, refusal = self._layouts_to_read()
        if refusal:
            raise refusal
        return (path for layout in layouts for path in layout.directories(beginning))

    def _directory_of(self, handle: str) -> str:
        """Return the directory that an output has, or would have."""
        paths = [layout.directory_of(handle) for layout in self._layouts]
        return next(filter(private.is_own_directory, paths), paths[0])

    def _history(self, caller: Caller) -> Sequence[str]:
        layouts, refusal = self._layouts_to_read()
        if refusal and not layouts:
            raise refusal
        return handles_stored([layout.root for layout in layouts], caller)

    def _latest_handles(self) -> list[str]:
        return [output.handle for output in self.latest(CANDIDATES_SHOWN)]


def stored_at(directory: str) -> float:
    """Return when the output in a directory was stored: `out` is never written again."""
    try:
        return os.lstat(os.path.join(directory, "out")).st_mtime
    except OSError:
        return 0.0


COPIED_BYTES = 1 << 18


class LocalFile:
    """One stream of a stored output as a file, open. It stays readable when the output is removed."""

    def __init__(self, path: str, most_bytes: int | None = None) -> None:
        self._descriptor = private.open_file(path)
        self._path = path
        self.size = os.fstat(self._descriptor).st_size
        self.lost = 0 if most_bytes is None else max(self.size - most_bytes, 0)
        self.size -= self.lost
        self._copy: Spool | None = None

    def read(self, start: int, stop: int) -> bytes:
        if self._copy is not None:
            return self._copy.read(start, stop)
        parts = []
        while start < stop:
            try:
                part = os.pread(self._descriptor, stop - start, start)
            except OSError as error:
                raise private.refused(self._path, error) from None
            if not part:
                break
            parts.append(part)
            start += len(part)
        return b"".join(parts)

    def view(self, size: int) -> bytes | mmap:
        """Return the first `size` bytes, to search and slice in place; from now on `read` reads the same.

        They are a copy: if the file became shorter while it is mapped, the system would end the process.
        """
        if self._copy is None:
            copy = Spool()
            for start in range(0, size, COPIED_BYTES):
                copy.write(self.read(start, min(start + COPIED_BYTES, size)))
            self._copy = copy
        return self._copy.view()

    def close(self) -> None:
        os.close(self._descriptor)
        if self._copy is not None:
            self._copy.close()


class LocalOutput(StoredOutput):
    """A stored output in a directory.

    writable: additional files may be written, which counts as reading the output.
    running: the command still runs, and this is what it has written so far.
    """

    def __init__(self, directory: str, *, writable: bool = True, running: Running | None = None) -> None:
        self._directory = directory
        self._writable = writable
        self.is_growing = running is not None
        handle = running.name if running else os.path.basename(directory)
        damage: list[str] = []
        files: dict[Stream, LocalFile] = {}
        for stream in ("out", "err"):
            try:
                most = running.max_bytes if running else None
                files[stream] = LocalFile(os.path.join(directory, stream), most)
            except FileNotFoundError:
                continue
            except StoreError as error:
                damage.append(f"{stream} of {handle} cannot be read: {error}")
        record = None
        try:
            if running:
                record = record_of(running, files)
            else:
                record = StoredRecord.unpacked(self._read(RECORD, LARGEST_RECORD_BYTES))
        except FileNotFoundError:
            damage.insert(0, f"{RECORD} of {handle} is missing")
        except (ValueError, RecursionError, StoreError) as error:
            damage.insert(0, f"{RECORD} of {handle} is damaged: {error}")
        super().__init__(handle, record, files, damage)

    def read_file(self, name: str) -> bytes | None:
        try:
            return self._read(name, LARGEST_INDEX_BYTES)
        except (FileNotFoundError, StoreError):
            return None

    def write_file(self, name: str, data: bytes) -> None:
        try:
            if self._writable:
                private.replace_file(os.path.join(self._directory, name), data)
        except StoreError:
            pass

    def local_path(self, stream: Stream) -> str:
        return os.path.join(self._directory, stream)

    def touch(self) -> None:
        try:
            os.utime(self._directory)
        except OSError:
            pass

    def _read(self, name: str, most_bytes: int) -> bytes:
        return private.read_file(os.path.join(self._directory, name), most_bytes)


def record_of(running: Running, files: Mapping[Stream, LocalFile]) -> StoredRecord:
    """Return what is known about an output that still grows."""
    return StoredRecord(
        running.name,
        stored_at=int(running.started_at),
        stored_bytes={stream: file.size for stream, file in files.items()},
        lost_bytes={stream: file.lost for stream, file in files.items() if file.lost},
        token_limit=running.token_limit,
        command=tuple(running.command) or None,
    )


class Stored(Record):
    """One line of the file `last`: an output that was stored."""

    handle: str
    stored_at: int
    terminal: int
    session: str


def handles_stored(roots: Sequence[str], caller: Caller) -> Sequence[str]:
    """Return the handles that a caller means by `@last`, `@last-1`, ….

    They are those of its session; if that has stored nothing, those of its terminal; else all.
    """
    if len(roots) > 1:
        # Times are whole seconds: of two equal ones, that in the store that was written last comes first.
        roots = sorted(roots, key=written_at, reverse=True)
    stored = [line for root in roots for line in lines_of(root)]
    if len(roots) > 1:
        stored.sort(key=lambda line: line.stored_at, reverse=True)
    session = session_key(caller.session)
    own = [line for line in stored if line.session == session] if caller.session else []
    if not own and caller.terminal:
        from tokcap.system.proc import started_at

        # An earlier process session may have had the same id. Start times are a little inexact.
        since = (started_at(caller.terminal, caller.now) or 2.0) - 2.0
        own = [line for line in stored if line.terminal == caller.terminal and line.stored_at >= since]
    return [*dict.fromkeys(line.handle for line in own or stored)]


def written_at(root: str) -> int:
    """Return when an output was last stored below a directory."""
    try:
        return os.stat(os.path.join(root, LAST)).st_mtime_ns
    except OSError:
        return 0


def lines_of(root: str) -> Iterator[Stored]:
    """Yield what was stored, the latest first. Damaged lines are left out."""
    for name in (LAST, OLDER):
        try:
            data = private.read_file(os.path.join(root, name), MOST_LAST_BYTES)
        except FileNotFoundError:
            continue
        for line in reversed(data.decode("ascii", "replace").splitlines()):
            words = line.split()
            body, _, seal = line.rpartition(" ")
            if len(words) == LAST_WORDS and seal == checksum(body.encode()).hex():
                yield Stored(words[0], int(words[1]), int(words[2]), words[3])
