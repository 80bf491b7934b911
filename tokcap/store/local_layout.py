"""The files of the local store: where each output is, and how it is added, listed and removed.

    spill/la/lake917365018/   out  err  record.json  leaves  index-cl100k_base  seek-points
    spill/.new-…/             an output that is being written or removed
    spill/last, last.older    which outputs were stored last (see `local_history`)

An output appears by one rename when it is complete, and disappears by one rename. So readers need no lock,
and an open file can be read to its end.
"""

from __future__ import annotations

import os

from tokcap.errors import StoreError
from tokcap.lean.digest import blake2b, checksum
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.base import ListedOutput
from tokcap.store.handles import is_handle
from tokcap.store.record import StoredRecord
from tokcap.system import private_files as private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tokcap.store.base import Caller

SPILL = "spill"
# One line for each storing: the handle, the time, the process session (a shell in a terminal has one), the
# start of a digest of the tokcap session's name or `-`, and a checksum.
LAST = "last"
# When the file is larger, it gets this name, and a new one begins.
OLDER = "last.older"
LARGEST_LAST_BYTES = 64 << 10
NO_SESSION = "-"
RECORD = "record.json"
# A larger record was not written by tokcap; a command can have long arguments.
LARGEST_RECORD_BYTES = 16 << 20


class Layout:
    """The directories of all stored outputs below one data directory."""

    def __init__(self, data_dir: str, *, is_shared: bool = True) -> None:
        """`is_shared`: other programs may use the data directory, so its permissions are not changed."""
        self.data_dir = data_dir
        self.is_shared = is_shared
        self.root = os.path.join(data_dir, SPILL)

    def make_probe(self) -> str | None:
        """Make a directory for a draft, which shows that outputs can be added; None if the system forbids it.

        Return "" if that is not known: other obstacles are reported when they are met.
        """
        for path in (self.data_dir, self.root):
            if os.path.lexists(path) and not private.is_own_directory(path):
                return ""
        return private.make_probe(self.root)

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

    def directories(self, group: str = "") -> Iterator[str]:
        """Return the directories of all outputs, or of those whose handle starts with the two of `group`."""
        for beginning in [group] if group else sorted(names_in(self.root)):
            path = os.path.join(self.root, beginning)
            if len(beginning) != 2 or not is_handle(beginning) or not private.is_own_directory(path):
                continue
            for handle in names_in(path):
                directory = os.path.join(path, handle)
                if is_handle(handle) and handle.startswith(beginning) and private.is_own_directory(directory):
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
        record = self.record_in(directory)
        sizes = {name: found[name].st_size for name in ("out", "err") if name in found}
        is_damaged = record is None or {**record.stored_bytes} != sizes
        return ListedOutput(os.path.basename(directory), record, size, stored_at, read_at, is_damaged)

    def record_in(self, directory: str) -> StoredRecord | None:
        """Return the record in a directory; None if it is missing or damaged."""
        try:
            data = private.read_file(os.path.join(directory, RECORD), LARGEST_RECORD_BYTES)
            return StoredRecord.unpacked(data)
        except (OSError, ValueError, RecursionError, StoreError):
            return None

    def digest_at(self, handle: str) -> str | None:
        """Return the digest of a stored output: empty if it is unknown, None if there is no such output."""
        directory = self.directory_of(handle)
        if not os.path.lexists(directory):
            return None
        record = self.record_in(directory) if private.is_own_directory(directory) else None
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
            # It was used between the two checks, so it goes back.
            return not self.publish(hidden, directory)
        remove_directory(hidden)
        return True

    def note_stored(self, handle: str, caller: Caller, stored_at: int) -> None:
        """Note that an output was stored now. If that fails, `@last` still names an earlier one."""
        body = f"{handle} {stored_at} {caller.terminal} {session_key(caller.session)}"
        path = os.path.join(self.root, LAST)
        try:
            size = private.append_line(path, f"{body} {checksum(body.encode()).hex()}\n".encode())
            if size > LARGEST_LAST_BYTES:
                os.rename(path, os.path.join(self.root, OLDER))
        except (OSError, StoreError):
            pass


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


def remove_directory(directory: str) -> None:
    """Remove a directory and its contents as far as possible. Symlinks are removed, not followed."""
    try:
        if os.path.islink(directory):
            os.unlink(directory)
            return
        with os.scandir(directory) as files:
            for file in [*files]:
                if file.is_dir(follow_symlinks=False):
                    remove_directory(file.path)
                else:
                    os.unlink(file.path)
        os.rmdir(directory)
    except OSError:
        pass


def names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
