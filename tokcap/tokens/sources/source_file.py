"""The file that a vocabulary is compiled from, read once and with a limit."""

from __future__ import annotations

import hashlib
import os
import stat
from functools import cached_property
from typing import BinaryIO

from tokcap.tokens.sources.base import Refused

# The largest published tokenizer.json has half of it.
MOST_BYTES = 64 << 20
BEGINNING_BYTES = 4096


class SourceFile:
    """A regular file of the user. The name may be a symbolic link."""

    def __init__(self, path: str) -> None:
        self.path = path
        # Without blocking: a pipe that nobody writes would never be opened.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Refused("it is not a regular file")
        self._file = os.fdopen(descriptor, "rb")

    def __enter__(self) -> SourceFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    @cached_property
    def beginning(self) -> bytes:
        self._file.seek(0)
        return self._file.read(BEGINNING_BYTES)

    def from_beginning(self) -> tuple[BinaryIO, int]:
        """Return the file to read a part of it, and its size."""
        self._file.seek(0)
        return self._file, os.fstat(self._file.fileno()).st_size

    @cached_property
    def content(self) -> bytes:
        """All of the file."""
        size = os.fstat(self._file.fileno()).st_size
        if size > MOST_BYTES:
            raise Refused(f"it has {size >> 20} MB; no vocabulary has more than {MOST_BYTES >> 20}")
        self._file.seek(0)
        return self._file.read(MOST_BYTES)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()
