"""Add something to an agent's settings file, and remove it.

A file that cannot be parsed is refused and not changed. The version without the additions is kept next to the
file; removing them restores it byte for byte if nothing else has changed.
"""

from __future__ import annotations

from tokcap.errors import HookRefused
from tokcap.hooks import settings_file
from tokcap.hooks.settings_file import Edit
from tokcap.lean.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Addition(Protocol):
        """One thing in the text of a settings file. Every `HookRefused` means: do not change this file."""

        @property
        def value(self) -> str:
            """What is written. Empty: nothing is written, and what is found is removed."""
            ...

        def find(self, path: str, text: str) -> str | None:
            """Return our value in a file; None if it is not there."""
            ...

        def added(self, path: str, text: str) -> str:
            """Return the text with the value. It may be blank."""
            ...

        def cut(self, path: str, text: str) -> str:
            """Return the text without our value, which is there."""
            ...

        def but(self, *, value: str) -> Addition:
            """Return the same addition with another value."""
            ...


BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def install(path: str, additions: Sequence[Addition]) -> bool:
    """Add everything to the file; return False if it is there already."""

    def edit(data: bytes | None) -> Edit | None:
        if are_installed(path, data, additions):
            return None
        original = without_additions(path, data, additions, settings_file.read_backup(path))
        return Edit(with_additions(path, original, additions), original)

    return settings_file.change(path, edit)


def remove(path: str, additions: Sequence[Addition]) -> bool:
    """Remove everything from the file; return False if nothing is there."""

    def edit(data: bytes | None) -> Edit | None:
        if data is None or not any(found(path, data, addition) for addition in additions):
            return None
        original = without_additions(path, data, additions, settings_file.read_backup(path))
        return Edit(original, original)

    return settings_file.change(path, edit)


def are_installed(path: str, data: bytes | None, additions: Sequence[Addition]) -> bool:
    return all((found(path, data, addition) or "") == addition.value for addition in additions)


def found(path: str, data: bytes | None, addition: Addition) -> str | None:
    """Return the value of an addition in a file's contents, or None."""
    return None if data is None or is_blank(data) else addition.find(path, text_of(path, data))


def with_additions(path: str, data: bytes | None, additions: Sequence[Addition]) -> bytes:
    """Return a file's contents with everything added."""
    text = "" if data is None else text_of(path, data)
    for addition in additions:
        if addition.value:
            text = addition.added(path, text)
    try:
        changed = bytes_of(text, data or b"")
    except UnicodeEncodeError:
        raise HookRefused(f"{path}: the name of its directory is not UTF-8; not changed") from None
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
    with_values = [addition.but(value=value or "") for value, addition in zip(values, additions, strict=True)]
    if written_anew(path, backup, with_values) == data:
        return backup
    text = text_of(path, data)
    for addition in additions:
        # A second one of ours can only have been added by hand. Remove all of them.
        while text.strip() and addition.find(path, text) is not None:
            text = addition.cut(path, text)
    return bytes_of(text, data)


def written_anew(path: str, data: bytes | None, additions: Sequence[Addition]) -> bytes | None:
    """Return what `install` writes to these contents; None if it would refuse them."""
    try:
        return with_additions(path, data, additions)
    except HookRefused:
        return None


def is_blank(data: bytes) -> bool:
    return not data.strip(BYTE_ORDER_MARK).strip()


def text_of(path: str, data: bytes) -> str:
    try:
        return data.removeprefix(BYTE_ORDER_MARK).decode()
    except UnicodeDecodeError:
        raise HookRefused(f"{path}: not UTF-8; not changed") from None


def bytes_of(text: str, like: bytes) -> bytes:
    """Encode the text, with a byte order mark if `like` has one."""
    return (BYTE_ORDER_MARK if like.startswith(BYTE_ORDER_MARK) else b"") + text.encode()
