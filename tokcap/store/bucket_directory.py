"""A shared directory as a bucket: `file:///mnt/shared/tokcap`. Objects are plain files.

Files are written under a temporary name and then linked or renamed, which network file systems do in one step
too: hosts need no common lock. Who may read the files is decided by the mode of the directory.
"""

from __future__ import annotations

import errno
import os
import stat

from tokcap.errors import StoreError, UsageError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.store.bucket import Content, StoredObject, parts, reader_of
from tokcap.system.descriptors import write_all
from tokcap.system.private_files import refused, temporary_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tokcap.environment import Environment
    from tokcap.store.bucket import Read
    from tokcap.store.shared_url import SharedUrl

# File systems without links say one of these.
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


def open_directory(url: SharedUrl, env: Environment) -> DirectoryBucket:
    """Return the bucket in the directory of a URL."""
    return DirectoryBucket(path_of(url))


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

    def read(self, key: str, most_bytes: int) -> Content | None:
        try:
            descriptor = self._open(key)
        except FileNotFoundError:
            return None
        try:
            found = os.fstat(descriptor)
            if found.st_size > most_bytes:
                raise StoreError(f"{self._path(key)} has {found.st_size} bytes, more than tokcap writes")
            data = read_fully(descriptor, 0, found.st_size)
            return Content(data, found.st_mtime, version_of(found))
        except OSError as error:
            raise refused(self._path(key), error) from None
        finally:
            os.close(descriptor)

    def read_range(self, key: str, start: int, stop: int) -> bytes:
        try:
            descriptor = self._open(key)
        except FileNotFoundError:
            return b""
        try:
            return read_fully(descriptor, start, stop)
        except OSError as error:
            raise refused(self._path(key), error) from None
        finally:
            os.close(descriptor)

    def stat(self, key: str) -> StoredObject | None:
        self._check()
        try:
            found = os.lstat(self._path(key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise refused(self._path(key), error) from None
        return StoredObject(key, found.st_size, found.st_mtime)

    def create(self, key: str, size: int, read: Read) -> bool:
        path = self._path(key)
        self._check()
        if os.path.lexists(path):
            return False
        temporary = self._write_temporary(size, read)
        try:
            return self._publish(temporary, path)
        except OSError as error:
            raise refused(path, error) from None
        finally:
            remove(temporary)

    def replace(self, key: str, size: int, read: Read) -> None:
        temporary = self._write_temporary(size, read)
        try:
            self._make_parent(key)
            os.rename(temporary, self._path(key))
        except OSError as error:
            remove(temporary)
            raise refused(self._path(key), error) from None

    def update(self, key: str, data: bytes, version: str) -> bool:
        try:
            if version_of(os.lstat(self._path(key))) != version:
                return False
        except OSError:
            return False
        self.replace(key, len(data), reader_of(data))
        return True

    def objects(self, directory: str, beginning: str = "") -> Iterator[StoredObject]:
        self._check()
        for found in sorted(self._below(directory), key=lambda found: found.key):
            if found.key >= beginning:
                yield found

    def delete(self, keys: Sequence[str]) -> None:
        self._check()
        for key in keys:
            path = self._path(key)
            try:
                os.unlink(path)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                raise refused(path, error) from None
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
            try:
                found = os.stat(self._root)
            except FileNotFoundError:
                # Not created: it would take the place of a file system that is not mounted.
                raise StoreError(
                    f"{self._root} does not exist; create it, or mount the file system"
                ) from None
            except OSError as error:
                raise refused(self._root, error) from None
            if not stat.S_ISDIR(found.st_mode):
                raise StoreError(f"{self._root} is not a directory")
            if found.st_mode & stat.S_IWOTH:
                raise StoreError(f"every user can write in {self._root}; chmod o-w it")
            mode = stat.S_IMODE(found.st_mode) | 0o700
            self._modes = mode & 0o666, mode
        return self._modes

    def _path(self, key: str) -> str:
        return os.path.join(self._root, key)

    def _open(self, key: str) -> int:
        self._check()
        path = self._path(key)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError from None
        except OSError as error:
            raise refused(path, error) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise StoreError(f"{path} is not a regular file")
        return descriptor

    def _write_temporary(self, size: int, read: Read) -> str:
        mode, _ = self._check()
        path = self._path(temporary_name())
        try:
            descriptor = os.open(
                path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
            )
            try:
                os.fchmod(descriptor, mode)
                for part in parts(size, read):
                    write_all(descriptor, part)
                # A server that is full, or over a quota, may say so only now.
                os.fsync(descriptor)
            except BaseException:
                remove(path)
                raise
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refused(path, error) from None
        return path

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
        try:
            with os.scandir(self._path(directory)) as found:
                entries = [*found]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            raise refused(self._path(directory), error) from None
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


def version_of(found: os.stat_result) -> str:
    return f"{found.st_ino}-{found.st_mtime_ns}"


def read_fully(descriptor: int, start: int, stop: int) -> bytes:
    found = []
    while start < stop and (part := os.pread(descriptor, stop - start, start)):
        found.append(part)
        start += len(part)
    return b"".join(found)


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
