"""Directories and files of the user's own: 0700 and 0600 whatever the umask, and no symlink is followed.

Every path below the data directory is made and opened here. A directory that belongs to somebody else
is refused: whoever owns it could put anything in our way.
"""

from __future__ import annotations

import errno
import os
import stat

from tokcap.errors import StoreError
from tokcap.system.descriptors import write_all

DIRECTORY_MODE = 0o700
FILE_MODE = 0o600

READ_BYTES = 1 << 20

FOLLOW_NOTHING = os.O_NOFOLLOW | os.O_CLOEXEC


def make_directory(path: str, *, close: bool = True) -> None:
    """Make a private directory, or take the one that is there if it is ours; `StoreError` if it is not.

    One that others can read is closed to them, unless it may be there for other things as well.
    """
    try:
        try:
            descriptor = open_directory(path)
        except FileNotFoundError:
            make_missing(path)
            descriptor = open_directory(path)
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid():
                raise StoreError(
                    f"{path} belongs to another user; set TOKCAP_DATA_DIR to a directory of yours"
                )
            if close and stat.S_IMODE(found.st_mode) != DIRECTORY_MODE:
                os.fchmod(descriptor, DIRECTORY_MODE)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(path, error) from None


def make_missing(path: str) -> None:
    """Make a directory, and those above it that are missing, all of them private."""
    above = os.path.dirname(path)
    if above and not os.path.isdir(above):
        make_missing(above)
    try:
        os.mkdir(path, DIRECTORY_MODE)
    except FileExistsError:
        return
    # The umask may have taken away what the owner needs. It stays as it is: a process has but one, and
    # another thread may be making files of its own.
    if stat.S_IMODE(os.lstat(path).st_mode) & DIRECTORY_MODE != DIRECTORY_MODE:
        os.chmod(path, DIRECTORY_MODE)


def open_directory(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | FOLLOW_NOTHING)


def is_own_directory(path: str) -> bool:
    """Whether there is a directory of ours: no link to one, and nobody else's."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


def is_own_file(path: str, size: int) -> bool:
    """Whether there is a plain file of ours that has this size."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_size == size


def create_file(path: str) -> int:
    """A new private file, open for reading and writing. One that exists is never touched."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | FOLLOW_NOTHING, FILE_MODE)
        os.fchmod(descriptor, FILE_MODE)
    except OSError as error:
        raise refused(path, error) from None
    return descriptor


def open_file(path: str) -> int:
    """An existing file of ours, open for reading. `FileNotFoundError` if there is none."""
    try:
        # Not to wait for a writer, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | FOLLOW_NOTHING)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path, error) from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(descriptor)
        raise StoreError(f"{path} is no file of yours; remove it")
    return descriptor


def own_file_size(path: str) -> int:
    """The bytes of an existing file of ours, closed to others. `FileNotFoundError` if there is none.

    For files that a library opens by their name. It is not opened here: closing any descriptor of a file
    gives up all locks that this process has on it.
    """
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise StoreError(f"{path} is no file of yours; remove it")
        if stat.S_IMODE(found.st_mode) != FILE_MODE:
            os.chmod(path, FILE_MODE)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise refused(path, error) from None
    return found.st_size


def read_file(path: str, most_bytes: int) -> bytes:
    """What a small file of ours holds. `FileNotFoundError` if there is none."""
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
        raise StoreError(f"{path} is larger than tokcap ever writes it; remove it")
    return data


def write_new_file(path: str, data: bytes) -> None:
    """A new private file where nobody looks yet."""
    descriptor = create_file(path)
    try:
        write_all(descriptor, data)
    except OSError as error:
        raise refused(path, error) from None
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes) -> None:
    """Write a whole file under another name, then put it in place: nobody sees half of it."""
    other = os.path.join(os.path.dirname(path), temporary_name())
    descriptor = create_file(other)
    try:
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        os.rename(other, path)
    except OSError as error:
        try:
            os.unlink(other)
        except OSError:
            pass
        raise refused(path, error) from None


def overwrite_file(path: str, line: bytes) -> None:
    """Write a short line of always the same length into a file, in place: so small, nobody sees half of it.

    To put a new file in the place of an old one costs more than all else of a small run: file systems write
    it to the disk at once.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | FOLLOW_NOTHING, FILE_MODE)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise StoreError(f"{path} is no file of yours; remove it")
            if stat.S_IMODE(found.st_mode) != FILE_MODE:
                os.fchmod(descriptor, FILE_MODE)
            if found.st_size not in (0, len(line)):
                os.ftruncate(descriptor, 0)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise refused(path, error) from None


TEMPORARY_PREFIX = ".new-"


def temporary_name() -> str:
    """A name that nobody else has, and that cleaning knows for a left-over."""
    return TEMPORARY_PREFIX + os.urandom(8).hex()


def is_temporary(name: str) -> bool:
    """Whether a name is one of those, exactly."""
    digits = name.removeprefix(TEMPORARY_PREFIX)
    return len(digits) == 16 and name != digits and set(digits) <= set("0123456789abcdef")


def refused(path: str, error: OSError) -> StoreError:
    """What the system said, as one line."""
    if error.errno in (errno.ELOOP, errno.ENOTDIR) and os.path.islink(path):
        return StoreError(f"{path} is a symbolic link, and none is followed there")
    return StoreError(f"{path}: {error.strerror}")
