"""Write to the local store: fill a temporary directory, then rename it to a stored output."""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.local_layout import RECORD, lock_directory, remove_directory
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tokcap.core.request import Stream
    from tokcap.core.spool import Spool
    from tokcap.store.local_layout import Layout
    from tokcap.store.record import StoredRecord


class LocalDraft:
    """A temporary directory, made when the first file is written. Its lock protects it from cleaning."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._directory = ""
        self._lock = -1
        # Why a file could not be created. The spool then keeps its bytes elsewhere.
        self._failure = ""

    def make_directory(self) -> str:
        """Return the temporary directory. Make it first if necessary."""
        if not self._directory:
            # Each level is checked: a symlink in the path would lead elsewhere.
            private.make_directory(self._layout.data_dir, restrict=False)
            private.make_directory(self._layout.root)
            directory = os.path.join(self._layout.root, private.temporary_name())
            private.make_directory(directory)
            self._directory = directory
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
        # Try this first if nothing is on disk yet: it saves writing an equal output again.
        if not self._directory and self._update_equal(record, files):
            return
        for stream, size in record.stored_bytes.items():
            streams[stream].complete_file(size)
        if self._failure:
            raise StoreError(self._failure)
        self._publish(record, files)

    def close(self) -> None:
        if self._directory:
            remove_directory(self._directory)
            self._directory = ""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _publish(self, record: StoredRecord, files: Mapping[str, bytes]) -> None:
        """Turn the temporary directory into a stored output. A damaged equal output is replaced."""
        target = self._layout.directory_of(record.handle)
        private.make_directory(os.path.dirname(target))
        directory = self.make_directory()
        for name, data in {**files, RECORD: record.packed()}.items():
            private.write_new_file(os.path.join(directory, name), data)
        while not self._layout.publish(directory, target):
            if self._update_equal(record, files):
                return
            if not self._is_complete(target, record):
                self._layout.remove(target)
            # Otherwise another process has just removed it: try again.
        self._directory = ""
        self._layout.write_last(record.handle)

    def _update_equal(self, record: StoredRecord, files: Mapping[str, bytes]) -> bool:
        """Update the record and files of an equal stored output; False if there is none that is complete."""
        target = self._layout.directory_of(record.handle)
        if not private.is_own_directory(target) or not self._is_complete(target, record):
            return False
        self._update(target, record, files)
        # Another process may have removed it during the update.
        if not private.is_own_directory(target):
            return False
        self._layout.write_last(record.handle)
        return True

    def _is_complete(self, target: str, record: StoredRecord) -> bool:
        stored = self._layout.record_in(target)
        if stored is not None and stored.digest != record.digest:
            raise StoreError(f"{target} is another output; remove it with tokcap spill rm {record.handle}")
        return all(
            private.is_own_file(os.path.join(target, stream), size)
            for stream, size in record.stored_bytes.items()
        )

    def _update(self, target: str, record: StoredRecord, files: Mapping[str, bytes]) -> None:
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
            # Either the output was removed, which the caller checks, or it stays as it was.
            pass
