"""Add something to an agent's settings file, and remove it; and read which model an agent uses.

A file that is not understood is refused and not changed. The version without the additions is kept next to
the file; removing them restores it byte for byte if nothing else has changed, else only our own text is cut
out.
"""

from __future__ import annotations

import os
import time

from tokcap.errors import HookRefused
from tokcap.startup.record import TYPE_CHECKING
from tokcap.system.private_files import change_file, contents_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol, Self

    class Addition(Protocol):
        """One thing in the text of a settings file. Every `ValueError` means: do not change this file."""

        @property
        def value(self) -> str:
            """What is written. Empty: nothing is written, and what is found is removed."""
            ...

        def find(self, text: str) -> str | None:
            """Return our value in a file that is not blank; None if it is not there."""
            ...

        def added(self, text: str) -> str:
            """Return the text, which may be blank, with the value."""
            ...

        def cut(self, text: str) -> str:
            """Return the text without our value, which is there."""
            ...

        def replace(self, *, value: str) -> Self:
            """Return the same addition with another value."""
            ...


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BACKUP_SUFFIX = ".before-tokcap"
# How often to try while another program changes the file.
TRIES = 50
RETRY_SECONDS = 0.02
MOST_MODEL_CHARACTERS = 200


def install(path: str, additions: Sequence[Addition]) -> bool:
    """Add everything to the file; return False if it is there already."""

    def plan(data: bytes | None) -> tuple[bytes | None, bytes | None]:
        if are_installed(path, data, additions):
            return data, data
        original = without_additions(path, data, additions, read(path + BACKUP_SUFFIX))
        return original, with_additions(path, original, additions)

    return change(path, plan)


def remove(path: str, additions: Sequence[Addition]) -> bool:
    """Remove everything from the file; return False if nothing is there."""

    def plan(data: bytes | None) -> tuple[bytes | None, bytes | None]:
        original = without_additions(path, data, additions, read(path + BACKUP_SUFFIX))
        return original, original

    return change(path, plan)


def change(path: str, plan: Callable[[bytes | None], tuple[bytes | None, bytes | None]]) -> bool:
    """Change a file; return False if there is nothing to change.

    `plan` gets the contents of the file, and returns those without our additions and the new ones. If another
    program changes the file meanwhile, it is asked again.
    """
    for _ in range(TRIES):
        data = read(path)
        original, wanted = plan(data)
        if wanted == data:
            return False
        try:
            refuse_read_only(path)
            if data == original:
                # An older backup is out of date; a version with our additions is never backed up.
                change_backup(path, data)
            try:
                if change_file(path, data, wanted):
                    if wanted == original:
                        drop_backup(path, wanted)
                    return True
            except OSError:
                drop_backup(path, data)
                raise
        except OSError as error:
            raise HookRefused(f"{path}: {error.strerror}; not changed") from None
        time.sleep(RETRY_SECONDS)
    raise HookRefused(f"{path}: another program changes it all the time; end that program and try again")


def refuse_read_only(path: str) -> None:
    """Refuse to change a read-only file: its owner does not want that."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise HookRefused(f"{path}: file is read-only; not changed")


def change_backup(path: str, data: bytes | None) -> None:
    """Keep `data`, the contents of the file, next to it."""
    backup = path + BACKUP_SUFFIX
    mode = os.stat(path).st_mode & 0o7777 if data is not None else 0
    change_file(backup, read(backup), data, mode)


def drop_backup(path: str, restored: bytes | None) -> None:
    """Delete the backup if it equals the contents that the file has again, or if there is no file again."""
    backup = path + BACKUP_SUFFIX
    kept = read(backup)
    if restored is None or kept == restored:
        change_file(backup, kept, None)


def are_installed(path: str, data: bytes | None, additions: Sequence[Addition]) -> bool:
    return all((found(path, data, addition) or "") == addition.value for addition in additions)


def found(path: str, data: bytes | None, addition: Addition) -> str | None:
    """Return the value of an addition in a file's contents, or None."""
    if data is None or is_blank(data):
        return None
    try:
        return addition.find(text_of(data))
    except ValueError as error:
        raise refused(path, error) from None


def with_additions(path: str, data: bytes | None, additions: Sequence[Addition]) -> bytes:
    """Return a file's contents with everything added."""
    try:
        text = text_of(data or b"")
        for addition in additions:
            if addition.value:
                text = addition.added(text)
        changed = bytes_of(text, data or b"")
    except ValueError as error:
        raise refused(path, error) from None
    # Check the edit by reading it back, so that a broken file is never written.
    if not are_installed(path, changed, additions):
        raise HookRefused(f"{path}: cannot be changed; use tokcap hook print")
    return changed


def without_additions(
    path: str, data: bytes | None, additions: Sequence[Addition], backup: bytes | None = None
) -> bytes | None:
    """Return a file's contents before anything was added; None if there was no file."""
    values = [found(path, data, addition) for addition in additions]
    if data is None or not any(values):
        return data
    installed = [
        addition.replace(value=value or "") for value, addition in zip(values, additions, strict=True)
    ]
    try:
        if with_additions(path, backup, installed) == data:
            return backup
    except HookRefused:
        # The backup is of another version of the file.
        pass
    try:
        text = text_of(data)
        for addition in installed:
            # A second one of ours can only have been added by hand. Remove all of them.
            while text.strip() and (value := addition.find(text)) is not None:
                text = addition.replace(value=value).cut(text)
    except ValueError as error:
        raise refused(path, error) from None
    return bytes_of(text, data)


def read(path: str) -> bytes | None:
    """Return the file's contents, or None if there is no file."""
    try:
        return contents_of(path)
    except OSError as error:
        raise HookRefused(f"{path}: {error.strerror}") from None


def refused(path: str, error: ValueError) -> HookRefused:
    what = "not UTF-8" if isinstance(error, UnicodeError) else str(error)
    return HookRefused(f"{path}: {what}; not changed")


def is_blank(data: bytes) -> bool:
    return not data.strip(BYTE_ORDER_MARK).strip()


def text_of(data: bytes) -> str:
    return data.removeprefix(BYTE_ORDER_MARK).decode()


def bytes_of(text: str, like: bytes) -> bytes:
    """Encode the text, with a byte order mark if `like` has one."""
    return (BYTE_ORDER_MARK if like.startswith(BYTE_ORDER_MARK) else b"") + text.encode()


def model_in_json(paths: Sequence[str], *keys: str) -> str:
    """Return a text below these keys in the first of some JSON files that has it; comments are allowed."""
    from tokcap.hooks.json_settings import parse_root

    for path in paths:
        try:
            data = read(path)
            value: object = None if data is None else parse_root(text_of(data)).plain()
        except (HookRefused, ValueError):
            # What cannot be read is as if it were not there.
            continue
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if name := plain(value):
            return name
    return ""


def model_in_toml(path: str, key: str) -> str:
    """Return a text at the top of a TOML file."""
    import tomllib

    try:
        return plain(tomllib.loads(text_of(read(path) or b"")).get(key))
    except (HookRefused, ValueError):
        return ""


def model_in_variable(variables: Mapping[str, str], name: str) -> str:
    return plain(variables.get(name))


def plain(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= MOST_MODEL_CHARACTERS else ""
