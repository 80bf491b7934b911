"""A shared store: outputs in a bucket that every host can read, with the local store as the cache of a host.

Outputs are written to the local store first. What is there is read there, without a request. Failures of the
bucket never cost an output: it stays local, and `SharedDraft.not_shared` says why.
"""

from __future__ import annotations

from tokcap.errors import NotFound, TokcapError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import ANYBODY
from tokcap.store.handles import (
    CANDIDATES_SHOWN,
    HANDLE_DIGITS,
    LEAST_CHARACTERS,
    MORE_DIGITS,
    MOST_DIGITS,
    is_handle,
    is_whole_handle,
    match_handle,
    spelled,
    steps_back,
    suggestion,
)
from tokcap.store.local import open_local_store
from tokcap.store.shared_url import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tokcap.core.request import Stream
    from tokcap.core.spool import Spool
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Cleaned, Draft, ListedOutput, Retention, Store, StoredOutput
    from tokcap.store.bucket import Bucket
    from tokcap.store.record import StoredRecord
    from tokcap.store.shared_outputs import Entry, SharedOutputs
    from tokcap.store.shared_url import SharedUrl

# More local outputs that start with the same four characters are not compared with those of other hosts.
MOST_LOCAL = 1000


def open_file(rest: str, env: Environment) -> Store:
    """Return the store in a shared directory; for `file://` alone, that in the data directory."""
    if not rest:
        return open_local_store("", env)
    from tokcap.store.bucket_directory import open_directory, path_of

    url = parse("file", rest)
    path_of(url)
    return SharedStore(url, env, open_directory)


def open_s3(rest: str, env: Environment) -> SharedStore:
    def open_bucket(url: SharedUrl, env: Environment) -> Bucket:
        from tokcap.store.bucket_obstore import open_s3

        return open_s3(url, env)

    return SharedStore(parse("s3", rest, ("endpoint", "region")), env, open_bucket)


def open_gs(rest: str, env: Environment) -> SharedStore:
    def open_bucket(url: SharedUrl, env: Environment) -> Bucket:
        from tokcap.store.bucket_obstore import open_gs

        return open_gs(url, env)

    return SharedStore(parse("gs", rest, ("endpoint",)), env, open_bucket)


def open_az(rest: str, env: Environment) -> SharedStore:
    def open_bucket(url: SharedUrl, env: Environment) -> Bucket:
        from tokcap.store.bucket_obstore import open_az

        return open_az(url, env)

    return SharedStore(parse("az", rest, ("endpoint",)), env, open_bucket)


