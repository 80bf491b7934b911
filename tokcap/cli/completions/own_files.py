"""The files of tokcap that shells and `man` read: what belongs into them, and what is in them now."""

from __future__ import annotations

import os

from tokcap.cli.completions.stamp import unstamped
from tokcap.lean.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_FILE_BYTES = 1 << 20


class OwnFile(Record):
    """A file of this version, and where it belongs."""

    path: str
    text: bytes


def installed_pages() -> Sequence[str]:
    """Return the man pages of the checkout that is run, or those that came with the installation."""
    from tokcap.system.installation import checkout, distribution

    directory = os.path.join(checkout(), "man")
    if checkout() and os.path.isdir(directory):
        names = sorted(os.listdir(directory))
        return [os.path.join(directory, name) for name in names if name[-1].isdigit()]
    found = distribution()
    installed = [file for file in (found.files if found else None) or () if "man" in file.parts]
    return [os.path.normpath(str(file.locate())) for file in installed]


def content(path: str) -> bytes:
    """Return the contents of a file; empty if it cannot be read."""
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(MAX_FILE_BYTES)
    except (OSError, ValueError):
        return b""


def is_text(data: bytes, text: bytes) -> bool:
    """Return whether a file has this text, with our stamp or without."""
    known = unstamped(data)
    return (known.text if known else data) == text
