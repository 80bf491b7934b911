"""The local store: stored outputs as plain files below the data directory."""

from __future__ import annotations

import os

from tokcap.errors import NotFound, StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import ANYBODY
from tokcap.store.handles import (
    CANDIDATES_SHOWN,
    match_handle,
    nth_last,
    removed,
    shortest_handle,
    steps_back,
)
from tokcap.store.local_draft import LocalDraft
from tokcap.store.local_layout import Layout
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.core.request import Stream
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Cleaned, ListedOutput, Retention, Shared
    from tokcap.store.local_joined import JoinedStore
    from tokcap.store.local_output import LocalOutput


def open_local_store(directory: str, env: Environment) -> LocalStore | JoinedStore:
    """Return the store in a data directory, by default the user's, together with its spare directory."""
    if directory:
        return LocalStore(directory)
    spare = env.spare_data_dir()
    store = LocalStore(env.data_dir(), spare)
    if not private.is_own_directory(spare):
        return store
    from tokcap.store.local_joined import JoinedStore

    return JoinedStore(store, LocalStore(spare))


class LocalStore:
    """All stored outputs below one data directory."""

    shared: Shared | None = None

    def __init__(self, data_dir: str, spare_dir: str = "") -> None:
        """If the system forbids writing below `data_dir`, drafts are made below `spare_dir` instead."""
        self._layout = Layout(data_dir)
        self._spare_dir = spare_dir

    def draft(self, caller: Caller = ANYBODY) -> LocalDraft:
        probe = self._layout.make_probe() if self._spare_dir else ""
        if probe is None:
            try:
                private.make_directory(self._spare_dir)
                self._layout = Layout(self._spare_dir, is_shared=False)
            except StoreError:
                # The reason why the data directory cannot be written is reported.
                pass
        return LocalDraft(self._layout, caller, probe or "")

    def listed(self, handle: str) -> ListedOutput | None:
        """Return an output as a list shows it; None if there is no such output."""
        return self._layout.listed(self._layout.directory_of(handle))

    def handle_for(self, digest: str) -> str:
        return shortest_handle(digest, self._layout.digest_at)

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        self._layout.check_owner()
        steps = steps_back(name)
        if steps is None:
            handles = map(os.path.basename, self._layout.directories(name[:2]))
            return match_handle(name, handles, self._latest_handles)
        handle = nth_last(steps, self._history(caller), self._latest_handles)
        if not private.is_own_directory(self._layout.directory_of(handle)):
            raise removed(name, handle, self._latest_handles())
        return handle

    def _history(self, caller: Caller) -> Sequence[str]:
        from tokcap.store.local_history import handles

        return handles([self._layout.root], caller)

    def _latest_handles(self) -> list[str]:
        return [output.handle for output in self.latest(CANDIDATES_SHOWN)]

    def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> LocalOutput:
        # Storing an output needs no code that reads one.
        from tokcap.store.local_output import LocalOutput

        output = LocalOutput(self._layout.directory_of(self.find(name, caller)))
        if stream not in output.streams:
            damage = f": {output.damage[-1]}" if output.damage else ""
            output.close()
            what = "stderr" if stream == "err" else "output"
            raise NotFound(f"{output.handle} has no stored {what}{damage}; see tokcap spill list")
        output.touch()
        return output

    def examine(self, handle: str) -> LocalOutput | None:
        directory = self._layout.directory_of(handle)
        if not private.is_own_directory(directory):
            return None
        from tokcap.store.local_output import LocalOutput

        output = LocalOutput(directory, writable=False)
        # Removed while it was opened: what is missing is not damage.
        if not private.is_own_directory(directory):
            output.close()
            return None
        return output

    def outputs(self) -> Iterator[ListedOutput]:
        self._layout.check_owner()
        return filter(None, map(self._layout.listed, self._layout.directories()))

    def latest(self, most: int, beginning: str = "") -> list[ListedOutput]:
        self._layout.check_owner()
        group = beginning[:2] if len(beginning) > 1 else ""
        directories = [
            directory
            for directory in self._layout.directories(group)
            if os.path.basename(directory).startswith(beginning)
        ]
        # Sort first: then only the records of the outputs that are returned have to be read.
        directories.sort(key=stored_at, reverse=True)
        return [output for directory in directories[:most] if (output := self._layout.listed(directory))]

    def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
        self._layout.check_owner()
        try:
            handles = self._history(caller)
        except StoreError:
            return None
        return self.listed(handles[0]) if handles else None

    def remove(self, handle: str) -> None:
        self._layout.remove(self._layout.directory_of(handle))

    remove_here = remove

    def clean(self, retention: Retention, now: float) -> Cleaned:
        from tokcap.store import local_cleaning

        return local_cleaning.clean(self._layout, retention, now)

    def clean_if_due(self, retention: Retention, stored_bytes: int, now: float) -> None:
        from tokcap.store import local_cleaning

        local_cleaning.clean_if_due(self._layout, retention, stored_bytes, now)

    def left_overs(self, now: float) -> list[str]:
        from tokcap.store import local_cleaning

        return local_cleaning.left_overs(self._layout, now)

    def local_path(self, handle: str) -> str:
        return self._layout.directory_of(handle)

    def local_directory(self) -> str:
        return self._layout.root


def stored_at(directory: str) -> float:
    """Return when the output in a directory was stored: `out` is never written again."""
    try:
        return os.lstat(os.path.join(directory, "out")).st_mtime
    except OSError:
        return 0.0
