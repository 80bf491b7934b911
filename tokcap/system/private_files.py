"""Make, open and replace files safely.

Most functions are for private files: everything below the data directory. Their modes are 0700 and 0600
whatever the umask is, symlinks are not followed, and a directory or file of another user is refused, because
that user could put anything there. `change_file` is for files of the user that other programs change too.
"""

from __future__ import annotations

import os
import stat

from tokcap.errors import StoreError
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from collections.abc import Iterable

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

READ_BYTES = 1 << 20
LINK = "{} is a symbolic link, which tokcap does not follow"

FOLLOW_NOTHING = os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: str, *, restrict: bool = True) -> None:
    """Make a private directory, or check that an existing one is ours; `StoreError` otherwise.

    restrict: if others can access an existing directory, change its mode. Use False for a directory that
    other programs may share.
    """
    with refusing(path):
        try:
            descriptor = open_directory(path)
        except FileNotFoundError:
            make_missing_directories(path)
            descriptor = open_directory(path)
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid():
                raise StoreError(
                    f"{path} belongs to another user; set TOKCAP_DATA_DIR to a directory of yours"
                )
            if restrict and stat.S_IMODE(found.st_mode) != DIRECTORY_MODE:
                os.fchmod(descriptor, DIRECTORY_MODE)
        finally:
            os.close(descriptor)


def make_missing_directories(path: str) -> None:
    """Make a directory and its missing parents, all of them private."""
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        make_missing_directories(parent)
    try:
        make_one_directory(path)
    except FileExistsError:
        pass


def make_one_directory(path: str) -> None:
    """Make a private directory; `OSError` if that fails."""
    os.mkdir(path, DIRECTORY_MODE)
    # The umask may have removed permissions that the owner needs. The umask itself is not changed, because
    # it belongs to the whole process and another thread may be creating files.
    if stat.S_IMODE(os.lstat(path).st_mode) & DIRECTORY_MODE != DIRECTORY_MODE:
        os.chmod(path, DIRECTORY_MODE)


def open_directory(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NOTHING)


def is_own_directory(path: str) -> bool:
    """Return whether the path is a directory of ours, not a symlink to one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def check_own_regular(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise StoreError(f"{path} is not a regular file or not owned by you; remove it")


def create_file(path: str) -> int:
    """Create a private file and return its descriptor for reading and writing; refuse an existing one."""
    with refusing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FOLLOW_NOTHING, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
        return descriptor


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file of ours, by default for reading; `FileNotFoundError` if it is missing.

    One that may be written is made private, because the umask may have taken other rights.
    """
    with refusing(path, but_missing=True):
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, flags | os.O_NONBLOCK | FOLLOW_NOTHING, FILE_MODE)
        try:
            found = os.fstat(descriptor)
            check_own_regular(path, found)
            if flags != os.O_RDONLY and stat.S_IMODE(found.st_mode) != FILE_MODE:
                os.fchmod(descriptor, FILE_MODE)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


def own_file(path: str) -> os.stat_result:
    """Examine an existing file of ours, and make it private; `FileNotFoundError` if it is missing.

    For files that a library opens by name. The file is not opened here: closing any descriptor of a file
    releases all POSIX locks that this process has on it.
    """
    with refusing(path, but_missing=True):
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            raise StoreError(LINK.format(path))
        check_own_regular(path, found)
        if stat.S_IMODE(found.st_mode) != FILE_MODE:
            os.chmod(path, FILE_MODE)
        return found


def read_file(path: str, most_bytes: int) -> bytes:
    """Return the contents of a small file of ours; `FileNotFoundError` if it is missing."""
    descriptor = open_file(path)
    try:
        with refusing(path):
            data = b""
            while len(data) <= most_bytes and (block := os.read(descriptor, READ_BYTES)):
                data += block
    finally:
        os.close(descriptor)
    if len(data) > most_bytes:
        raise StoreError(f"{path} is larger than any file that tokcap writes there; remove it")
    return data


def write_new_file(path: str, data: bytes) -> None:
    """Write a new private file. Readers may see a part of it, so use this only in a temporary directory."""
    descriptor = create_file(path)
    try:
        with refusing(path):
            write_all(descriptor, data)
    finally:
        os.close(descriptor)


