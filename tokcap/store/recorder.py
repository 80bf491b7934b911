"""The recorder of one run: spools for its streams, then a handle, then a stored output.

Nothing here fails a run: an output that cannot be stored is shown without a handle, with a warning. The
store is opened when it is needed, because most outputs are short and are never stored.
"""

from __future__ import annotations

from tokcap.core.payload import RUNS_ON, Spool, open_nameless_file
from tokcap.core.request import AUTO
from tokcap.core.response import Notice
from tokcap.errors import StoreError
from tokcap.exits import OWN_FAILURE
from tokcap.startup.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from tokcap.core.digest import StreamDigest
    from tokcap.core.request import Request, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.store.base import Caller, Draft, Store, StoredRecord, Ticket
    from tokcap.store.running import Announced

    class Checkpoints(Protocol):
        @property
        def bytes(self) -> Sequence[int]: ...

    class TokenIndex(Protocol):
        """What the recorder uses of a token index (see `tokens.index`)."""

        @property
        def identity(self) -> str: ...
        @property
        def storable(self) -> bool: ...
        @property
        def checkpoints(self) -> Checkpoints: ...
        def packed(self, size: int) -> bytes: ...


class RecorderSettings(Record):
    """What a recorder needs to know about its run."""

    # Store at most this much of each stream.
    max_bytes: int
    # The window certainly ends before this position, if there is a limit.
    window_bytes: int
    retention_days: int
    retention_bytes: int
    # What others learn about while it is running; None: nothing.
    request: Request | None = None


def settings_of(request: Request, tokenizer: Tokenizer) -> RecorderSettings:
    window_tokens = (request.token_limit or 0) + request.token_offset
    return RecorderSettings(
        max_bytes=request.max_bytes,
        window_bytes=(window_tokens + 1) * tokenizer.longest_token_bytes,
        retention_days=request.spill_days,
        retention_bytes=request.spill_total,
        request=request,
    )


class HashedSpool(Spool):
    """A spool that hashes its bytes when they move to a file, and the rest when the digest is wanted."""

    def __init__(
        self,
        hashed_bytes: int,
        open_file: Callable[[], int],
        announce: Callable[[], None],
        needed_bytes: int,
        **bounds: int,
    ) -> None:
        super().__init__(open_file=open_file, needed_bytes=needed_bytes, **bounds)
        self._announce = announce
        self._hashed_bytes = hashed_bytes
        self._digest: StreamDigest | None = None
        self._hashed_to = 0
        self._is_complete = False

    def write(self, block: bytes) -> None:
        if block is RUNS_ON:
            self._announce()
        elif block:
            super().write(block)

    def complete_digest(self) -> StreamDigest:
        """Return the digest of the whole stream. All its bytes must have been written."""
        digest = self._hash()
        if not self._is_complete:
            self._is_complete = True
            digest.update(b"", self.lost)
        return digest

    def _before_move(self) -> None:
        self._hash()

    def _hash(self) -> StreamDigest:
        """Hash the bytes in memory that are not hashed yet."""
        if self._digest is None:
            from tokcap.core.digest import StreamDigest

            self._digest = StreamDigest(self._hashed_bytes)
        if self._hashed_to < self.size:
            with memoryview(self._memory) as memory:
                self._digest.update(memory[max(self._hashed_to - self._file_size, 0) :])
            self._hashed_to = self.size
        return self._digest


