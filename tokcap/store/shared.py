"""A shared store: outputs in a bucket that every host can read, with the local store as the cache of a host.

Outputs are written to the local store first. What is there is read there, without a request. Failures of the
bucket never cost an output: it stays local, and `SharedDraft.not_shared` says why. What only the bucket has
is read by ranges, or copied to this host as a whole (`SharedOutput`).
"""

from __future__ import annotations

from tokcap.core.digest import BLOCK_BYTES, StreamDigest
from tokcap.core.payload import STEP_BYTES, Spool, open_nameless_file
from tokcap.errors import DamagedOutput, NotFound, StoreError, TokcapError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.base import ANYBODY, FOR_THE_CACHE, RECORD, StoredOutput, missing_stream
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
from tokcap.store.shared_outputs import STREAMS, SharedOutputs, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from mmap import mmap

    from tokcap.core.request import Stream
    from tokcap.environment import Environment
    from tokcap.store.base import Caller, Draft, Store, StoredRecord
    from tokcap.store.bucket import Bucket
    from tokcap.store.running import Announced, Running
    from tokcap.store.shared_outputs import Entry

# More local outputs that start with the same four characters are not compared with those of other hosts.
MOST_LOCAL = 1000
# A reader of more than this reads everything, or soon comes back: then all of it is fetched.
MOST_RANGES_BYTES = 1 << 20
# When everything is fetched, ask for this many bytes at a time. They are in memory once.
FETCHED_BYTES = 8 << 20


def open_file(rest: str, env: Environment) -> Store:
    """Return the store in a shared directory; for `file://` alone, that in the data directory."""
    if not rest:
        return open_local_store(env)
    from tokcap.store.bucket_directory import DirectoryBucket, path_of

    url = parse("file", rest)
    path = path_of(url)
    return SharedStore(url.title, env, lambda: DirectoryBucket(path))


def object_store(scheme: str, *parameters: str) -> Callable[[str, Environment], SharedStore]:
    """Return what opens the stores of a scheme, whose URLs may have these parameters."""

    def open_store(rest: str, env: Environment) -> SharedStore:
        url = parse(scheme, rest, parameters)

        def open_bucket() -> Bucket:
            from tokcap.store.bucket_obstore import ObstoreBucket

            return ObstoreBucket(url, env)

        return SharedStore(url.title, env, open_bucket)

    return open_store


open_s3 = object_store("s3", "endpoint", "region")
open_gs = object_store("gs", "endpoint")
open_az = object_store("az", "endpoint")


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
                # The output is here, and has no such stream.
                near.close()
                raise
        entry = self.entry(handle)
        if entry is None:
            # The error suggests the latest handles, or the handle is the start of a longer one.
            entry = self.entry(self.find(handle, caller))
        if entry is None:
            raise NotFound(f"{handle} has just been removed from {self.shared.title}")
        # The next page reads the entry again, because other hosts may have prepared that page.
        self._looked_up = None
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

    def announce(self, running: Running) -> Announced:
        return self._draft.announce(running)

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


class SharedOutput(StoredOutput):
    """An output in a bucket. When it is wanted as a whole, it is fetched into the local store."""

    def __init__(self, entry: Entry, bucket: Bucket, directory: str, open_draft: Callable[[], Draft]) -> None:
        """`directory` is where the local store has the output once it is fetched."""
        self._bucket = bucket
        self._directory = directory
        self._open_draft = open_draft
        self._files = dict(entry.files)
        self._whole_record = record = entry.record
        self._spools: dict[Stream, Spool] = {}
        self.handle = entry.handle
        damage = [] if record else [f"{RECORD} of {entry.handle} is damaged"]
        sizes = record.stored_bytes if record else self._sizes_found()
        found = {stream: self._stream(stream, size) for stream, size in sizes.items()}
        super().__init__(entry.handle, record, found, damage)

    def fetch_path(self, stream: Stream) -> str:
        """Fetch the whole output into the local store. Return the path of the file with this stream."""
        self._fetch(is_needed_here=True)
        return f"{self._directory}/{stream}"

    def read_file(self, name: str) -> bytes | None:
        return self._files.get(name)

    def write_file(self, name: str, data: bytes) -> None:
        """Keep a file for this call. It is stored if the output is fetched after that."""
        self._files[name] = data

    def close(self) -> None:
        for spool in self._spools.values():
            spool.close()

    def _sizes_found(self) -> dict[Stream, int]:
        """Return the sizes of the streams as they are now, for an output without a record."""
        found: dict[Stream, int] = {}
        for stream in STREAMS:
            if there := self._bucket.stat(key_of(self.handle, stream)):
                found[stream] = there.size
        return found

    def _stream(self, stream: Stream, size: int) -> SharedStream:
        key = key_of(self.handle, stream)
        return SharedStream(self._bucket, key, size, lambda: self._fetch()[stream])

    def _fetch(self, *, is_needed_here: bool = False) -> dict[Stream, Spool]:
        """Fetch all streams, and copy them to the local store. `@last` still means what was stored here.

        A local store that cannot be written is an error only if a local copy is needed.
        """
        record = self._whole_record
        if record is None:
            raise StoreError(
                f"{RECORD} of {self.handle} is damaged, so the output cannot be fetched as a whole"
            )
        draft = self._open_draft()
        try:
            if not self._spools:
                self._spools = fetched(record, self._bucket, draft)
            files = {name: data for name, data in self._files.items() if name != RECORD}
            draft.commit(record, self._spools, files)
        except DamagedOutput:
            raise
        except StoreError:
            # Perhaps the disk is full, or nothing may be written.
            if is_needed_here or not self._spools:
                raise
        finally:
            draft.close()
        return self._spools


