"""A shared directory as a bucket: `file:///mnt/shared/tokcap`. Objects are plain files.

Files are written under a temporary name and then linked or renamed, which network file systems do in one step
too: hosts need no common lock. Who may read the files is decided by the mode of the directory.
"""

from __future__ import annotations

import errno
import os
import stat

from tokcap.errors import StoreError, UsageError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.store.bucket import StoredObject, parts
from tokcap.system.private_files import refusing, remove_file, write_temporary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.store.bucket import Read, SharedUrl

MISSING = (FileNotFoundError, NotADirectoryError)
# File systems without links say one of these.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def path_of(url: SharedUrl) -> str:
    """Return the path that a URL names; `UsageError` if it is not absolute."""
    if url.place:
        raise UsageError(
            "the store's URL must have an absolute path after file://, as in file:///mnt/shared/tokcap"
        )
    return f"/{url.prefix}"


class DirectoryBucket:
    """Objects as files below a directory that exists."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._modes: tuple[int, int] | None = None

    def read(self, key: str, most_bytes: int) -> bytes | None:
        found = self._read(key, 0, most_bytes + 1)
        if found and len(found) > most_bytes:
            raise StoreError(f"{self._path(key)} has more than {most_bytes} bytes, more than tokcap writes")
        return found

    def read_range(self, key: str, start: int, stop: int) -> bytes:
        return self._read(key, start, stop) or b""

    def stat(self, key: str) -> StoredObject | None:
        self._check()
        with refusing(self._path(key)):
            try:
                found = os.lstat(self._path(key))
            except MISSING:
                return None
        return StoredObject(key, found.st_size, found.st_mtime)

    def create(self, key: str, size: int, read: Read) -> bool:
        path = self._path(key)
        self._check()
        if os.path.lexists(path):
            return False
        temporary = self._write_temporary(size, read)
        try:
            with refusing(path):
                return self._publish(temporary, path)
        finally:
            remove_file(temporary)

    def replace(self, key: str, size: int, read: Read) -> None:
        temporary = self._write_temporary(size, read)
        try:
            with refusing(self._path(key)):
                self._make_parent(key)
                os.rename(temporary, self._path(key))
        finally:
            remove_file(temporary)

    def objects(self, directory: str, beginning: str = "") -> Iterator[StoredObject]:
        self._check()
        for found in sorted(self._below(directory), key=lambda found: found.key):
            if found.key >= beginning:
                yield found

    def delete(self, keys: Sequence[str]) -> None:
        self._check()
        for key in keys:
            with refusing(self._path(key)):
                try:
                    os.unlink(self._path(key))
                except MISSING:
                    pass
        for directory in {os.path.dirname(key) for key in keys}:
            while directory:
                try:
                    os.rmdir(self._path(directory))
                except OSError:
                    # Another output is in it.
                    break
                directory = os.path.dirname(directory)

    def _check(self) -> tuple[int, int]:
        """Return the modes of files and directories; `StoreError` if the directory cannot be used."""
        if self._modes is None:
            with refusing(self._root):
                try:
                    found = os.stat(self._root)
                except FileNotFoundError:
                    # Not created: it would take the place of a file system that is not mounted.
                    raise StoreError(
                        f"{self._root} does not exist; create it, or mount the file system"
                    ) from None
            if not stat.S_ISDIR(found.st_mode):
                raise StoreError(f"{self._root} is not a directory")
            if found.st_mode & stat.S_IWOTH:
                raise StoreError(f"every user can write in {self._root}; chmod o-w it")
            mode = stat.S_IMODE(found.st_mode) | 0o700
            self._modes = mode & 0o666, mode
        return self._modes

    def _path(self, key: str) -> str:
        return os.path.join(self._root, key)

    def _read(self, key: str, start: int, stop: int) -> bytes | None:
        """Return a range of a file; None if there is no such file."""
        self._check()
        with refusing(self._path(key)):
            try:
                with open(self._path(key), "rb", opener=open_regular) as file:
                    file.seek(start)
                    return file.read(stop - start)
            except MISSING:
                return None

    def _write_temporary(self, size: int, read: Read) -> str:
        mode, _ = self._check()
        with refusing(self._root):
            return write_temporary(self._root, parts(size, read), mode, sync=True)

    def _publish(self, temporary: str, path: str) -> bool:
        """Give a file its name unless there is one; `OSError` if that fails."""
        for attempt in range(2):
            self._make_parent(os.path.relpath(path, self._root))
            try:
                os.link(temporary, path)
                return True
            except FileExistsError:
                return False
            except FileNotFoundError:
                # Another host has just removed the empty directory.
                if attempt:
                    raise
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
                if os.path.lexists(path):
                    return False
                os.rename(temporary, path)
                return True
        return False

    def _make_parent(self, key: str) -> None:
        _, mode = self._check()
        made = self._root
        for name in os.path.dirname(key).split("/"):
            made = os.path.join(made, name)
            try:
                os.mkdir(made, 0o700)
                os.chmod(made, mode)
            except FileExistsError:
                continue

    def _below(self, directory: str) -> Iterator[StoredObject]:
        with refusing(self._path(directory)):
            try:
                with os.scandir(self._path(directory)) as found:
                    entries = [*found]
            except MISSING:
                return
        for entry in entries:
            key = f"{directory}/{entry.name}" if directory else entry.name
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from self._below(key)
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:
                # Removed meanwhile.
                continue
            yield StoredObject(key, status.st_size, status.st_mtime)


def open_regular(path: str, flags: int) -> int:
    """Open a file as `open` wants it, unless it is a symlink or not a regular file."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path} is not a regular file")
    return descriptor