class SharedStore:
    """The outputs of this host, and those of all hosts behind them."""

    def __init__(
        self, url: SharedUrl, env: Environment, open_bucket: Callable[[SharedUrl, Environment], Bucket]
    ) -> None:
        self._url = url
        self._env = env
        self._open_bucket = open_bucket
        self._local: Store = open_local_store("", env)
        self._shared: SharedOutputs | None = None
        # The entry that was read last, and the handle for which it was looked up.
        self._looked_up: tuple[str, Entry | None] | None = None
        # Why the bucket could not be used. The same call does not ask it again: each attempt takes its time.
        self.failure = ""

    @property
    def shared(self) -> SharedOutputs:
        if self._shared is None:
            from tokcap.store.shared_outputs import SharedOutputs

            self._shared = SharedOutputs(self._url.title, lambda: self._open_bucket(self._url, self._env))
        return self._shared

    def draft(self, caller: Caller = ANYBODY) -> SharedDraft:
        return SharedDraft(self._local.draft(caller), self)

    def handle_for(self, digest: str) -> str:
        """Return a handle that no other output has, here and in the bucket if it can be asked."""
        handle = self._local.handle_for(digest)
        digits = HANDLE_DIGITS
        while self._is_taken(handle, digest) and digits < MOST_DIGITS:
            digits = min(digits + MORE_DIGITS, MOST_DIGITS)
            handle = spelled(digest, digits)
        return handle

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        if steps_back(name) is not None or len(name) < LEAST_CHARACTERS or not is_handle(name):
            return self._local.find(name, caller)
        if is_whole_handle(name):
            near = self._near(name)
            if name in near:
                return name
            if self.entry(name):
                return name
        near = self._near(name)
        try:
            far = [*self.shared.handles(name)]
        except TokcapError:
            if not near:
                raise
            # Better the output of this host than none.
            far = []
        if not near and not far:
            latest = self._latest_handles()
            raise NotFound(
                f"neither this host nor {self._url.title} has an output with the handle {name[:80]}"
                + (suggestion(latest) if latest else "")
            )
        return match_handle(name, {*near, *far}, self._latest_handles)

    def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> StoredOutput:
        handle = name
        if not is_whole_handle(name):
            handle = self.find(name, caller)
        try:
            return self._opened_here(handle, stream, caller)
        except NotFound:
            near = self._local.examine(handle)
            if near is not None:
                # It has no such stream.
                near.close()
                raise
        entry = self.entry(handle)
        if entry is None:
            # The error suggests the latest handles, or the handle is the start of a longer one.
            entry = self.entry(self.find(handle, caller))
        if entry is None:
            raise NotFound(f"{handle} has just been removed from {self.shared.title}")
        # It is read again by the next page, which other hosts may have prepared.
        self._looked_up = None
        return self._opened_there(entry, stream)

    def examine(self, handle: str) -> StoredOutput | None:
        return self._local.examine(handle)

    def outputs(self) -> Iterator[ListedOutput]:
        return self._local.outputs()

    def latest(self, most: int, beginning: str = "") -> Sequence[ListedOutput]:
        return self._local.latest(most, beginning)

    def last(self, caller: Caller = ANYBODY) -> ListedOutput | None:
        return self._local.last(caller)

    def remove(self, handle: str) -> None:
        # First: if this fails, nothing is removed, and the user can try again.
        self.shared.remove(handle)
        self._local.remove(handle)

    def remove_here(self, handle: str) -> None:
        self._local.remove(handle)

    def clean(self, retention: Retention, now: float) -> Cleaned:
        return self._local.clean(retention, now)

    def clean_if_due(self, retention: Retention, stored_bytes: int, now: float) -> None:
        self._local.clean_if_due(retention, stored_bytes, now)

    def left_overs(self, now: float) -> Sequence[str]:
        return self._local.left_overs(now)

    def local_path(self, handle: str) -> str | None:
        return self._local.local_path(handle)

    def local_directory(self) -> str | None:
        return self._local.local_directory()

    def entry(self, handle: str) -> Entry | None:
        """Return what the bucket has for a handle. It is asked once."""
        if self._looked_up is None or self._looked_up[0] != handle:
            self._looked_up = handle, self.shared.entry(handle)
        return self._looked_up[1]

    def upload(
        self, record: StoredRecord, streams: Mapping[Stream, Spool], files: Mapping[str, bytes]
    ) -> str:
        """Copy an output to the bucket. Return why that failed; empty if all hosts can read it now."""
        if self.failure:
            return self.failure
        try:
            known = self.entry(record.handle)
            read = {stream: streams[stream].read for stream in record.stored_bytes}
            self.shared.upload(record, read, files, known, self._env.now())
        except Exception as error:
            return reason(error)
        return ""

    def share_files(self, handle: str, files: Mapping[str, bytes]) -> None:
        """Add what was counted to the entry of an output. Failure is ignored: it only costs time later."""
        try:
            entry = self.entry(handle)
            if entry:
                self.shared.share_files(entry, files)
        except TokcapError:
            pass

    def _is_taken(self, handle: str, digest: str) -> bool:
        """Return whether another output in the bucket has this handle. If it cannot be asked, assume not."""
        if self.failure:
            return False
        try:
            entry = self.entry(handle)
        except Exception as error:
            self.failure = reason(error)
            return False
        return bool(entry and entry.record and entry.record.digest != digest)

    def _near(self, beginning: str) -> list[str]:
        return [output.handle for output in self._local.latest(MOST_LOCAL, beginning)]

    def _latest_handles(self) -> list[str]:
        return [output.handle for output in self._local.latest(CANDIDATES_SHOWN)]

    def _opened_here(self, name: str, stream: Stream, caller: Caller) -> StoredOutput:
        from tokcap.store.shared_copy import SharedCopy

        return SharedCopy(self._local.open(name, stream, caller), self.share_files)

    def _opened_there(self, entry: Entry, stream: Stream) -> StoredOutput:
        from tokcap.store.shared_output import SharedOutput

        output = SharedOutput(entry, self.shared, self._local)
        if stream not in output.streams:
            damage = f": {output.damage[-1]}" if output.damage else ""
            output.close()
            what = "stderr" if stream == "err" else "output"
            raise NotFound(f"{output.handle} has no stored {what}{damage}")
        return output


class SharedDraft:
    """An output that is stored on this host, and then copied to the bucket."""

    def __init__(self, draft: Draft, store: SharedStore) -> None:
        self._draft = draft
        self._store = store
        self.not_shared = ""

    def open_file(self, stream: Stream) -> int:
        return self._draft.open_file(stream)

    def commit(
        self, record: StoredRecord, streams: Mapping[Stream, Spool], files: Mapping[str, bytes]
    ) -> None:
        self._draft.commit(record, streams, files)
        self.not_shared = self._store.upload(record, streams, files)

    def close(self) -> None:
        self._draft.close()


def reason(error: Exception) -> str:
    """Return why the bucket cannot be used. A defect must not cost the output either."""
    return str(error) if isinstance(error, TokcapError) else f"internal error: {type(error).__name__}"
