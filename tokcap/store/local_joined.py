"""Two local stores that are read as one: the data directory, and the spare directory of a sandbox.

Where the data directory cannot be written, `LocalStore` stores in the spare directory. Readers may be outside
of the sandbox, or may find older outputs in the data directory.
"""

from __future__ import annotations

import os

from tokcap.errors import NotFound, StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import ANYBODY, Cleaned
from tokcap.store.handles import CANDIDATES_SHOWN, nth_last, removed, steps_back
from tokcap.store.local_layout import LAST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from tokcap.core.request import Stream
    from tokcap.store.base import Caller, ListedOutput, Retention, Shared
    from tokcap.store.local import LocalStore
    from tokcap.store.local_draft import LocalDraft
    from tokcap.store.local_output import LocalOutput

    Found = TypeVar("Found")


def written_at(root: str) -> int:
    """Return when an output was last stored below a directory."""
    try:
        return os.stat(os.path.join(root, LAST)).st_mtime_ns
    except OSError:
        return 0


class JoinedStore:
    """Reads two stores, and writes to the first, which knows the second as its spare directory."""

    shared: Shared | None = None

    def __init__(self, first: LocalStore, second: LocalStore) -> None:
        self._first = first
        self._stores = (first, second)

    def draft(self, caller: Caller = ANYBODY) -> LocalDraft:
        return self._first.draft(caller)

    def handle_for(self, digest: str) -> str:
        return self._first.handle_for(digest)

    def local_path(self, handle: str) -> str:
        return self._first.local_path(handle)

    def local_directory(self) -> str:
        return self._first.local_directory()

    def clean_if_due(self, retention: Retention, stored_bytes: int, now: float) -> None:
        self._first.clean_if_due(retention, stored_bytes, now)

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        exact = self._exact(name, caller)
        return self._in_any(lambda store: store.find(exact))

    def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> LocalOutput:
        exact = self._exact(name, caller)
        return self._in_any(lambda store: store.open(exact, stream))

    def examine(self, handle: str) -> LocalOutput | None:
        return next(filter(None, (store.examine(handle) for store in self._stores)), None)

    def outputs(self) -> Iterator[ListedOutput]:
        for store in self._stores:
            yield from store.outputs()

    def latest(self, most: int, beginning: str = "") -> list[ListedOutput]:
        found = [output for store in self._stores for output in store.latest(most, beginning)]
        return sorted(found, key=lambda output: output.stored_at, reverse=True)[:most]

    def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
        handles = self._history(caller)
        return (
            next(filter(None, (store.listed(handles[0]) for store in self._stores)), None)
            if handles
            else None
        )

    def remove(self, handle: str) -> None:
        for store in self._stores:
            store.remove(handle)

    remove_here = remove

    def clean(self, retention: Retention, now: float) -> Cleaned:
        parts = [store.clean(retention, now) for store in self._stores]
        return Cleaned(
            tuple(output for part in parts for output in part.removed),
            sum(part.kept for part in parts),
            sum(part.kept_bytes for part in parts),
            sum(part.left_overs for part in parts),
        )

    def left_overs(self, now: float) -> list[str]:
        return [name for store in self._stores for name in store.left_overs(now)]

    def _exact(self, name: str, caller: Caller) -> str:
        """Return the handle that `@last` names, among the outputs of both stores; other names as they are."""
        steps = steps_back(name)
        if steps is None:
            return name
        handle = nth_last(steps, self._history(caller), self._latest_handles)
        if not any(store.listed(handle) for store in self._stores):
            raise removed(name, handle, self._latest_handles())
        return handle

    def _latest_handles(self) -> list[str]:
        return [output.handle for output in self.latest(CANDIDATES_SHOWN)]

    def _history(self, caller: Caller) -> list[str]:
        from tokcap.store.local_history import handles

        # Times are whole seconds: of two equal ones, that in the store that was written last comes first.
        roots = sorted((store.local_directory() for store in self._stores), key=written_at, reverse=True)
        return [*handles(roots, caller)]

    def _in_any(self, look: Callable[[LocalStore], Found]) -> Found:
        """Return what the first store finds that has it; else raise the reason of the first store."""
        failure: NotFound | StoreError | None = None
        for store in self._stores:
            try:
                return look(store)
            except (NotFound, StoreError) as error:
                failure = failure or error
        assert failure
        raise failure
