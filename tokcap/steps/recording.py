"""The store's part in one run: where output goes while it arrives, its handle, and its entry in the end.

Nothing here fails a run: what cannot be stored is delivered all the same, with one warning. The store itself
is loaded when it is needed, for most outputs are short and never get there.
"""

from __future__ import annotations

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.steps.capture import Spool, open_nameless_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Request, Stream
    from tokcap.core.tokenizer import Tokenizer
    from tokcap.environment import Environment
    from tokcap.store import Draft, EntryRecord, Shelf
    from tokcap.tokens import Index

# So much takes longer to hash than a thread to start.
ASIDE_BYTES = 1 << 20


class Keeping:
    """Spools that can become an entry."""

    def __init__(self, request: Request, tokenizer: Tokenizer, env: Environment) -> None:
        self._request = request
        self._env = env
        # A window at the beginning ends within so many bytes, whatever they are.
        window_tokens = (request.token_limit or 0) + request.token_offset
        self._window_bytes = (window_tokens + 1) * tokenizer.longest_token_bytes
        self._spools: dict[Stream, Spool] = {}
        self._opened: tuple[Shelf, Draft] | None = None
        self._digest = ""
        self._handle = ""
        self._is_stored = False
        # Why nothing can be stored.
        self.failure = ""

    def spool(self, stream: Stream, *, whole: bool) -> Spool:
        """A place for a stream. Unless `whole`, what lies past the window and the store's limit is lost."""
        bounds = {} if whole else {"keep_bytes": max(self._request.max_bytes, self._window_bytes)}
        spool = Spool(open_file=lambda: self._open_file(stream), needed_bytes=self._window_bytes, **bounds)
        self._spools[stream] = spool
        return spool

    def _open(self) -> tuple[Shelf, Draft]:
        if self._opened is None:
            from tokcap.store import Shelf

            shelf = Shelf(self._env)
            self._opened = shelf, shelf.draft()
        return self._opened

    def _open_file(self, stream: Stream) -> int:
        self._take_fingerprint(self._spools[stream])
        try:
            return self._open()[1].create(stream)
        except StoreError as error:
            # It cannot be stored, but it need not stay in memory either.
            self.failure = str(error)
            return open_nameless_file()

    def _take_fingerprint(self, spool: Spool) -> None:
        """Before anything of it goes to a file, or never."""
        if spool.fingerprint is None:
            from tokcap.store.fingerprint import Fingerprint

            spool.fingerprint = Fingerprint(self._request.max_bytes)

    def prepare(self) -> None:
        """All is there. Where that is much, and certainly more than will be shown, begin with the handle."""
        out = self._spools["out"]
        if self._request.token_limit and out.size > max(ASIDE_BYTES, self._window_bytes):
            self._take_fingerprint(out)
            out.hash_aside()

    def handle(self) -> str:
        """The handle that the output has in the store; empty if it cannot have one."""
        if not self._handle and not self.failure:
            from tokcap.store.fingerprint import digest_of

            for spool in self._spools.values():
                self._take_fingerprint(spool)
                spool.seal()
            # An stderr without a word is as good as none: equal outputs have one handle.
            taken = [spool for stream, spool in self._spools.items() if stream == "out" or spool.size]
            self._digest = digest_of(spool.fingerprint for spool in taken if spool.fingerprint)
            self._handle = self._open()[0].handle_for(self._digest)
        return "" if self.failure else self._handle

    def path(self) -> str:
        """Where the output is, or will be."""
        return f"{self._open()[0].place(self.handle())}/out"

    @property
    def truncated(self) -> bool:
        """Whether the store has less than there was."""
        return any(self.lost_bytes().values())

    def stored_bytes(self) -> dict[Stream, int]:
        most = self._request.max_bytes
        return {stream: min(spool.size, most) for stream, spool in self._spools.items()}

    def lost_bytes(self) -> dict[Stream, int]:
        stored = self.stored_bytes()
        return {stream: spool.size + spool.lost - stored[stream] for stream, spool in self._spools.items()}

    def keep(self, record: EntryRecord, indexes: Mapping[Stream, Index]) -> None:
        """Store everything, or raise `StoreError`. Once is enough."""
        if self._is_stored:
            return
        if self.lost_bytes()["out"]:
            # What is left of a document is none, whatever the whole was.
            record = record.but(shape="auto", total_count=None)
        record = record.but(
            handle=self.handle(),
            digest=self._digest,
            # A clock may say that it is before 1970.
            stored_at=max(int(self._env.now()), 0),
            stored_bytes={name: size for name, size in self.stored_bytes().items() if size or name == "out"},
            lost_bytes={name: size for name, size in self.lost_bytes().items() if size},
        )
        files = self._files(indexes)
        shelf, draft = self._open()
        # An equal output need not be written a second time.
        if draft.directory or not shelf.renew(record, files):
            for name in record.stored_bytes:
                self._spools[name].cut_file(self._request.max_bytes)
            if self.failure:
                raise StoreError(self.failure)
            shelf.keep(draft, record, files)
        self._is_stored = True

    def _files(self, indexes: Mapping[Stream, Index]) -> dict[str, bytes]:
        """What was found out on the way and saves time later."""
        from tokcap.store.entry import SEEK_POINTS, index_name

        files = {}
        stored = self.stored_bytes()
        for stream, index in indexes.items():
            # One that reaches behind what is stored would be of another payload.
            if index.storable and index.checkpoints.bytes[-1] <= stored[stream]:
                files[index_name(stream, index.tokenizer)] = index.checkpoints.packed(stored[stream])
        seek_points = self._spools["out"].seek_points
        if seek_points.changed and seek_points.last_byte <= stored["out"]:
            files[SEEK_POINTS] = seek_points.packed()
        return files

    def close(self) -> None:
        """Remove what did not become an entry. After storing, make room if it is time for that."""
        for spool in self._spools.values():
            spool.close()
        if self._opened is None:
            return
        shelf, draft = self._opened
        draft.close()
        if self._is_stored:
            from tokcap.store import Retention, clean_if_due

            retention = Retention(self._request.spill_days, self._request.spill_total)
            clean_if_due(shelf, retention, sum(self.stored_bytes().values()), self._env.now())