def fetched(record: StoredRecord, bucket: Bucket, draft: Draft) -> dict[Stream, Spool]:
    """Return all streams of an output, fetched; `DamagedOutput` if one is not what was stored."""
    spools: dict[Stream, Spool] = {}
    try:
        for stream, size in record.stored_bytes.items():
            spools[stream] = spool = Spool(STEP_BYTES, open_file=opener(draft, stream))
            digest = StreamDigest(size)
            for start in range(0, size, FETCHED_BYTES):
                stop = min(start + FETCHED_BYTES, size)
                block = bucket.read_range(key_of(record.handle, stream), start, stop)
                digest.update(block)
                spool.write(block)
            spool.lost = record.lost_bytes.get(stream, 0)
            digest.update(b"", spool.lost)
            if digest.digest().hex() != record.digests.get(stream):
                what = "its bytes are not those that were stored"
                if spool.size != size:
                    what = f"it has {spool.size} bytes, not {size}"
                raise DamagedOutput(f"{stream} of {record.handle}", what)
    except BaseException:
        for spool in spools.values():
            spool.close()
        raise
    return spools


def opener(draft: Draft, stream: Stream) -> Callable[[], int]:
    """Return what opens the file of a spool: in the local store, or if that is impossible without a name."""

    def open_file() -> int:
        try:
            return draft.open_file(stream)
        except StoreError:
            return open_nameless_file()

    return open_file


class SharedStream:
    """The bytes of one stream in a bucket.

    fetch: fetches the whole output, and returns this stream of it.
    """

    def __init__(self, bucket: Bucket, key: str, size: int, fetch: Callable[[], Spool]) -> None:
        self._bucket = bucket
        self._key = key
        self._fetch = fetch
        self._fetched: Spool | None = None
        self.size = size
        # By number. Blocks are read as a whole, because they have checksums.
        self._blocks: dict[int, bytes] = {}
        self._may_fetch = True

    def read(self, start: int, stop: int) -> bytes:
        if self._fetched is None and len(self._blocks) * BLOCK_BYTES > MOST_RANGES_BYTES and self._may_fetch:
            try:
                self._take_everything()
            except StoreError:
                # Other parts of it may be damaged: go on with ranges.
                self._may_fetch = False
        if self._fetched is not None:
            return self._fetched.read(start, min(stop, self.size))
        first, end = start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)
        missing = [block for block in range(first, end) if block not in self._blocks]
        if missing:
            begin, stop_at = missing[0], missing[-1] + 1
            found = self._bucket.read_range(
                self._key, begin * BLOCK_BYTES, min(stop_at * BLOCK_BYTES, self.size)
            )
            for block in range(begin, stop_at):
                place = (block - begin) * BLOCK_BYTES
                self._blocks[block] = found[place : place + BLOCK_BYTES]
        data = b"".join([self._blocks[block] for block in range(first, end)])
        return data[start - first * BLOCK_BYTES : stop - first * BLOCK_BYTES]

    def view(self, size: int) -> bytes | mmap:
        return self._take_everything().view()

    def close(self) -> None:
        """Do nothing: the output closes its spools."""

    def _take_everything(self) -> Spool:
        if self._fetched is None:
            self._fetched = self._fetch()
            self._blocks.clear()
        return self._fetched
