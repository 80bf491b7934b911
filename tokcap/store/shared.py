"""A shared store: outputs in a bucket that every host can read, with the local store as the cache of a host.

Outputs are written to the local store first. What is there is read there, without a request. Failures of the
bucket never cost an output: it stays local, and `SharedDraft.not_shared` says why.
"""

from __future__ import annotations

from tokcap.errors import NotFound, TokcapError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.base import ANYBODY, FOR_THE_CACHE, missing_stream
from tokcap.store.bucket import parse
from tokcap.store.handles import (
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
from tokcap.store.local import LocalStore, open_local_store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tokcap.core.payload import Spool
    from tokcap.core.request import Stream
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Draft, Store, StoredOutput
    from tokcap.store.bucket import Bucket, SharedUrl
    from tokcap.store.record import StoredRecord
    from tokcap.store.shared_outputs import Entry, SharedOutputs

# More local outputs that start with the same four characters are not compared with those of other hosts.
MOST_LOCAL = 1000


def open_file(rest: str, env: Environment) -> Store:
    """Return the store in a shared directory; for `file://` alone, that in the data directory."""
    if not rest:
        return open_local_store(env)
    from tokcap.store.bucket_directory import DirectoryBucket, path_of

    url = parse("file", rest)
    path = path_of(url)
    return SharedStore(url.title, env, lambda: DirectoryBucket(path))


def open_s3(rest: str, env: Environment) -> SharedStore:
    return open_object_store(parse("s3", rest, ("endpoint", "region")), env)


def open_gs(rest: str, env: Environment) -> SharedStore:
    return open_object_store(parse("gs", rest, ("endpoint",)), env)


def open_az(rest: str, env: Environment) -> SharedStore:
    return open_object_store(parse("az", rest, ("endpoint",)), env)


def open_object_store(url: SharedUrl, env: Environment) -> SharedStore:
    def open_bucket() -> Bucket:
        from tokcap.store.bucket_obstore import ObstoreBucket

        return ObstoreBucket(url, env)

    return SharedStore(url.title, env, open_bucket)


class SharedStore(LocalStore):
    """The outputs of this host, and those of all hosts behind them."""

    def __init__(self, title: str, env: Environment, open_bucket: Callable[[], Bucket]) -> None:
        """`title` names the bucket in messages."""
        self._title = title
        self._env = env
        self._open_bucket = open_bucket
        super().__init__(env.data_dir(), env.spare_data_dir())
        self._shared: SharedOutputs | None = None
        # The entry that was read last, and the handle for which it was looked up.
        self._looked_up: tuple[str, Entry | None] | None = None
        # Why the bucket could not be used. The same call does not ask it again: each attempt takes its time.
        self.failure = ""

    @property
    def shared(self) -> SharedOutputs:
        if self._shared is None:
            from tokcap.store.shared_outputs import SharedOutputs

            self._shared = SharedOutputs(self._title, self._open_bucket)
        return self._shared

    def draft(self, caller: Caller = ANYBODY) -> SharedDraft:
        return SharedDraft(super().draft(caller), self)

    def handle_for(self, digest: str) -> str:
        """Return a handle that no other output has, here and in the bucket if it can be asked."""
        handle = super().handle_for(digest)
        digits = HANDLE_DIGITS
        while self._is_taken(handle, digest) and digits < MOST_DIGITS:
            digits = min(digits + MORE_DIGITS, MOST_DIGITS)
            handle = spelled(digest, digits)
        return handle

    def find(self, name: str, caller: Caller = ANYBODY) -> str:
        if steps_back(name) is not None or len(name) < LEAST_CHARACTERS or not is_handle(name):
            return super().find(name, caller)
        near = [output.handle for output in self.latest(MOST_LOCAL, name)]
        if is_whole_handle(name) and (name in near or self.entry(name)):
            return name
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
                f"neither this host nor {self._title} has an output with the handle {name[:80]}"
                + (suggestion(latest) if latest else "")
            )
        return match_handle(name, {*near, *far}, self._latest_handles)

    def open(self, name: str, stream: Stream = "out", caller: Caller = ANYBODY) -> StoredOutput:
        handle = name
        if not is_whole_handle(name):
            handle = self.find(name, caller)
        try:
            return self._open_here(super().find(handle, caller), stream)
        except NotFound:
            near = self.examine(handle)
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
        from tokcap.store.shared_output import SharedOutput

        directory, open_draft = self.local_path(entry.handle), lambda: LocalStore.draft(self, FOR_THE_CACHE)
        output = SharedOutput(entry, self.shared.bucket, directory, open_draft)
        if stream not in output.streams:
            output.close()
            raise missing_stream(output, stream)
        return output

    def remove(self, handle: str) -> None:
        # First: if this fails, nothing is removed, and the user can try again.
        self.shared.remove(handle)
        super().remove(handle)

    def remove_here(self, handle: str) -> None:
        super().remove(handle)

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
