"""The files of the local store: where each output is, and how it is added, listed and removed.

    spill/la/lake917365018/   out  err  record.json  blocks  index-cl100k_base  seek-points
    spill/.new-…/             an output that is being written or removed
    spill/last, last.older    which outputs were stored last (see `local.Stored`)

An output appears by one rename when it is complete, and disappears by one rename. So readers need no lock,
and an open file can be read to its end.
"""

from __future__ import annotations

import os

from tokcap.core.digest import blake2b, checksum
from tokcap.errors import StoreError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.base import FOR_THE_CACHE, RECORD, ListedOutput, StoredRecord
from tokcap.store.handles import is_handle
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tokcap.core.payload import Spool
    from tokcap.core.request import Stream
    from tokcap.store.base import Caller
    from tokcap.store.running import Announced, Running

SPILL = "spill"
# One line for each storing: the handle, the time, the process session (a shell in a terminal has one), the
# start of a digest of the tokcap session's name or `-`, and a checksum.
LAST = "last"
# When the file is larger, it gets this name, and a new one begins.
OLDER = "last.older"
LARGEST_LAST_BYTES = 64 << 10
NO_SESSION = "-"
# A larger record was not written by tokcap; a command can have long arguments.
LARGEST_RECORD_BYTES = 16 << 20
COMPARED_BYTES = 1 << 20

# Cleaning looks at every output. So it is done once in this time, or when this share of the total was stored.
CLEAN_SECONDS = 10 * 60
CLEAN_SHARE = 16
CLEANED = ".cleaned"


class Layout:
    """The directories of all stored outputs below one data directory."""

    def __init__(self, data_dir: str, *, is_shared: bool = True) -> None:
        """`is_shared`: other programs may use the data directory, so its permissions are not changed."""
        self.data_dir = data_dir
        self.is_shared = is_shared
        self.root = os.path.join(data_dir, SPILL)

    def is_forbidden(self) -> bool:
        """Return whether the system forbids to add outputs. Other obstacles are reported when they are met.

        Only trying shows what a sandbox forbids: permissions may allow it. If the root is missing, the
        nearest directory above it is tried.
        """
        for path in (self.data_dir, self.root):
            if os.path.lexists(path) and not private.is_own_directory(path):
                return False
        existing = self.root
        while not os.path.lexists(existing) and os.path.dirname(existing) != existing:
            existing = os.path.dirname(existing)
        tried = os.path.join(existing, private.temporary_name())
        try:
            private.make_one_directory(tried)
            os.rmdir(tried)
        except OSError as error:
            from errno import EACCES, EPERM, EROFS

            return error.errno in (EACCES, EPERM, EROFS)
        return False

    def check_owner(self) -> None:
        """Refuse to read where another user could have put files; `StoreError`."""
        for path in (self.data_dir, self.root):
            if os.path.lexists(path) and not private.is_own_directory(path):
                raise StoreError(
                    f"{path} is a symlink or not a directory that you own; set TOKCAP_DATA_DIR to one"
                )

    def directory_of(self, handle: str) -> str:
        """Return the directory that the output has or would have."""
        return os.path.join(self.root, handle[:2], handle)

    def directories(self, beginning: str = "") -> Iterator[str]:
        """Return the directories of all outputs whose handle starts with `beginning`."""
        for group in [beginning[:2]] if len(beginning) > 1 else sorted(names_in(self.root)):
            path = os.path.join(self.root, group)
            if len(group) != 2 or not is_handle(group) or not private.is_own_directory(path):
                continue
            for handle in names_in(path):
                directory = os.path.join(path, handle)
                is_wanted = handle.startswith(group) and handle.startswith(beginning) and is_handle(handle)
                if is_wanted and private.is_own_directory(directory):
                    yield directory

    def listed(self, directory: str) -> ListedOutput | None:
        """Return the output in a directory as a list shows it; None if it is gone."""
        try:
            read_at = os.lstat(directory).st_mtime
            with os.scandir(directory) as files:
                found = {file.name: file.stat(follow_symlinks=False) for file in files}
        except OSError:
            return None
        # `out` is never written again, unlike the record.
        stored_at = found["out"].st_mtime if "out" in found else read_at
        size = sum(status.st_size for status in found.values())
        record = record_in(directory)
        sizes = {name: found[name].st_size for name in ("out", "err") if name in found}
        is_damaged = record is None or {**record.stored_bytes} != sizes
        return ListedOutput(os.path.basename(directory), record, size, stored_at, read_at, is_damaged)

    def digest_at(self, handle: str) -> str | None:
        """Return the digest of a stored output: empty if it is unknown, None if there is no such output."""
        directory = self.directory_of(handle)
        if not os.path.lexists(directory):
            return None
        record = record_in(directory) if private.is_own_directory(directory) else None
        return record.digest if record else ""

    def publish(self, source: str, directory: str) -> bool:
        """Rename a complete directory to its place; False if there is one already."""
        try:
            os.rename(source, directory)
        except OSError as error:
            from errno import EEXIST, ENOTEMPTY

            if error.errno in (ENOTEMPTY, EEXIST):
                return False
            raise private.refused(directory, error) from None
        return True

    def remove(self, directory: str, unless: Callable[[ListedOutput], bool] | None = None) -> bool:
        """Hide an output by one rename, then remove its files. Return whether it is gone.

        If `unless` returns True for its current state, it stays: it may just have been stored or read.
        """
        hidden = os.path.join(self.root, private.temporary_name())
        before = self.listed(directory)
        if before is not None and unless is not None and unless(before):
            return False
        try:
            os.rename(directory, hidden)
        except FileNotFoundError:
            return True
        except OSError as error:
            raise private.refused(directory, error) from None
        now = self.listed(hidden)
        if now is not None and unless is not None and unless(now):
            # The output was used between the two checks, so it goes back.
            return not self.publish(hidden, directory)
        remove_all(hidden)
        return True

    def note_stored(self, handle: str, caller: Caller, stored_at: int) -> None:
        """Note that an output was stored now. If that fails, `@last` still names an earlier one."""
        body = f"{handle} {stored_at} {caller.terminal} {session_key(caller.session)}"
        path = os.path.join(self.root, LAST)
        try:
            line = f"{body} {checksum(body.encode()).hex()}\n".encode()
            size = private.write_line(path, line)
            if size > LARGEST_LAST_BYTES:
                os.rename(path, os.path.join(self.root, OLDER))
        except (OSError, StoreError):
            pass

    def is_cleaning_due(self, most_bytes: int, stored_bytes: int, now: float) -> bool:
        """Return whether the outputs have to be cleaned, after another one of `stored_bytes` was stored."""
        path = os.path.join(self.root, CLEANED)
        try:
            words = private.read_file(path, 100).split()
            cleaned_at, since_bytes = int(words[0]), int(words[1])
        except FileNotFoundError:
            cleaned_at, since_bytes = int(now), 0
        except (StoreError, ValueError, IndexError):
            cleaned_at, since_bytes = 0, 0
        since_bytes += stored_bytes
        is_due = not 0 <= now - cleaned_at < CLEAN_SECONDS or since_bytes * CLEAN_SHARE > most_bytes
        try:
            # Before cleaning, so that other processes do not clean at the same time. In place: file systems
            # write a renamed file to the disk at once, which takes longer than the rest of a small run.
            line = b"%020d %020d\n" % ((int(now), 0) if is_due else (cleaned_at, since_bytes))
            private.write_line(path, line, os.O_WRONLY)
        except StoreError:
            # Cleaning too often is better than never.
            pass
        return is_due


