"""Private directories and files: mode 0700 and 0600 whatever the umask is, and symlinks are not followed.

Everything below the data directory is made and opened here. A directory or file of another user is refused,
because that user could put anything there.
"""

from __future__ import annotations

import os
import stat

from tokcap.errors import StoreError
from tokcap.lean.record import TYPE_CHECKING
from tokcap.system.descriptors import write_all

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

READ_BYTES = 1 << 20

FOLLOW_NOTHING = os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: str, *, restrict: bool = True) -> None:
    """Make a private directory, or check that an existing one is ours; `StoreError` otherwise.

    restrict: if others can access an existing directory, change its mode. Use False for a directory that
    other programs may share.
    """
    try:
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
    except OSError as error:
        raise refused(path, error) from None


def make_missing_directories(path: str) -> None:
    """Make a directory and its missing parents, all of them private."""
    parent = os.path.dirname(path)
    if parent and not os.path.isdir(parent):
        make_missing_directories(parent)
    try:
        make_one_directory(path)
    except FileExistsError:
        return


def make_one_directory(path: str) -> None:
    """Make a private directory; `OSError` if that fails."""
    os.mkdir(path, DIRECTORY_MODE)
    # The umask may have removed permissions that the owner needs. The umask itself is not changed, because
    # it belongs to the whole process and another thread may be creating files.
    if stat.S_IMODE(os.lstat(path).st_mode) & DIRECTORY_MODE != DIRECTORY_MODE:
        os.chmod(path, DIRECTORY_MODE)


def make_probe(path: str) -> str | None:
    """Make a temporary directory in this one and return its path; None if the system forbids that.

    Only trying shows what a sandbox forbids: permissions may allow it. If this directory is missing, the
    nearest one above it is tried, and nothing stays there. Then, and if anything else fails, return "".
    """
    existing = path
    while not os.path.lexists(existing) and os.path.dirname(existing) != existing:
        existing = os.path.dirname(existing)
    probe = os.path.join(existing, temporary_name())
    try:
        make_one_directory(probe)
        if existing == path:
            return probe
        os.rmdir(probe)
    except OSError as error:
        from errno import EACCES, EPERM, EROFS

        return None if error.errno in (EACCES, EPERM, EROFS) else ""
    return ""


def open_directory(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NOTHING)


def is_own_directory(path: str) -> bool:
    """Return whether the path is a directory of ours, not a symlink to one."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def is_own_regular(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()


def check_own_regular(path: str, found: os.stat_result) -> None:
    if not is_own_regular(found):
        raise StoreError(f"{path} is not a regular file or not owned by you; remove it")


def create_file(path: str) -> int:
    """Create a private file and return its descriptor for reading and writing; refuse an existing one."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FOLLOW_NOTHING, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
    except OSError as error:
        raise refused(path, error) from None
    return descriptor


def open_file(path: str) -> int:
    """Open an existing file of ours for reading; `FileNotFoundError` if it is missing."""
    try:
        # Without O_NONBLOCK, opening a named pipe would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | FOLLOW_NOTHING)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path, error) from None
    try:
        check_own_regular(path, os.fstat(descriptor))
    except StoreError:
        os.close(descriptor)
        raise
    return descriptor


def own_file(path: str) -> os.stat_result:
    """Examine an existing file of ours, and make it private; `FileNotFoundError` if it is missing.

    For files that a library opens by name. The file is not opened here: closing any descriptor of a file
    releases all POSIX locks that this process has on it.
    """
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            from errno import ELOOP

            raise OSError(ELOOP, os.strerror(ELOOP))
        check_own_regular(path, found)
        if stat.S_IMODE(found.st_mode) != FILE_MODE:
            os.chmod(path, FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path, error) from None
    return found


def read_file(path: str, most_bytes: int) -> bytes:
    """Return the contents of a small file of ours; `FileNotFoundError` if it is missing."""
    descriptor = open_file(path)
    try:
        data = b""
        while len(data) <= most_bytes and (block := os.read(descriptor, READ_BYTES)):
            data += block
    except OSError as error:
        raise refused(path, error) from None
    finally:
        os.close(descriptor)
    if len(data) > most_bytes:
        raise StoreError(f"{path} is larger than any file that tokcap writes there; remove it")
    return data


def has_content(path: str, size_bytes: int, expected: Callable[[int, int], bytes]) -> bool:
    """Return whether a file of ours has this size and the bytes that `expected` returns for each range."""
    try:
        descriptor = open_file(path)
    except (OSError, StoreError):
        return False
    try:
        if os.fstat(descriptor).st_size != size_bytes:
            return False
        place = 0
        while place < size_bytes:
            block = os.pread(descriptor, READ_BYTES, place)
            if not block or block != expected(place, place + len(block)):
                return False
            place += len(block)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def write_new_file(path: str, data: bytes) -> None:
    """Write a new private file. Readers may see a part of it, so use this only in a temporary directory."""
    descriptor = create_file(path)
    try:
        write_all(descriptor, data)
    except OSError as error:
        raise refused(path, error) from None
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes) -> None:
    """Write a file under a temporary name, then rename it, so that readers never see a part of it."""
    temporary = os.path.join(os.path.dirname(path), temporary_name())
    descriptor = create_file(temporary)
    try:
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.rename(temporary, path)
    except OSError as error:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise refused(path, error) from None


def overwrite_file(path: str, line: bytes) -> None:
    """Overwrite a file in place with a short line that always has the same length.

    The line is so short that readers never see a part of it. Replacing the file would take longer than the
    rest of a small run, because file systems write a renamed file to the disk at once.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | FOLLOW_NOTHING, FILE_MODE)
        try:
            found = os.fstat(descriptor)
            check_own_regular(path, found)
            if stat.S_IMODE(found.st_mode) != FILE_MODE:
                os.fchmod(descriptor, FILE_MODE)
            if found.st_size not in (0, len(line)):
                os.ftruncate(descriptor, 0)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(path, error) from None


def append_line(path: str, line: bytes) -> int:
    """Append a short line to a file, which is made if it is missing. Return the size of the file.

    The line is so short that it is written at once, and never mixed with lines of other processes.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | FOLLOW_NOTHING
    try:
        descriptor = os.open(path, flags, FILE_MODE)
        try:
            found = os.fstat(descriptor)
            check_own_regular(path, found)
            if stat.S_IMODE(found.st_mode) != FILE_MODE:
                os.fchmod(descriptor, FILE_MODE)
            return found.st_size + os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(path, error) from None


TEMPORARY_PREFIX = ".new-"


def temporary_name() -> str:
    """Return a unique name that cleaning recognizes as a leftover."""
    return TEMPORARY_PREFIX + os.urandom(8).hex()


def is_temporary(name: str) -> bool:
    """Return whether `temporary_name` could have returned this name."""
    digits = name.removeprefix(TEMPORARY_PREFIX)
    return len(digits) == 16 and name != digits and set(digits) <= set("0123456789abcdef")


def refused(path: str, error: OSError) -> StoreError:
    """Return an error of the system as a `StoreError` that names the path."""
    from errno import ELOOP, ENOTDIR

    if error.errno in (ELOOP, ENOTDIR) and os.path.islink(path):
        return StoreError(f"{path} is a symbolic link, which tokcap does not follow")
    return StoreError(f"{path}: {error.strerror}")