class Recorder:
    """Collects the output of one run and stores it on demand."""

    def __init__(
        self,
        settings: RecorderSettings,
        open_store: Callable[[], Store],
        now: Callable[[], float],
        caller: Callable[[], Caller] | None = None,
    ) -> None:
        self._settings = settings
        self._caller = caller
        self._open_store = open_store
        self._now = now
        self._spools: dict[Stream, HashedSpool] = {}
        self._opened: tuple[Store, Draft] | None = None
        self._digest = ""
        self._digests: dict[Stream, StreamDigest] = {}
        self._ticket: Ticket | None = None
        self._is_stored = False
        # What others know about the output while it is running, if that is long; and how it ends.
        self._announced: Announced | None = None
        self.status = OWN_FAILURE
        # Why nothing can be stored; empty if nothing went wrong.
        self.failure = ""
        # Why other hosts cannot read what was stored; empty if nothing went wrong.
        self.not_shared = ""

    def spool(self, stream: Stream, *, whole: bool) -> Spool:
        """Return a spool for a stream. Unless `whole`, it keeps only what the window and the store need."""
        settings = self._settings
        bounds = {} if whole else {"keep_bytes": max(settings.max_bytes, settings.window_bytes)}
        spool = HashedSpool(
            settings.max_bytes,
            lambda: self._open_file(stream),
            self.announce,
            settings.window_bytes,
            **bounds,
        )
        self._spools[stream] = spool
        return spool

    def announce(self) -> None:
        """Let others read the output while it is running, under a name of its own, if there is a store."""
        request = self._settings.request
        if self._announced or self.failure or not request:
            return
        from tokcap.store.running import Running

        command = request.command if request.record_arguments and not request.redact else ()
        running = Running(request.running, self._now(), command, request.token_limit, request.max_bytes)
        try:
            self._announced = self._open()[1].announce(running)
        except StoreError:
            # Storing reports it, if that is needed.
            return
        for spool in self._spools.values():
            spool.write_through()

    @property
    def name(self) -> str:
        """The name of the output while it is running; empty if it has none yet."""
        return self._announced.running.name if self._announced else ""

    @property
    def is_read(self) -> bool:
        """Whether somebody has read the output while it was running."""
        return self._announced is not None and self._announced.is_read

    def reserve(self) -> Ticket | None:
        """Complete the digest and choose the handle; None, with `failure` set, if nothing can be stored.

        Call this when all bytes have been written. Nothing is written to the store.
        """
        if self._ticket is None and not self.failure:
            from tokcap.core.digest import digest_of_output
            from tokcap.store.base import Ticket

            # An empty stderr is the same as none: equal outputs have one handle.
            self._digests = {
                stream: spool.complete_digest()
                for stream, spool in self._spools.items()
                if stream == "out" or spool.size
            }
            self._digest = digest_of_output(digest.digest() for digest in self._digests.values())
            stored = {
                stream: min(spool.size, self._settings.max_bytes) for stream, spool in self._spools.items()
            }
            lost = {
                stream: spool.size + spool.lost - stored[stream] for stream, spool in self._spools.items()
            }
            try:
                store = self._open()[0]
                handle = store.handle_for(self._digest)
                directory = store.local_path(handle)
                path = None if directory is None else f"{directory}/out"
                self._ticket = Ticket(handle, path, stored, lost)
            except StoreError as error:
                self.failure = str(error)
        return None if self.failure else self._ticket

    def commit(self, record: StoredRecord, indexes: Mapping[Stream, TokenIndex]) -> None:
        """Store the output, its record and its indexes, or raise `StoreError`. A second call does nothing."""
        if self._is_stored:
            return
        ticket = self.reserve()
        if ticket is None:
            raise StoreError(self.failure)
        if ticket.lost_bytes["out"]:
            # The beginning of a document is not a document.
            record = record.replace(shape=AUTO, total_count=None)
        record = record.replace(
            handle=ticket.handle,
            digest=self._digest,
            digests={name: digest.digest().hex() for name, digest in self._digests.items()},
            # A wrong clock can show a time before 1970.
            stored_at=max(int(self._now()), 0),
            stored_bytes={name: size for name, size in ticket.stored_bytes.items() if size or name == "out"},
            lost_bytes={name: size for name, size in ticket.lost_bytes.items() if size},
        )
        files = self._files(indexes, ticket)
        draft = self._open()[1]
        try:
            draft.commit(record, self._spools, files)
        except StoreError as error:
            self.failure = str(error)
            raise
        self._is_stored = True
        self.not_shared = draft.not_shared

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader has to know about the stored output."""
        if not self.not_shared:
            return ()
        return (Notice("NOT_SHARED", f"other hosts cannot read this output: {self.not_shared}"),)

    def close(self) -> None:
        """Remove what was not stored. After storing, clean the store if that is due."""
        for spool in self._spools.values():
            spool.close()
        if self._opened is None:
            return
        store, draft = self._opened
        if self._announced:
            self._announced.end(self._ticket.handle if self._is_stored and self._ticket else "", self.status)
        draft.close()
        if self._is_stored and self._ticket:
            from tokcap.store.base import Retention

            retention = Retention(self._settings.retention_days, self._settings.retention_bytes)
            store.clean_if_due(retention, sum(self._ticket.stored_bytes.values()), self._now())

    def _open(self) -> tuple[Store, Draft]:
        if self._opened is None:
            store = self._open_store()
            self._opened = store, store.draft(self._caller()) if self._caller else store.draft()
        return self._opened

    def _open_file(self, stream: Stream) -> int:
        try:
            return self._open()[1].open_file(stream)
        except StoreError as error:
            # The output cannot be stored, but it should not fill the memory either.
            self.failure = str(error)
            return open_nameless_file()

    def _files(self, indexes: Mapping[Stream, TokenIndex], ticket: Ticket) -> dict[str, bytes]:
        """Return what is stored besides the streams: indexes, seek points and checksums."""
        from tokcap.store.base import SEEK_POINTS, index_name

        files = {}
        for stream, index in indexes.items():
            size = ticket.stored_bytes[stream]
            # An index of more bytes than are stored would belong to another payload.
            if index.storable and index.checkpoints.bytes[-1] <= size:
                files[index_name(stream, index.identity)] = index.packed(size)
        seek_points = self._spools["out"].seek_points_if_used
        if seek_points and seek_points.changed and seek_points.last_byte <= ticket.stored_bytes["out"]:
            files[SEEK_POINTS] = seek_points.packed()
        for stream, digest in self._digests.items():
            if digest.has_blocks:
                from tokcap.core.digest import checksums_file

                name, data = checksums_file(stream, digest, ticket.lost_bytes[stream])
                files[name] = data
        return files
