"""Read and replace a settings file, and keep a backup of it. The contents are not interpreted."""

from __future__ import annotations

import os

from tokcap.errors import HookRefused

BACKUP_SUFFIX = ".before-tokcap"


def read(path: str) -> bytes | None:
    """Return the file's contents, or None if there is no file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}") from None


def read_backup(path: str) -> bytes | None:
    return read(path + BACKUP_SUFFIX)


def back_up(path: str, data: bytes | None) -> None:
    """Store `data`, the contents of the file, next to it. If there is no file, there is nothing to store."""
    if data is None:
        drop_backup(path, data)
    else:
        write(path + BACKUP_SUFFIX, data, like=path)


def drop_backup(path: str, restored: bytes | None) -> None:
    """Delete the backup if it equals the restored contents, or if no file was restored."""
    if read_backup(path) in (None, restored) or restored is None:
        try:
            os.unlink(path + BACKUP_SUFFIX)
        except FileNotFoundError:
            pass


def refuse_read_only(path: str) -> None:
    """Raise `HookRefused` if the file is read-only: its owner does not want changes."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise HookRefused(f"{path}: file is read-only; not changed")


def delete(path: str) -> None:
    try:
        os.unlink(os.path.realpath(path))
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None


def write(path: str, data: bytes, like: str = "") -> None:
    """Replace a file atomically. A symbolic link stays; its target is replaced.

    Mode and owner are those of the old file, or of the file `like`.
    """
    target = os.path.realpath(path)
    temporary = f"{target}.{os.urandom(4).hex()}.new"
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        try:
            before = os.stat(like or target)
        except FileNotFoundError:
            before = None
        # Settings can contain secrets: only the user can read the new file until it gets its final mode.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                if before is not None:
                    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                        os.fchown(file.fileno(), before.st_uid, before.st_gid)
                    os.fchmod(file.fileno(), before.st_mode & 0o7777)
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None
