"""Read and replace a settings file, and keep a backup of it. The contents are not interpreted."""

from __future__ import annotations

import os
import time

from tokcap.errors import HookRefused
from tokcap.hooks.atomic_files import replace
from tokcap.hooks.held_file import hold
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable

BACKUP_SUFFIX = ".before-tokcap"
# How long to try while somebody else changes the file again and again.
LONGEST_SECONDS = 10.0
CHECK_SECONDS = 0.02
# Two programs must not undo each other's changes for long.
MOST_CHANGES = 2


class Edit(Record):
    """A change of a file: its new contents, and its contents without our hook. None: no file."""

    contents: bytes | None
    original: bytes | None


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


def change(path: str, plan: Callable[[bytes | None], Edit | None]) -> bool:
    """Change a file as `plan` says for its contents; return False if there is nothing to change.

    If somebody else changes the file meanwhile, `plan` is asked again. A symbolic link stays; its target is
    changed.
    """
    deadline = time.monotonic() + LONGEST_SECONDS
    try:
        changes = 0
        while time.monotonic() < deadline:
            target = os.path.realpath(path)
            with hold(target) as held:
                edit = plan(held.data)
                if edit is None:
                    return changes > 0
                refuse_read_only(path)
                if held.data == edit.original:
                    # An older backup is out of date; a version with our hook is never backed up.
                    back_up(path, edit.original)
                try:
                    done = held.delete() if edit.contents is None else held.replace(edit.contents)
                except OSError:
                    drop_backup(path, held.data)
                    raise
            if done and edit.contents in (None, edit.original):
                drop_backup(path, edit.contents)
            changes += done
            if changes == MOST_CHANGES:
                return True
            # Look again: somebody may write back what was read before the change.
            time.sleep(CHECK_SECONDS)
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None
    raise HookRefused(f"{path}: another program changes it all the time; end that program and try again")


def refuse_read_only(path: str) -> None:
    """Raise `HookRefused` if the file is read-only: its owner does not want changes."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise HookRefused(f"{path}: file is read-only; not changed")


def write(path: str, data: bytes, like: str = "") -> None:
    """Replace a file that no other program edits. A symbolic link stays; its target is replaced."""
    target = os.path.realpath(path)
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        replace(target, data, like)
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None


def delete(path: str) -> None:
    try:
        os.unlink(os.path.realpath(path))
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}; not changed") from None