def write_temporary(
    directory: str,
    parts: Iterable[bytes],
    mode: int = FILE_MODE,
    *,
    owner: tuple[int, int] | None = None,
    sync: bool = False,
) -> str:
    """Write a file under a temporary name, and return its path; `OSError` if that fails.

    sync: after a crash of the machine, the file is complete. A server that is full says so only then.
    """
    path = os.path.join(directory, temporary_name())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FOLLOW_NOTHING, FILE_MODE)
    try:
        try:
            for part in parts:
                write_all(descriptor, part)
            if owner not in (None, (os.geteuid(), os.getegid())):
                os.fchown(descriptor, *owner)
            os.fchmod(descriptor, mode)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        remove_file(path)
        raise
    return path


def remove_file(path: str) -> None:
    """Remove a file, if that is possible."""
    try:
        os.unlink(path)
    except OSError:
        pass


def replace_file(path: str, data: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that readers never see a part of it."""
    with refusing(path):
        temporary = write_temporary(os.path.dirname(path), [data])
        try:
            os.rename(temporary, path)
        except OSError:
            remove_file(temporary)
            raise


def write_line(path: str, line: bytes, flags: int = os.O_WRONLY | os.O_APPEND) -> int:
    """Append a line to a file, which is made if it is missing. Return the size that the file has then.

    Without O_APPEND, overwrite the file in place with a line that always has the same length. In both cases
    the line is so short that it is written at once: readers never see a part of it, and it is never mixed
    with lines of other processes.
    """
    with refusing(path):
        descriptor = open_file(path, flags | os.O_CREAT)
        try:
            size = os.fstat(descriptor).st_size
            if not flags & os.O_APPEND and size not in (0, len(line)):
                os.ftruncate(descriptor, 0)
            return (size if flags & os.O_APPEND else 0) + os.write(descriptor, line)
        finally:
            os.close(descriptor)


def contents_of(path: str) -> bytes | None:
    """Return what a file of the user contains; None if there is none, `OSError` if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def change_file(path: str, before: bytes | None, after: bytes | None, mode: int = FILE_MODE) -> bool:
    """Replace a file of the user if it still has the contents `before`; None stands for no file.

    Return False if another program has changed it meanwhile; `OSError` if it cannot be written. A symlink
    stays, and its target is replaced. An existing file keeps its mode and its owner, a new one gets `mode`.
    """
    target = os.path.realpath(path)
    if after is None:
        if contents_of(target) != before:
            return False
        if before is not None:
            os.unlink(target)
        return True
    os.makedirs(os.path.dirname(target), exist_ok=True)
    owner = None
    if before is not None:
        found = os.stat(target)
        owner, mode = (found.st_uid, found.st_gid), stat.S_IMODE(found.st_mode)
    temporary = write_temporary(os.path.dirname(target), [after], mode, owner=owner, sync=True)
    try:
        if contents_of(target) != before:
            return False
        os.replace(temporary, target)
        return True
    finally:
        remove_file(temporary)


TEMPORARY_PREFIX = ".new-"


def temporary_name() -> str:
    """Return a unique name that cleaning recognizes as a leftover."""
    return TEMPORARY_PREFIX + os.urandom(8).hex()


def is_temporary(name: str) -> bool:
    """Return whether `temporary_name` could have returned this name."""
    digits = name.removeprefix(TEMPORARY_PREFIX)
    return len(digits) == 16 and name != digits and set(digits) <= set("0123456789abcdef")


class refusing:  # noqa: N801  # used as a function
    """Raise errors of the system as a `StoreError` that names the path; a missing file may be passed on."""

    def __init__(self, path: str, *, but_missing: bool = False) -> None:
        self._path = path
        self._but_missing = but_missing

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        is_passed_on = self._but_missing and isinstance(error, FileNotFoundError)
        if isinstance(error, OSError) and not is_passed_on:
            raise refused(self._path, error) from None


def refused(path: str, error: OSError) -> StoreError:
    """Return an error of the system as a `StoreError` that names the path."""
    from errno import ELOOP, ENOTDIR

    if error.errno in (ELOOP, ENOTDIR) and os.path.islink(path):
        return StoreError(LINK.format(path))
    return StoreError(f"{path}: {error.strerror}")
