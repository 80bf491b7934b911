"""Write to the local store: fill a temporary directory, then rename it to a stored output."""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import FOR_THE_CACHE
from tokcap.store.local_layout import RECORD, lock_directory, remove_directory
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokcap.core.request import Stream
    from tokcap.core.spool import Spool
    from tokcap.store.base import Caller
    from tokcap.store.local_layout import Layout
    from tokcap.store.record import StoredRecord


class LocalDraft:
    """A temporary directory, made when the first file is written. Its lock protects it from cleaning."""

    not_shared = ""

    def __init__(self, layout: Layout, caller: Caller, probe: str = "") -> None:
        """`probe` is a directory that was made to find out whether that is allowed. It becomes the
        directory of the draft: to remove it and make another one takes about 0.2 ms.
        """
        self._layout = layout
        self._probe = probe
        self._caller = caller
        self._directory = ""
        self._lock = -1
        # Why a file could not be created. The spool then keeps its bytes elsewhere.
        self._failure = ""

    def make_directory(self) -> str:
        """Return the temporary directory. Make it first if necessary."""
        if not self._directory:
            # Each level is checked: a symlink in the path would lead elsewhere.
            private.make_directory(self._layout.data_dir, restrict=not self._layout.is_shared)
            private.make_directory(self._layout.root)
            directory = self._probe or os.path.join(self._layout.root, private.temporary_name())
            private.make_directory(directory)
            self._directory, self._probe = directory, ""
            self._lock = lock_directory(directory)
        return self._directory

    def open_file(self, stream: Stream) -> int:
        try:
            return private.create_file(os.path.join(self.make_directory(), stream))
        except StoreError as error:
            self._failure = str(error)
            raise

    def commit(
        self, record: StoredRecord, streams: Mapping[Stream, Spool], files: Mapping[str, bytes]
    ) -> None:
        target = self._layout.directory_of(record.handle)
        # Reading an equal output is faster than writing it again. On a full disk it is the only way.
        is_written = self._directory and not any(spool.failure for spool in streams.values())
        is_stored = not is_written and self._has_equal(target, record, streams)
        if is_stored and self._update(target, record, files):
            return
        for stream, size in record.stored_bytes.items():
            streams[stream].complete_file(size)
        if self._failure:
            raise StoreError(self._failure)
        self._publish(target, record, files)

    def close(self) -> None:
        if self._probe:
            remove_directory(self._probe)
            self._probe = ""
        if self._directory:
            remove_directory(self._directory)
            self._directory = ""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _publish(self, target: str, record: StoredRecord, files: Mapping[str, bytes]) -> None:
        """Turn the temporary directory into a stored output. If there is an equal output, replace its bytes.

        They may be damaged. To find that out they would have to be read, and the new ones are there already.
        """
        private.make_directory(os.path.dirname(target))
        directory = self.make_directory()
        for name, data in {**files, RECORD: record.packed()}.items():
            private.write_new_file(os.path.join(directory, name), data)
        while not self._layout.publish(directory, target):
            self._check_digest(target, record)
            if self._replace_streams(target, record.stored_bytes) and self._update(target, record, files):
                return
        self._directory = ""
        self._note_stored(record)

    def _has_equal(self, target: str, record: StoredRecord, streams: Mapping[Stream, Spool]) -> bool:
        """Return whether the store has the same bytes."""
        if not private.is_own_directory(target):
            return False
        self._check_digest(target, record)
        return all(
            private.has_content(os.path.join(target, stream), size, streams[stream].read)
            for stream, size in record.stored_bytes.items()
        )

    def _check_digest(self, target: str, record: StoredRecord) -> None:
        stored = self._layout.record_in(target)
        if stored is not None and stored.digest != record.digest:
            raise StoreError(f"{target} is another output; remove it with tokcap spill rm {record.handle}")

    def _replace_streams(self, target: str, streams: Iterable[Stream]) -> bool:
        """Replace the bytes of an equal output, one file after the other; False to try again.

        A reader finds the old bytes or the new ones. The draft keeps its own links until it is closed:
        another process may remove the output meanwhile.
        """
        temporary = os.path.join(target, private.temporary_name())
        try:
            for stream in streams:
                os.link(os.path.join(self._directory, stream), temporary)
                os.rename(temporary, os.path.join(target, stream))
        except FileNotFoundError:
            return False
        except OSError:
            # Something else has this name, or the file system has no links: remove the output first.
            self._layout.remove(target)
            return False
        return True

    def _update(self, target: str, record: StoredRecord, files: Mapping[str, bytes]) -> bool:
        """Update the record and files of an equal output; False if another process has removed it."""
        stored = self._layout.record_in(target)
        try:
            # First, so that cleaning keeps it from now on.
            os.utime(os.path.join(target, "out"), follow_symlinks=False)
            for name, data in files.items():
                # The longer index covers more.
                path = os.path.join(target, name)
                if not os.path.exists(path) or os.path.getsize(path) < len(data):
                    private.replace_file(path, data)
            if stored is not None:
                record = stored.updated(record)
            private.replace_file(os.path.join(target, RECORD), record.packed())
        except (OSError, StoreError):
            # Either the output was removed, or it stays as it was.
            pass
        if not private.is_own_directory(target):
            return False
        self._note_stored(record)
        return True

    def _note_stored(self, record: StoredRecord) -> None:
        if self._caller != FOR_THE_CACHE:
            self._layout.note_stored(record.handle, self._caller, record.stored_at)