class LocalDraft:
    """An output that is being stored: a temporary directory, which is renamed when it is complete.

    It is made when the first file is written. Its lock protects it from cleaning.
    """

    not_shared = ""

    def __init__(self, layout: Layout, caller: Caller) -> None:
        self._layout = layout
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

    def announce(self, running: Running) -> Announced:
        from tokcap.store.running import Announced

        caller = self._caller
        session = session_key(caller.session)
        found = running.replace(
            draft=self.make_directory(), pid=os.getpid(), terminal=caller.terminal, session=session
        )
        return Announced.begin(self._layout.root, found)

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
        if self._directory:
            remove_all(self._directory)
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
            check_digest(target, record)
            if self._replace_streams(target, record.stored_bytes) and self._update(target, record, files):
                return
        self._directory = ""
        self._note_stored(record)

    def _has_equal(self, target: str, record: StoredRecord, streams: Mapping[Stream, Spool]) -> bool:
        """Return whether the store has the same bytes."""
        if not private.is_own_directory(target):
            return False
        check_digest(target, record)
        sizes = record.stored_bytes.items()
        return all(has_content(os.path.join(target, stream), size, streams[stream]) for stream, size in sizes)

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
        stored = record_in(target)
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


def record_in(directory: str) -> StoredRecord | None:
    """Return the record in a directory; None if it is missing or damaged."""
    try:
        return StoredRecord.unpacked(private.read_file(os.path.join(directory, RECORD), LARGEST_RECORD_BYTES))
    except (OSError, ValueError, RecursionError, StoreError):
        return None


def check_digest(target: str, record: StoredRecord) -> None:
    """Refuse to store an output where another one is."""
    stored = record_in(target)
    if stored is not None and stored.digest != record.digest:
        raise StoreError(f"{target} is another output; remove it with tokcap spill rm {record.handle}")


def has_content(path: str, size: int, expected: Spool) -> bool:
    """Return whether a file of ours has the first `size` bytes of a spool, and no others."""
    try:
        descriptor = private.open_file(path)
    except (OSError, StoreError):
        return False
    try:
        if os.fstat(descriptor).st_size != size:
            return False
        for start in range(0, size, COMPARED_BYTES):
            stop = min(start + COMPARED_BYTES, size)
            if os.pread(descriptor, stop - start, start) != expected.read(start, stop):
                return False
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def session_key(session: str) -> str:
    """Return the name of a session in a form that has no blanks; `-` for none."""
    if not session:
        return NO_SESSION
    return blake2b(session.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def lock_directory(directory: str) -> int:
    """Lock a directory and return its descriptor; -1 if it cannot be locked or another process has it."""
    import fcntl

    try:
        descriptor = private.open_directory(directory)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def remove_all(path: str) -> None:
    """Remove a file, or a directory and its contents, as far as possible. Symlinks are not followed."""
    try:
        if os.path.islink(path) or not os.path.isdir(path):
            os.unlink(path)
            return
        for name in os.listdir(path):
            remove_all(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        pass


def names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
